/// Waits of the engine. Threads that are no workers call them.

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

namespace {

/// Counts a thread that waits for one handler.
class Alone {
 public:
  Alone(std::mutex& mutex, int& waiters) : mutex_(mutex), waiters_(waiters) { add(1); }
  ~Alone() { add(-1); }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  void add(int number) {
    const std::lock_guard lock(mutex_);
    waiters_ += number;
  }

  std::mutex& mutex_;
  int& waiters_;
};

}  // namespace

/// A call on each worker, or on one, shared by the messages to the workers and the waiting thread. The waiting thread owns the
/// function: if it gives up, `give_back` makes workers skip the call.
struct Engine::Round {
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
class Engine::Rounds : public MessageHandler {
 public:
  void deliver(Worker& here, const Payload& message) noexcept override {
    const std::unique_ptr<std::shared_ptr<Round>> round(message.as<std::shared_ptr<Round>*>());
    (*round)->take_place(here.index());
    Engine& engine = (*round)->engine;
    if ((*round)->left.fetch_sub(1, std::memory_order_acq_rel) == 1) engine.notify();
  }
};

/// The same for calls that are tasks: they may take long, and receive messages meanwhile.
class Engine::Calls final : public Rounds {
 public:
  void deliver(Worker& here, const Payload& message) noexcept override {
    surely([&] { here.ready({number(), message}, {.bound = true}); });
  }
  void run(Worker& here, const Payload& call) noexcept override { Rounds::deliver(here, call); }
  std::string describe(const Payload&) const override { return "fork_join"; }
};

std::unique_ptr<Handler> Engine::make_rounds() { return std::make_unique<Rounds>(); }
std::unique_ptr<Handler> Engine::make_calls() { return std::make_unique<Calls>(); }

void Engine::wait() {
  if (progress_ != nullptr) return wait_with_ranks();
  wait_until<false>([] { return false; });
  end_run();
}

void Engine::wait_with_ranks() {
  check_may_wait();
  // One wait at a time, because all ranks number their waits, and the numbers must agree.
  const std::lock_guard one_at_a_time(waiting_with_ranks_);
  has_reported_ = reported_stuck_ = false;
  progress_->begin();
  try {
    wait_until<false>([this] { return all_ranks_done(); }, [] { return false; });
  } catch (...) {  // there are no threads to wait with
    notify_ranks(std::current_exception());
    throw;
  }
  if (progress_->failed()) end_with_ranks();
  // Also if end_run throws: messages that other ranks have sent after this wait must be delivered now.
  const auto leave = [](ProgressEngine* progress) { progress->end(); };
  const std::unique_ptr<ProgressEngine, decltype(leave)> ends(progress_, leave);
  end_run();
  if (progress_->stuck()) {
    // The rank with stuck tasks fails all ranks once it has their names. If it was this rank and end_run has found
    // none, they have run since.
    if (reported_stuck_)
      progress_->fail(
          "tasks waited when nothing was left to do on any rank, and have run since: a thread outside of the "
          "runtime was late, and has no Runtime::hold");
    wait_until<false>([this] { return progress_->failed(); }, [] { return false; });
    end_with_ranks();
  }
}

bool Engine::all_ranks_done() {
  if (progress_->failed() || progress_->done()) return true;
  // Messages from threads outside are added to both counts. They change no count of messages between ranks, but the
  // comparison of two readings must notice them.
  const auto counts = [this] {
    const std::uint64_t outside = outside_.sent.load(std::memory_order_acquire);
    const ProgressEngine::Counts own = progress_->counts();
    return ProgressEngine::Counts{own.queued + outside, own.processed + outside, own.control_received};
  };
  const ProgressEngine::Counts before = counts();
  if (has_reported_ && reported_ == before) return false;  // nothing has happened since
  if (!quiescent() || counts() != before || settle_awaited()) return false;
  const auto alive = unwaited();
  reported_stuck_ = !std::ranges::all_of(alive, [](const auto& handler) { return handler->done(); });
  has_reported_ = true;
  reported_ = before;
  progress_->idle(before, reported_stuck_);
  return progress_->done();
}

void Engine::end_with_ranks() {
  progress_->settle();
  std::exception_ptr why;
  try {
    progress_->raise();
  } catch (...) {
    why = std::current_exception();
  }
  std::vector<std::shared_ptr<Handler>> handlers;
  {
    const std::lock_guard lock(mutex_);
    handlers = handlers_;
  }
  for (const auto& handler : handlers) stop(*handler, why);
  for (const auto& handler : handlers)
    if (handler->broken()) settle(*handler);
  wait_until<false>([] { return false; });  // until the actors of failed launches have finished
  drop_retired();
  // If this rank failed itself, throw its own exception.
  std::vector<std::shared_ptr<Failure>> unreported;
  {
    const std::lock_guard lock(mutex_);
    unreported.swap(failures_);
    for (const auto& failure : unreported) failure->reported = true;
  }
  std::erase_if(unreported, [](const auto& failure) { return comes_from_ranks(*failure); });
  const bool own = progress_->failed_here() && !unreported.empty();
  if (own) note_thrown(unreported[0]->exception);
  for (std::size_t k = own ? 1 : 0; k < unreported.size(); ++k) print(unreported[k]->exception);
  std::rethrow_exception(own ? unreported[0]->exception : why);
}

void Engine::finish() noexcept {
  quietly([this] {
    // For this rank only: other ranks may never wait again.
    surely([this] {
      wait_until<false>([] { return false; });
      end_run();
    });
  });
}

void Engine::work_until(const std::function<bool()>& done) {
  if (!done) throw UsageError("work_until has no function to ask");
  std::exception_ptr thrown;
  const auto asked = [&] {
    // As a thread outside, not as worker 0: worker 0 may have published that it is idle, and then its messages would
    // not be counted.
    const CurrentWorkerScope outside(Worker::current_, nullptr);
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

void Engine::wait_for(Handler& handler, bool on_this_rank) {
  const auto wait = [&](const auto& done) {
    return on_this_rank ? wait_until(done, &handler) : wait_for_ranks(done, &handler);
  };
  unsigned failures = 0;
  const auto new_failure = [&] {  // of this handler, since this wait began
    const std::lock_guard lock(mutex_);
    if (handler.failures_ == failures) return std::exception_ptr();
    handler.failure_->reported = true;
    std::erase(failures_, handler.failure_);
    return handler.failure_->exception;
  };
  const Alone alone(mutex_, handler.waiters_);
  {
    const std::lock_guard lock(mutex_);
    failures = handler.failures_ - (handler.broken() && handler.failure_ && !handler.failure_->reported);
  }
  for (;;) {
    const bool ended = wait([&] { return handler.broken() || handler.done(); });
    if (handler.broken()) settle(handler);
    if (const std::exception_ptr failure = new_failure()) {
      note_thrown(failure);
      std::rethrow_exception(failure);
    }
    if (ended || handler.done()) break;
    if (const Found found = find_stuck({&handler}, &handler); found.total > 0) std::rethrow_exception(give_up(found));
  }
  if (options_.check) on_workers([&](int worker) { handler.run_ended(worker); });
  drop_retired();
}

void Engine::set_when_done(Handler& handler, const Event& event) {
  std::exception_ptr broken_by;
  {
    const std::lock_guard lock(mutex_);
    awaited_.emplace_back(&handler, event);
    any_awaited_.store(true, std::memory_order_release);
    broken_by = handler.broken_by_;  // null: a later failure finds the event in awaited_
  }
  if (broken_by) settle_awaited(&handler, broken_by);
  notify();  // so that a current wait checks again
}

bool Engine::settle_awaited(const Handler* broken, const std::exception_ptr& why) noexcept {
  if (!any_awaited_.load(std::memory_order_acquire)) return false;
  // As a thread outside, not as worker 0, which may have published that it is idle: messages of callbacks must be
  // counted.
  const CurrentWorkerScope outside(Worker::current_, nullptr);
  const Callback inside;
  for (bool any = false;; any = true) {
    std::unique_lock lock(mutex_);
    const auto ended = std::ranges::find_if(awaited_, [&](const auto& one) {
      return broken != nullptr ? one.first == broken : !one.first->broken() && one.first->done();
    });
    if (ended == awaited_.end()) return any;
    const auto [handler, event] = *ended;
    awaited_.erase(ended);
    any_awaited_.store(!awaited_.empty(), std::memory_order_release);
    lock.unlock();
    try {
      broken != nullptr ? event.fail(why) : event.set();
    } catch (...) {
      report(*handler, "a call of Event::then");
    }
  }
}

void Engine::wait(const Event& event) {
  const auto settled = [&] { return event.is_set() || event.failure() != nullptr; };
  /// Shared with the callback, because the event may be set after the engine has ended.
  struct Waiter {
    std::mutex mutex;
    Engine* engine;
  };
  const auto waiter = std::make_shared<Waiter>();
  waiter->engine = this;
  const auto silence = [](Waiter* of) {
    const std::lock_guard lock(of->mutex);
    of->engine = nullptr;
  };
  const std::unique_ptr<Waiter, decltype(silence)> silenced(waiter.get(), silence);
  event.then([waiter] {
    const std::lock_guard lock(waiter->mutex);
    if (waiter->engine != nullptr) waiter->engine->notify();
  });
  while (!wait_for_ranks(settled) && !settled()) {
    const auto alive = unwaited();
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
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(failures_, [&](const auto& one) { return one->exception == failure && (one->reported = true); });
    }
    note_thrown(failure);
    std::rethrow_exception(failure);
  }
}

void Engine::on_workers(const std::function<void(int worker)>& call) { on_workers(call, 0, workers(), *rounds_); }

void Engine::on_worker(int worker, const std::function<void(int worker)>& call) {
  check_may_wait();
  on_workers(call, worker, 1, *calls_);
}

void Engine::on_workers(const std::function<void(int worker)>& call, int first, int number, const Handler& by) {
  const auto round = surely([&] { return std::make_shared<Round>(call, *this, number); });
  const auto all = [&] { return round->left.load(std::memory_order_acquire) == 0; };
  try {
    for (int k = first; k < first + number; ++k)
      surely([&] {
        auto mine = std::make_unique<std::shared_ptr<Round>>(round);
        worker(k).inject({by.number(), Payload::of(mine.get())});
        static_cast<void>(mine.release());  // the worker owns it
      });
    while (!all()) wait_until(all);
  } catch (...) {  // no threads
    round->give_back();
    throw;
  }
}

void Engine::join() {
  std::exception_ptr failure;
  try {
    wait();
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const MainWorkerGuard guard(*this, [] { return false; });  // no other thread is worker 0
    stop_threads();
  }
  if (failure) std::rethrow_exception(failure);
}

void Engine::start() {
  const MainWorkerGuard guard(*this, [this] { return running_.load(); });
  if (guard && !running_) start_threads();
}

void Engine::notify() noexcept {
  workers_[0]->wake();
  notify_others();
}

void Engine::notify_others() noexcept {
  if (others_.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(main_mutex_);
  main_left_.notify_all();
}

void Engine::release() noexcept {
  const ExternalThread inside(*this);  // the waiting thread may destroy the engine as soon as the hold ends
  outside_.holds.fetch_sub(1, std::memory_order_release);
  notify();
}

void Engine::hold(Handler& one) noexcept {
  one.holds_.fetch_add(1, std::memory_order_relaxed);
  outside_.holds_of_flows.fetch_add(1, std::memory_order_relaxed);
}

void Engine::release(Handler& one) noexcept {
  const ExternalThread inside(*this);
  one.holds_.fetch_sub(1, std::memory_order_release);
  outside_.holds_of_flows.fetch_sub(1, std::memory_order_release);
  notify();
}

}  // namespace taskgrain::rt::detail
