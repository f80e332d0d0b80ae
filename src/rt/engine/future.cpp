#include "taskgrain/rt/future.hpp"

#include <memory>
#include <string>
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
  void run(Worker&, const Payload& task) noexcept override { task.as<FutureState*>()->run(); }
  std::string describe(const Payload&) const override { return "future"; }
};

std::unique_ptr<Handler> make_future_tasks() { return std::make_unique<FutureTasks>(); }

bool FutureState::add(Follower& one) noexcept {
  Follower* first = followers_.load(std::memory_order_acquire);
  do {
    if (first == &ended_mark) return false;
    one.next = first;
  } while (!followers_.compare_exchange_weak(first, &one, std::memory_order_release, std::memory_order_acquire));
  return true;
}

void FutureState::follow(const std::vector<FutureState*>& before) noexcept {
  missing_.store(before.size() + 1, std::memory_order_relaxed);
  std::size_t ended = 1;
  for (std::size_t k = 0; k < before.size(); ++k) {
    among_followers_[k].task = this;
    if (!before[k]->add(among_followers_[k])) ++ended;
  }
  if (missing_.fetch_sub(ended, std::memory_order_acq_rel) == ended) submit();
}

void FutureState::one_ended() noexcept {
  if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) submit();
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

void FutureState::run() noexcept {
  try {
    call();
  } catch (...) {
    failure_ = std::current_exception();
  }
  for (Follower* one = followers_.exchange(&ended_mark, std::memory_order_seq_cst); one != nullptr;) {
    Follower* const next = one->next;  // its task may run, and be gone, at once
    one->task->one_ended();
    one = next;
  }
  if (awaited_.load(std::memory_order_seq_cst)) engine_.notify();
  release();
}

void FutureState::wait() {
  if (engine_.here() != nullptr)
    throw UsageError("a task cannot wait for a future that is not ready: let another task follow it (then, when_all)");
  awaited_.store(true, std::memory_order_seq_cst);
  while (!ended()) engine_.waiting().work_until([this] { return ended(); });
  if (engine_.trace() != nullptr) engine_.trace()->waited();
}

}  // namespace taskgrain::rt::detail
