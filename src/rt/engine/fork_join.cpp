/// Branches of forks and blocks of loops: who takes them, and who waits for one that was taken.

#include "taskgrain/rt/fork_join.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "engine/work.hpp"
#include "taskgrain/rt/detail/surely.hpp"
#include "taskgrain/rt/detail/trace.hpp"
#include "taskgrain/rt/detail/wait_cycles.hpp"
#include "taskgrain/rt/future.hpp"

namespace taskgrain::rt::detail {

namespace {

/// The bytes of a stack that a fork leaves for the calls that make none.
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
    stack_middle = begin + bytes / 2;
  }
  if (begin <= address && address < stack_end)  // else it is on a stack of the user's own
    throw UsageError(
        "forks or futures are nested so deep that the stack of this thread is nearly used up: make it larger "
        "(RuntimeOptions::stack_bytes, or `ulimit -s` for the thread that waits), or nest them less");
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
      const ScopedValue elsewhere(in_program, false);
      newest->run();
      newest->end_here();
    }
    newest->place_ = Branch::nowhere;
  }
  return !branch.ended();
}

template <typename Call>
void Worker::run_as_thief(const char* traced_as, const Call& call) noexcept {
  const ScopedValue elsewhere(in_program, false);
  FutureState* const below = std::exchange(running_, nullptr);
  if (trace_ == nullptr) {
    call();
  } else {
    const auto begin = TraceLane::Clock::now();
    call();
    trace_->record(traced_as, begin, TraceLane::Clock::now());
  }
  running_ = below;
  branches_.end_era();
}

void Worker::run_stolen(Branch& branch, Worker& owner) noexcept {
  branch.begin(*this);
  run_as_thief("fork", [&] { branch.run(); });
  if (branch.end()) owner.wake();
}

std::uint32_t Worker::block_of(const Worker& owner) const noexcept {
  const int distance = index_ - owner.index_;
  return static_cast<std::uint32_t>(distance < 0 ? distance + engine_.workers() : distance);
}

template <typename May>
bool Worker::take_block(Worker& owner, const May& may) noexcept {
  const std::uint32_t number = block_of(owner);
  const std::uint64_t round = owner.loops_.offers(number);
  if (round == 0 || !may()) return false;
  WorkSharing::Block& block = owner.loops_.block(number);
  if (!block.claim(round)) return false;
  block.begin(round);
  publish_busy();
  branches_.answer();  // who asked before may have something to do by now
  if (victims_.size() > 1) wake_a_thief();
  run_as_thief("loop", [&] { owner.loops_.run(number); });
  if (block.end(round)) owner.wake();
  return true;
}

bool Worker::steal_branch(bool asks) noexcept {
  constexpr std::size_t at_once = 4;  // as victim()
  for (std::size_t n = std::min(at_once, victims_.size()); n > 0; --n) {
    Worker& one = *victims_[next_branches_];
    if (take_block(one, [] { return true; })) {
      spins_before_request_ = spins_after_block;
      return true;
    }
    if (Branch* const branch = one.branches_.steal()) {
      publish_busy();
      if (one.branches_.any()) wake_a_thief();
      run_stolen(*branch, one);
      spins_before_request_ = 0;
      return true;
    }
    if (asks) one.branches_.request();
    if (++next_branches_ == victims_.size()) next_branches_ = 0;
  }
  return false;
}

std::uint32_t Worker::room_for_blocks() noexcept {
  const auto workers = static_cast<std::uint32_t>(engine_.workers());
  return loops_.make_room(workers) ? workers : 1;
}

void Worker::run_blocks(std::uint64_t round, std::uint32_t blocks) noexcept {
  branches_.answer();
  wake_a_thief();
  bool goes_on = loops_.run(0);
  loop_was_shared_ = false;
  for (std::uint32_t number = 1; number < blocks; ++number) {
    WorkSharing::Block& block = loops_.block(number);
    if (!block.has_begun(round) && block.claim(round)) {
      goes_on = goes_on && loops_.run(number);
      block.end_here(round);
    } else {
      loop_was_shared_ = true;
    }
  }
  for (std::uint32_t number = 1; number < blocks; ++number) {
    struct BlockWait final : WaitCycles::Wait {
      BlockWait(WorkSharing::Block& of, std::uint64_t in, Worker& by) : block(of), round(in), thief(by) {}
      bool over() const noexcept override { return block.ended(round); }
      Worker* runner() const noexcept override { return &thief; }
      WorkSharing::Block& block;
      const std::uint64_t round;
      Worker& thief;
    } wait(loops_.block(number), round, engine_.worker((index_ + static_cast<int>(number)) % engine_.workers()));
    await<true>(wait, [&] { return wait.block.await(round); }, spins_after_block);
  }
}

void Worker::await(Branch& branch) noexcept {
  struct BranchWait final : WaitCycles::Wait {
    explicit BranchWait(Branch& of) : branch(of) {}
    bool over() const noexcept override { return branch.ended(); }
    Worker* runner() const noexcept override { return branch.thief(); }
    Branch& branch;
  } wait(branch);
  await<true>(wait, [&] { return branch.await(); }, 0);
}

void Worker::await(FutureState& future) {
  struct FutureWait final : WaitCycles::Wait {
    FutureWait(Worker& of, FutureState& what) : worker(of), state(what) {}
    bool over() const noexcept override { return state.ended() || state.may_run() || refused; }
    Worker* runner() const noexcept override { return state.runner(); }
    const FutureState* future() const noexcept override { return &state; }
    void refuse(const std::string& of) noexcept override {
      circle = surely([&] { return of; });
      refused = true;
      worker.wake();
    }
    Worker& worker;
    FutureState& state;
    std::string circle;
    std::atomic<bool> refused{false};
  } wait(*this, future);
  const TraceLane::Away away(trace_);
  await<false>(wait, [&] { return future.await() && !wait.over(); }, 0);
  if (wait.refused)
    throw UsageError("futures wait for one another: that of " + wait.circle + ", which needs the first");
}

/// Waits. With `steals` it waits for a branch that a thief has taken, and steals from the thief meanwhile. The
/// thief's deque holds nothing but parts of that branch, because it was empty when the thief took it: a thief has no
/// work of its own, and a worker that waits here has no fork that is not stolen. If the thief has ended the branch
/// since, its era has ended, too. So the parts that are stolen here end before the branch does, and no stack grows
/// deeper than that of the program without forks (leapfrogging: Wagner and Calder 1993). The same holds for a loop that
/// the thief shares, but not for one that it shared before it took the branch (`loops_.bury`). A worker that waits here
/// receives no messages: their functions may fork, too, and these forks would be no parts.
template <bool steals, typename For, typename Awaits>
void Worker::await(For& wait, const Awaits& awaits, int spins_before_request) noexcept {
  std::chrono::steady_clock::time_point sleep_at{};
  auto park_time = shortest_park;
  WaitCycles::Entry entry(engine_.wait_cycles_, *this, wait);
  const bool buried = loops_.bury(shares_loop_);
  const auto may_steal = [&] {
    entry.leave();
    return !wait.over();
  };
  for (std::int64_t spins = 1; !wait.over(); ++spins) {
    if (Worker* const by = steals ? wait.runner() : nullptr) {
      Branch* const part = by->branches_.steal(may_steal);
      if (part != nullptr) run_stolen(*part, *by);
      if (part != nullptr || (!by->loops_.buried() && take_block(*by, may_steal))) {
        spins = 0;
        sleep_at = {};
        park_time = shortest_park;
        continue;
      }
      if (spins > spins_before_request) by->branches_.request();
    }
    if (spins % spins_per_clock == 0) {
      if (stealable_.can_share()) share();  // ready tasks wait here meanwhile
      if (branches_.must_share()) share_branches();
      const auto now = std::chrono::steady_clock::now();
      if (sleep_at == std::chrono::steady_clock::time_point{})
        sleep_at = end_of_spin(now, std::min(engine_.options().spin, longest_spin_in_a_task));
      if (now >= sleep_at) {
        entry.enter();
        sleeper_.sleep_unless([&] { return !awaits(); }, park_time);
        park_time = std::min(2 * park_time, longest_park);
        spins += spins_per_clock - 1;  // it sleeps again soon: the core is for others
      }
    }
    if (spins > spins_before_request) backoff(spins, spins_before_yield);
  }
  loops_.bury(buried);
}

}  // namespace taskgrain::rt::detail
