#pragma once

/// What C's `tg_run` is, and how errors pass through its interface.

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "taskgrain/error.hpp"
#include "taskgrain/execution.hpp"
#include "taskgrain/taskgrain.h"

/// A run that C has made, or one that a driver is given.
struct tg_run {
  explicit tg_run(std::unique_ptr<taskgrain::Execution> made) : own(std::move(made)), execution(*own) {}
  explicit tg_run(taskgrain::Execution& given) : execution(given) {}

  /// Of a worker, which asks for it at every task: `Execution::context` locks.
  taskgrain::ThreadContext& context(std::size_t worker) {
    if (worker >= contexts.size()) return execution.context(worker);
    taskgrain::ThreadContext* known = contexts[worker].load(std::memory_order_acquire);
    if (known == nullptr) contexts[worker].store(known = &execution.context(worker), std::memory_order_release);
    return *known;
  }

  std::unique_ptr<taskgrain::Execution> own;
  taskgrain::Execution& execution;
  std::array<std::atomic<taskgrain::ThreadContext*>, 1024> contexts{};
  std::string violation;
};

namespace taskgrain {

/// Calls `body`; what it throws becomes a code, and its words what `tg_error` says.
template <typename Body>
int guarded(Body body) noexcept {
  try {
    body();
    return 0;
  } catch (const InvalidSpec& error) {
    return tg_fail(1, error.what());
  } catch (const Unsupported& error) {
    return tg_fail(2, error.what());
  } catch (const std::bad_alloc&) {
    return tg_fail(2, "not enough memory for these graphs");
  } catch (const std::length_error&) {  // of a vector
    return tg_fail(2, "not enough memory for these graphs");
  } catch (const std::exception& error) {
    return tg_fail(3, error.what());
  } catch (...) {
    return tg_fail(3, "something that is no exception was thrown");
  }
}

}  // namespace taskgrain
