#pragma once

/// The workers of libfork, each bound to its processor.

#include <libfork.hpp>

#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "taskgrain/binding.hpp"

namespace taskgrain {

inline thread_local std::size_t worker = 0;  // of the pool, on its threads

/// Not inlined: a coroutine goes on in another thread, where an address found before would be wrong.
[[gnu::noinline]] inline std::size_t this_worker() {
  asm volatile("");  // nor called once for two
  return worker;
}

/// Calls a function on a worker. The library itself binds workers only to the processors that it chooses.
inline constexpr auto call_on = [](auto, lf::worker_context* where, auto function) -> lf::task<> {
  co_await lf::resume_on(where);
  function();
};

struct Pool {
  const std::vector<int> processors = cores();
  std::vector<std::vector<int>> binding = std::vector<std::vector<int>>(processors.size());
  lf::lazy_pool pool{processors.size()};  // the pool that its README advises

  Pool() {
    // What cannot be bound is said here, whatever the pool does with an exception.
    std::async(std::launch::async, [this] { std::ranges::for_each(processors, pin_this_thread); }).get();
    for (std::size_t k = 0; k < processors.size(); ++k)
      lf::sync_wait(pool, call_on, pool.contexts()[k], [this, k] {
        worker = k;
        pin_this_thread(processors[k]);
        binding[k] = binding_of_this_thread();
      });
  }

  static std::string version() {
    return std::to_string(LF_VERSION_MAJOR) + "." + std::to_string(LF_VERSION_MINOR) + "." +
           std::to_string(LF_VERSION_PATCH);
  }
};

}  // namespace taskgrain
