#include "taskgrain/rt/future.hpp"

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/surely.hpp"
#include "taskgrain/rt/detail/trace.hpp"
#include "taskgrain/rt/detail/worker.hpp"

namespace taskgrain::rt::detail {

/// Their tasks: any worker may run them.
class FutureTasks final : public MessageHandler {
 public:
  void deliver(Worker& here, const Payload& task) noexcept override {
    surely([&] { here.ready({number(), task}); });
  }
  void run(Worker& here, const Payload& task) noexcept override {
    auto* const future = task.as<FutureState*>();
    future->run(here);  // unless a task that needed it has
    future->release();
  }
  std::string describe(const Payload& task) const override {
    return task.as<FutureState*>()->may_run() ? "future" : "future that another task has run";
  }
};

std::unique_ptr<Handler> make_future_tasks() { return std::make_unique<FutureTasks>(); }

Worker* FutureState::runner() const noexcept {
  const std::int64_t missing = missing_.load(std::memory_order_acquire);
  return missing < 0 ? &engine_.worker(static_cast<int>(-1 - missing)) : nullptr;
}

std::string FutureState::made_at() const {
  const std::string_view path = made_at_.file_name();
  return std::string(path.substr(path.rfind('/') + 1)) + ':' + std::to_string(made_at_.line());
}

bool FutureState::add(Follower& one) noexcept {
  Follower* first = followers_.load(std::memory_order_acquire);
  do {
    if (first == &ended_mark) return false;
    one.next = first;
  } while (!followers_.compare_exchange_weak(first, &one, std::memory_order_release, std::memory_order_acquire));
  return true;
}

void FutureState::are_over(std::int64_t number) noexcept {
  if (missing_.fetch_sub(number, std::memory_order_acq_rel) == number) submit();
}

void FutureState::submit() noexcept {
  const Entry task{engine_.future_tasks(), Payload::of(this)};
  thread_local unsigned next = 0;  // in turn, because a worker in a long task receives nothing
  surely([&] {
    if (Worker* const here = engine_.here())
      here->ready(task);
    else
      engine_.worker(static_cast<int>(next++ % static_cast<unsigned>(engine_.workers()))).inject(task);
  });
}

bool FutureState::run(Worker& here) noexcept {
  std::int64_t may = 0;
  if (!missing_.compare_exchange_strong(may, -1 - here.index(), std::memory_order_acq_rel)) return false;
  below_ = here.running();
  here.set_running(this);
  try {
    call();
  } catch (...) {
    failure_ = std::current_exception();
  }
  here.set_running(below_);
  for (Follower* one = followers_.exchange(&ended_mark, std::memory_order_seq_cst); one != nullptr;) {
    Follower* const next = one->next;  // its task may run, and be gone, at once
    one->task->are_over(1);
    one = next;
  }
  if (awaited_.load(std::memory_order_seq_cst)) {
    engine_.notify();
    engine_.wake_all();
  }
  return true;
}

FutureState* FutureState::one_before(std::size_t& next) noexcept {
  std::int64_t missing = missing_.load(std::memory_order_relaxed);
  do {
    if (missing <= 0) return nullptr;  // its call may have let go of those before it
  } while (!missing_.compare_exchange_weak(missing, missing + 1, std::memory_order_acq_rel));
  FutureState* found = nullptr;
  for (; found == nullptr && next < 2 * before_; ++next) {
    FutureState* const one = places_[next % before_].before;
    if (one->ended() || (next < before_ && one->runner() != nullptr)) continue;
    one->keep();
    found = one;
  }
  are_over(1);
  return found;
}

/// It runs nothing but what it needs. Other ready tasks would lie above this one on the stack, and if one of them
/// needed this one, neither could end.
void FutureState::run_or_await(Worker& here) {
  check_stack();
  const ScopedValue elsewhere(in_program, false);
  const auto runs = [&](FutureState& one) {
    if (!one.may_run()) return false;
    // Most often it is the last that was pushed here. Else the queue keeps the value until the task comes.
    const bool was_here = here.take_back({engine_.future_tasks(), Payload::of(&one)});
    const auto run = [&] { return one.run(here); };
    const bool ran = here.trace() == nullptr ? run() : here.trace()->run_inside("future", run);
    if (was_here) one.release();
    return ran;
  };
  if (runs(*this)) return;  // nearly always, without an allocation
  const auto release = [](FutureState* one) { one->release(); };
  struct Step {
    std::unique_ptr<FutureState, decltype(release)> future;
    std::size_t next = 0;
  };
  keep();
  std::vector<Step> way;
  way.push_back({{this, release}});
  while (!ended()) {
    FutureState& last = *way.back().future;
    if (last.ended() || runs(last))
      way.pop_back();
    else if (FutureState* const before = last.one_before(way.back().next))
      way.push_back({{before, release}});
    else
      here.await(last);
  }
}

void FutureState::wait() {
  if (Worker* const here = engine_.here()) return run_or_await(*here);
  static_cast<void>(await());
  while (!ended()) engine_.waiting().work_until([this] { return ended(); });
  if (engine_.trace() != nullptr) engine_.trace()->waited();
}

}  // namespace taskgrain::rt::detail
