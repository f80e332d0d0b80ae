#include "taskgrain/rt/detail/made_in.hpp"

#include <algorithm>

#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/worker.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

namespace {

std::atomic<std::uint64_t> engines_made{0};

/// The MadeIn of the engine whose worker this thread is; null outside of workers.
const MadeIn* of_running_task() noexcept {
  const Worker* const worker = Worker::current();
  return worker == nullptr ? nullptr : &worker->engine().made_in();
}

}  // namespace

MadeIn::MadeIn()
    : number_(engines_made.fetch_add(1)), within_([] {
        const MadeIn* const around = of_running_task();
        if (around == nullptr) return std::vector<std::uint64_t>();
        std::vector<std::uint64_t> numbers = around->within_;
        numbers.push_back(around->number_);
        return numbers;
      }()) {}

bool MadeIn::in_task() const noexcept {
  const MadeIn* const around = of_running_task();
  return around != nullptr && (around == this || std::ranges::count(around->within_, number_) != 0);
}

void MadeIn::check_no_task() const {
  const Worker* worker = Worker::current();
  while (worker != nullptr && &worker->engine().made_in() != this) worker = worker->below_;
  if (worker == nullptr) return;
  throw UsageError(
      "a task cannot wait for the runtime that runs it: fork what it waits for (docs/rt/fork-join.md), or make what "
      "comes after its children a task of its own, which these fulfill (docs/rt/tutorial.md, Divide and conquer)");
}

void MadeIn::refuse_child() {
  throw UsageError(
      "the runtime is of the process that this one was forked from, and has no threads here; make one here");
}

}  // namespace taskgrain::rt::detail
