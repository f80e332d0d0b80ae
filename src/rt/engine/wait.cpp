/// Waits. Threads that are no workers call them.

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "engine/waiting.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/surely.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

/// A call on each worker, or on one, shared by the messages to the workers and the waiting thread. The waiting thread
/// owns the function: if it gives up, `give_back` makes workers skip the call.
struct WaitingThreads::Round {
  Round(const std::function<void(int worker)>& lent, Engine& of, int number) : call(&lent), engine(of), left(number) {}

  void take_place(int worker) {
    const std::shared_lock lock(mutex);
    if (call != nullptr) (*call)(worker);
  }
  void give_back() {
    const std::unique_lock lock(mutex);
    call = nullptr;
  }

  std::shared_mutex mutex;  // protects the call
  const std::function<void(int worker)>* call;
  Engine& engine;
  std::atomic<int> left;
};

/// Delivers these calls to the workers.
class WaitingThreads::Rounds : public MessageHandler {
 public:
  void deliver(Worker& here, const Payload& message) noexcept override {
    const std::unique_ptr<std::shared_ptr<Round>> round(message.as<std::shared_ptr<Round>*>());
    (*round)->take_place(here.index());
    Engine& engine = (*round)->engine;
    if ((*round)->left.fetch_sub(1, std::memory_order_acq_rel) == 1) engine.notify();
  }
};

/// The same for calls that are tasks: they may take long, and receive messages meanwhile.
class WaitingThreads::Calls final : public Rounds {
 public:
  void deliver(Worker& here, const Payload& message) noexcept override {
    surely([&] { here.ready({number(), message}, {.bound = true}); });
  }
  void run(Worker& here, const Payload& call) noexcept override { Rounds::deliver(here, call); }
  std::string describe(const Payload&) const override { return "fork_join"; }
};

WaitingThreads::WaitingThreads(Engine& engine)
    : engine_(engine), rounds_(std::make_unique<Rounds>()), calls_(std::make_unique<Calls>()) {
  engine_.handlers_.numbered.add(*rounds_);
  engine_.handlers_.numbered.add(*calls_);
}

void WaitingThreads::wait() {
  if (engine_.progress_ != nullptr) return wait_with_ranks();
  wait_until<false>([] { return false; });
  end_run();
}

void WaitingThreads::wait_with_ranks() {
  check_may_wait();
  // One wait at a time, because all ranks number their waits, and the numbers must agree.
  const std::lock_guard one_at_a_time(waiting_with_ranks_);
  has_reported_ = reported_stuck_ = false;
  engine_.progress_->begin();
  try {
    wait_until<false>([this] { return all_ranks_done(); }, [] { return false; });
  } catch (...) {  // there are no threads to wait with
    engine_.notify_ranks(std::current_exception());
    throw;
  }
  if (engine_.progress_->failed()) end_with_ranks();
  // Also if end_run throws: messages that other ranks have sent after this wait must be delivered now.
  const ScopeExit ends([this] { engine_.progress_->end(); });
  end_run();
  if (engine_.progress_->stuck()) {
    // The rank with stuck tasks fails all ranks once it has their names. If it was this rank and end_run has found
    // none, they have run since.
    if (reported_stuck_)
      engine_.progress_->fail(
          "tasks waited when nothing was left to do on any rank, and have run since: a thread outside of the "
          "runtime was late, and has no Runtime::hold");
    wait_until<false>([this] { return engine_.progress_->failed(); }, [] { return false; });
    end_with_ranks();
  }
}

bool WaitingThreads::all_ranks_done() {
  if (engine_.progress_->failed() || engine_.progress_->done()) return true;
  // Messages from threads outside are added to both counts. They change no count of messages between ranks, but the
  // comparison of two readings must notice them.
  const auto counts = [this] {
    const std::uint64_t outside = engine_.outside_.sent.load(std::memory_order_acquire);
    const ProgressEngine::Counts own = engine_.progress_->counts();
    return ProgressEngine::Counts{own.queued + outside, own.processed + outside, own.control_received};
  };
  const ProgressEngine::Counts before = counts();
  if (has_reported_ && reported_ == before) return false;  // nothing has happened since
  if (!engine_.quiescent() || counts() != before || engine_.awaited_.settle()) return false;
  const auto alive = engine_.handlers_.unwaited();
  reported_stuck_ = !std::ranges::all_of(alive, [](const auto& handler) { return handler->done(); });
  has_reported_ = true;
  reported_ = before;
  engine_.progress_->idle(before, reported_stuck_);
  return engine_.progress_->done();
}

void WaitingThreads::end_with_ranks() {
  engine_.progress_->settle();
  std::exception_ptr why;
  try {
    engine_.progress_->raise();
  } catch (...) {
    why = std::current_exception();
  }
  const KeptHandlers::List handlers = engine_.handlers_.all();
  for (const auto& handler : handlers) engine_.stop(*handler, why);
  for (const auto& handler : handlers)
    if (handler->broken()) settle(*handler);
  wait_until<false>([] { return false; });  // until the actors of failed launches have finished
  drop_retired();
  // If this rank failed itself, throw its own exception.
  Failures::List own = engine_.failures_.take_all();
  std::erase_if(own, [](const auto& failure) { return Failures::comes_from_ranks(*failure); });
  if (engine_.progress_->failed_here() && !own.empty()) engine_.failures_.throw_first(own);
  for (const auto& failure : own) engine_.failures_.print(failure->exception);
  std::rethrow_exception(why);
}

void WaitingThreads::finish() noexcept {
  engine_.failures_.quietly([this] {
    // For this rank only: other ranks may never wait again.
    surely([this] {
      wait_until<false>([] { return false; });
      end_run();
    });
  });
}

void WaitingThreads::work_until(const std::function<bool()>& done) {
  if (!done) throw UsageError("work_until has no function to ask");
  std::exception_ptr thrown;
  const auto asked = [&] {
    // As a thread outside, not as worker 0: worker 0 may have published that it is idle, and then its messages would
    // not be counted.
    const CurrentWorkerScope outside(nullptr);
    try {
      return done();
    } catch (...) {
      thrown = std::current_exception();
      return true;
    }
  };
  const bool is_done =
      wait_for_ranks(asked) || asked();  // it may have become true after the last check, with nothing left to do
  if (thrown) std::rethrow_exception(thrown);
  if (!is_done) end_run();  // if done, other workers may still run tasks, whose failures the next wait throws
}

void WaitingThreads::wait_for(Handler& handler, bool on_this_rank) {
  const auto wait = [&](const auto& done) {
    return on_this_rank ? wait_until(done, &handler) : wait_for_ranks(done, &handler);
  };
  engine_.handlers_.add_waiters(handler, 1);
  const ScopeExit waits_no_more([&] { engine_.handlers_.add_waiters(handler, -1); });
  const unsigned seen = engine_.failures_.seen(handler);
  for (;;) {
    const bool ended = wait([&] { return handler.broken() || handler.done(); });
    if (handler.broken()) settle(handler);
    if (const std::exception_ptr failure = engine_.failures_.take_new(handler, seen)) {
      Failures::note_thrown(failure);
      std::rethrow_exception(failure);
    }
    if (ended || handler.done()) break;
    if (const Found found = find_stuck({&handler}, &handler); found.total > 0) std::rethrow_exception(give_up(found));
  }
  if (engine_.options_.check) on_workers([&](int worker) { handler.run_ended(worker); });
  drop_retired();
}

void WaitingThreads::wait(const Event& event) {
  const auto settled = [&] { return event.is_set() || event.failure() != nullptr; };
  /// Shared with the callback, because the event may be set after the engine has ended.
  struct Waiter {
    std::mutex mutex;
    Engine* engine;
  };
  const auto waiter = std::make_shared<Waiter>();
  waiter->engine = &engine_;
  const ScopeExit silence([&] {
    const std::lock_guard lock(waiter->mutex);
    waiter->engine = nullptr;
  });
  event.then([waiter] {
    const std::lock_guard lock(waiter->mutex);
    if (waiter->engine != nullptr) waiter->engine->notify();
  });
  while (!wait_for_ranks(settled) && !settled()) {
    const auto alive = engine_.handlers_.unwaited();
    std::vector<Handler*> handlers;
    for (const auto& handler : alive) handlers.push_back(handler.get());
    const Found found = find_stuck(handlers);
    if (settled()) break;
    if (!found.sure) continue;
    if (found.total == 0) throw Stuck({{"an event", 0, 1}}, 1);
    const auto why = give_up(found);  // fails the event if it belongs to a stuck launch
    if (!settled()) std::rethrow_exception(why);
  }
  drop_retired();
  if (const std::exception_ptr failure = event.failure()) {
    engine_.failures_.take(failure);
    Failures::note_thrown(failure);
    std::rethrow_exception(failure);
  }
}

void WaitingThreads::on_workers(const std::function<void(int worker)>& call) {
  on_workers(call, 0, engine_.workers(), *rounds_);
}

void WaitingThreads::on_worker(int worker, const std::function<void(int worker)>& call) {
  check_may_wait();
  on_workers(call, worker, 1, *calls_);
}

void WaitingThreads::on_workers(const std::function<void(int worker)>& call, int first, int number, const Handler& by) {
  const auto round = surely([&] { return std::make_shared<Round>(call, engine_, number); });
  const auto all = [&] { return round->left.load(std::memory_order_acquire) == 0; };
  try {
    for (int k = first; k < first + number; ++k)
      surely([&] {
        auto mine = std::make_unique<std::shared_ptr<Round>>(round);
        engine_.worker(k).inject({by.number(), Payload::of(mine.get())});
        static_cast<void>(mine.release());  // the worker owns it
      });
    while (!all()) wait_until(all);
  } catch (...) {  // no threads
    round->give_back();
    throw;
  }
}

void WaitingThreads::join() {
  std::exception_ptr failure;
  try {
    wait();
  } catch (...) {
    failure = std::current_exception();
  }
  check_may_wait();
  {
    const MainWorker::Guard guard(engine_, [] { return false; });  // no other thread is worker 0
    engine_.threads_.stop();
  }
  if (failure) std::rethrow_exception(failure);
}

void WaitingThreads::start() {
  check_may_wait();
  const MainWorker::Guard guard(engine_, [this] { return engine_.threads_.running(); });
  if (guard && !engine_.threads_.running()) engine_.threads_.start();
}

}  // namespace taskgrain::rt::detail
