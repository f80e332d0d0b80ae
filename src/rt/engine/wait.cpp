/// Who waits for what: the part of the engine that threads outside call.

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "engine/first.hpp"
#include "taskgrain/rt/detail/courier.hpp"
#include "taskgrain/rt/detail/engine.hpp"

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

/// A call on each worker. The round belongs to its messages and to who waits for it, and lends the call, which is given
/// back if that one cannot wait.
struct Engine::Round {
  Round(const std::function<void(int worker)>& lent, Engine& of) : call(&lent), engine(of), left(of.workers()) {}

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

/// Takes these calls to the workers.
class Engine::Rounds final : public Courier {
 public:
  void deliver(Worker& here, const Payload& message) noexcept override {
    const std::unique_ptr<std::shared_ptr<Round>> round(message.as<std::shared_ptr<Round>*>());
    (*round)->take_place(here.index());
    Engine& engine = (*round)->engine;
    if ((*round)->left.fetch_sub(1, std::memory_order_acq_rel) == 1) engine.notify();
  }
};

std::unique_ptr<Handler> Engine::make_rounds() { return std::make_unique<Rounds>(); }

void Engine::wait() {
  wait_until<false>([] { return false; });
  end_run();
}

void Engine::finish() noexcept {
  try {
    wait();
  } catch (const std::exception& error) {
    print(error.what());
  }
}

void Engine::work_until(const std::function<bool()>& done) {
  if (!done) throw UsageError("work_until has no function to ask");
  std::exception_ptr thrown;
  const auto asked = [&] {
    // As a thread outside: what it fulfills must be found, whatever this worker has said of itself.
    const Role outside(Worker::current_, nullptr);
    try {
      return done();
    } catch (...) {
      thrown = std::current_exception();
      return true;
    }
  };
  const bool is_done = wait_until(asked) || asked();  // it may have come between two looks, and then nothing was left
  if (thrown) std::rethrow_exception(thrown);
  if (!is_done) end_run();  // if done, others may be at work still: what fails there, the next wait tells
}

void Engine::wait_for(Handler& handler) {
  unsigned failures = 0;
  const auto told = [&] {  // the failure of this handler that came while this thread waited, if any
    const std::lock_guard lock(mutex_);
    if (handler.failures_ == failures) return std::exception_ptr();
    handler.failure_->told = true;
    std::erase(failures_, handler.failure_);
    return handler.failure_->exception;
  };
  const Alone alone(mutex_, handler.waiters_);
  {
    const std::lock_guard lock(mutex_);
    failures = handler.failures_ - (handler.broken() && handler.failure_ && !handler.failure_->told);
  }
  for (;;) {
    const bool ended = wait_until([&] { return handler.broken() || handler.done(); });
    if (handler.broken()) settle(handler);
    if (const std::exception_ptr failure = told()) std::rethrow_exception(failure);
    if (ended || handler.done()) break;
    if (const Found found = find_stuck({&handler}); found.total > 0) std::rethrow_exception(give_up(found));
  }
  if (options_.check) on_workers([&](int worker) { handler.run_ended(worker); });
  drop_retired();
}

void Engine::wait(const Event& event) {
  const auto settled = [&] { return event.is_set() || event.failure() != nullptr; };
  /// The event may happen when this engine is no more.
  struct Bell {
    std::mutex mutex;
    Engine* engine;
  };
  const auto bell = std::make_shared<Bell>();
  bell->engine = this;
  const auto silence = [](Bell* rings) {
    const std::lock_guard lock(rings->mutex);
    rings->engine = nullptr;
  };
  const std::unique_ptr<Bell, decltype(silence)> silenced(bell.get(), silence);
  event.then([bell] {
    const std::lock_guard lock(bell->mutex);
    if (bell->engine != nullptr) bell->engine->notify();
  });
  while (!wait_until(settled) && !settled()) {
    const auto alive = unwaited();
    std::vector<Handler*> handlers;
    for (const auto& handler : alive) handlers.push_back(handler.get());
    const Found found = find_stuck(handlers);
    if (settled()) break;
    if (!found.sure) continue;
    if (found.total == 0) throw Stuck({{"an event", 0, 1}}, 1);
    const auto why = give_up(found);  // which fails the event if it is of a launch that was stuck
    if (!settled()) std::rethrow_exception(why);
  }
  drop_retired();
  if (const std::exception_ptr failure = event.failure()) {
    const std::lock_guard lock(mutex_);
    std::erase_if(failures_, [&](const auto& one) { return one->exception == failure; });
    std::rethrow_exception(failure);
  }
}

void Engine::on_workers(const std::function<void(int worker)>& call) {
  const auto round = std::make_shared<Round>(call, *this);
  const auto all = [&] { return round->left.load(std::memory_order_acquire) == 0; };
  try {
    for (auto& worker : workers_) {
      auto mine = std::make_unique<std::shared_ptr<Round>>(round);
      worker->send_from_outside({rounds_->number(), Payload::of(mine.get())});
      static_cast<void>(mine.release());  // the worker's
    }
    while (!all()) wait_until(all);
  } catch (...) {  // no memory, or no threads
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
    const First first(*this, [] { return false; });  // a thread that works has left
    stop_threads();
  }
  if (failure) std::rethrow_exception(failure);
}

void Engine::start() {
  const First first(*this, [this] { return running_.load(); });
  if (first && !running_) start_threads();
}

void Engine::notify() noexcept {
  workers_[0]->wake();
  notify_others();
}

void Engine::notify_others() noexcept {
  if (others_.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(first_mutex_);
  first_left_.notify_all();
}

void Engine::release() noexcept {
  const Outside inside(*this);  // whoever waits may end the runtime at once
  outside_.holds.fetch_sub(1, std::memory_order_release);
  notify();
}

}  // namespace taskgrain::rt::detail
