/// Branches of forks: who steals them, and who waits for one that was stolen.

#include "taskgrain/rt/fork_join.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

#include "engine/work.hpp"
#include "taskgrain/rt/detail/trace.hpp"

namespace taskgrain::rt::detail {

namespace {

/// What a fork leaves of a stack for the calls that make none.
constexpr std::size_t stack_kept = 128 << 10;

}  // namespace

void check_stack(std::uintptr_t address) {
  thread_local std::uintptr_t begin = 0;
  if (stack_end == UINTPTR_MAX) {
    stack_end = 0;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void* lowest = nullptr;
    std::size_t bytes = 0, guard = 0;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    begin = reinterpret_cast<std::uintptr_t>(lowest);
    stack_end = begin + guard + std::min(stack_kept, bytes / 4);
  }
  if (begin <= address && address < stack_end)  // else it is on a stack of the user's own
    throw UsageError(
        "forks are nested so deep that the stack of this thread is nearly used up: make it larger "
        "(RuntimeOptions::stack_bytes, or `ulimit -s` for the thread that waits), or fork less deep");
}

void Worker::share_branches() noexcept {
  branches_.share(static_cast<std::uint32_t>(victims_.size()) - 1);
  wake_a_thief();
}

bool Worker::unfork_slowly(Branch& branch, bool drops) noexcept {
  while (branches_.size() > branch.place_) {
    Branch* newest = branches_.pop();
    if (newest == nullptr) {
      newest = &branches_.newest();
      await(*newest);
      branches_.drop();
    } else if (newest != &branch && !drops) {
      newest->run();
      newest->end_here();
    }
    newest->place_ = Branch::nowhere;
  }
  return !branch.ended();
}

void Worker::run_stolen(Branch& branch, Worker& owner) noexcept {
  branch.begin(*this);
  if (trace_ == nullptr) {
    branch.run();
  } else {
    const auto begin = TraceLane::Clock::now();
    branch.run();
    trace_->record("fork", begin, TraceLane::Clock::now());
  }
  branches_.end_era();
  if (branch.end()) owner.wake();
}

bool Worker::steal_branch() noexcept {
  constexpr std::size_t at_once = 4;  // as victim()
  for (std::size_t n = std::min(at_once, victims_.size()); n > 0; --n) {
    Worker& one = *victims_[next_branches_];
    if (Branch* const branch = one.branches_.steal()) {
      publish_busy();
      if (one.branches_.any()) wake_a_thief();
      run_stolen(*branch, one);
      return true;
    }
    one.branches_.request();
    if (++next_branches_ == victims_.size()) next_branches_ = 0;
  }
  return false;
}

bool Worker::any_branches() noexcept {
  bool any = false;
  for (Worker* const victim : victims_) {
    victim->branches_.request();
    any = any || victim->branches_.any();
  }
  return any;
}

/// The thief's deque holds nothing but parts of the branch, because it was empty when the thief took that: a thief has
/// no work of its own, and neither has a worker that waits here. Where the thief has ended the branch since, its era
/// has ended, too. So what is stolen here ends before the branch does, and no stack grows deeper than that of the
/// program without forks (leapfrogging: Wagner and Calder 1993). A worker that waits here receives no messages: their
/// functions may fork, too, and these forks would be no parts of the branch.
void Worker::await(Branch& branch) noexcept {
  std::chrono::steady_clock::time_point sleep_at{};
  auto park_time = shortest_park;
  for (int spins = 1; !branch.ended(); ++spins) {
    if (Worker* const thief = branch.thief()) {
      if (Branch* const part = thief->branches_.steal([&] { return branch.thief() == thief; })) {
        run_stolen(*part, *thief);
        spins = 0;
        sleep_at = {};
        park_time = shortest_park;
        continue;
      }
      thief->branches_.request();
    }
    if (spins % spins_per_clock == 0) {
      if (stealable_.can_share()) share();  // ready tasks wait here meanwhile
      const auto now = std::chrono::steady_clock::now();
      if (sleep_at == std::chrono::steady_clock::time_point{}) sleep_at = end_of_spin(now, engine_.options().spin);
      if (now >= sleep_at) {
        sleeper_.sleep_unless([&] { return !branch.await(); }, park_time);
        park_time = std::min(2 * park_time, longest_park);
      }
    }
    backoff(spins, spins_before_yield);
  }
}

}  // namespace taskgrain::rt::detail
