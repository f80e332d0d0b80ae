/// Who waits for what, and what goes wrong: the part of the engine that threads outside call.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>

#include "engine/role.hpp"
#include "engine/work.hpp"
#include "taskgrain/rt/cores.hpp"
#include "taskgrain/rt/detail/courier.hpp"
#include "taskgrain/rt/detail/engine.hpp"

namespace taskgrain::rt::detail {

namespace {

/// For what nobody waits for.
void print(const char* message) noexcept { std::fprintf(stderr, "taskgrain: nobody waited for this: %s\n", message); }
void print(const Failure& failure) noexcept {
  try {
    std::rethrow_exception(failure.exception);
  } catch (const std::exception& error) {
    print(error.what());
  } catch (...) {
  }
}

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

/// The thread that is worker 0, while it lives.
class Engine::First {
 public:
  /// Returns when this thread is worker 0, or when done().
  template <typename Done>
  First(Engine& engine, const Done& done) : engine_(engine) {
    if (engine.here() != nullptr) throw UsageError("a task cannot wait for the runtime that runs it");
    std::unique_lock lock(engine_.first_mutex_);
    if (engine_.first_taken_ && engine_.first_ == std::this_thread::get_id())
      throw UsageError("what work_until asks cannot wait for the same runtime");
    const Waiting waiting(engine_);
    for (auto nap = shortest_nap; engine_.first_taken_; nap = std::min(2 * nap, longest_nap)) {
      lock.unlock();
      const bool is_done = done();
      lock.lock();
      if (is_done) return;
      // Whoever makes it true need not know of this thread, or may do so just now: it looks again after a while.
      if (engine_.first_taken_) engine_.first_left_.wait_for(lock, nap);
    }
    is_first_ = true;
    engine_.first_ = std::this_thread::get_id();
    // A worker says that it is starved and then looks for worker 0: one of the two sees the other.
    engine_.first_taken_.store(true);
    if (engine_.starved_.load() == 0) return;
    for (const auto& worker : engine_.workers_) worker->wake();
  }
  ~First() {
    if (!is_first_) return;
    const std::lock_guard lock(engine_.first_mutex_);
    engine_.first_taken_.store(false);
    engine_.first_left_.notify_all();
  }
  First(const First&) = delete;
  First& operator=(const First&) = delete;

  explicit operator bool() const noexcept { return is_first_; }

 private:
  struct Waiting {
    explicit Waiting(Engine& of) noexcept : engine(of) { engine.others_.fetch_add(1); }
    ~Waiting() { engine.others_.fetch_sub(1); }
    Engine& engine;
  };

  Engine& engine_;
  bool is_first_ = false;
};

template <bool often, typename Done>
bool Engine::wait_until(const Done& done) {
  const First is_first(*this, done);
  if (!is_first) return true;
  Worker& first = *workers_[0];
  const Role role(Worker::current_, &first);
  const auto leave = [](Worker* worker) { worker->leave(); };
  const std::unique_ptr<Worker, decltype(leave)> leaves(&first, leave);
  std::optional<Pinned> pinned;
  if (options_.pin) pinned.emplace(options_.cores[0]);
  bool is_done = false;
  // After `join` the others have no threads. It starts them for the first thing that comes, and does not sleep before:
  // what comes for another worker would not wake it.
  const auto joined = [this] { return threads_.empty() && workers() > 1; };
  do {
    if (joined() && !quiescent()) start_threads();
    first.work<often>([&] { return (is_done = done()) || quiescent() || joined(); });
  } while (!is_done && joined() && !quiescent());
  return is_done;
}

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
  const bool is_done = wait_until(asked);
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

Engine::Found Engine::find_stuck(const std::vector<Handler*>& handlers) {
  constexpr std::size_t most = 10;
  constexpr int most_tries = 100;  // where threads outside send all the time, nothing is stuck for long
  const auto all_done = [&] { return std::ranges::all_of(handlers, &Handler::done); };
  if (all_done()) return {};  // as after most runs
  for (int tries = 0; tries < most_tries; ++tries) {
    Found found;
    // If nobody outside sends anything from before a moment at which nothing is left to do until all workers have told
    // what waits there, and nobody holds, what they have told is true at one time.
    const std::uint64_t before = outside_.sent.load(std::memory_order_acquire);
    if (wait_until(all_done)) return {};
    std::mutex mutex;
    std::vector<std::size_t> waiting(handlers.size(), 0);
    on_workers([&](int worker) {
      const std::lock_guard lock(mutex);
      for (std::size_t k = 0; k < handlers.size(); ++k) waiting[k] += handlers[k]->waiting(worker, found.tasks, most);
    });
    if (outside_.holds.load(std::memory_order_acquire) != 0 ||
        outside_.sent.load(std::memory_order_acquire) != before + workers_.size())
      continue;
    for (std::size_t k = 0; k < handlers.size(); ++k) {
      if (waiting[k] == 0) continue;
      found.total += waiting[k];
      found.handlers.push_back(handlers[k]);
    }
    return found;
  }
  Found unknown;
  unknown.sure = false;
  return unknown;
}

std::exception_ptr Engine::give_up(const Found& found) {
  const auto why = std::make_exception_ptr(Stuck(found.tasks, found.total));
  for (Handler* handler : found.handlers) {
    handler->stop(why);
    settle(*handler);
  }
  return why;
}

void Engine::settle(Handler& handler) {
  const std::lock_guard one_at_a_time(settling_);
  while (!handler.idle()) wait_until([&] { return handler.idle(); });
  if (!handler.broken()) return;  // another thread has settled it
  on_workers([&](int worker) { handler.forget(worker); });
  handler.reopen();
}

void Engine::end_run() {
  const auto alive = unwaited();
  std::vector<Handler*> handlers;
  for (const auto& handler : alive) handlers.push_back(handler.get());
  std::vector<std::shared_ptr<Failure>> untold;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(failures_, [&](const auto& failure) {
      if (std::ranges::count(handlers, failure->of) == 0) return false;
      failure->told = true;
      untold.push_back(failure);
      return true;
    });
  }
  for (Handler* handler : handlers)
    if (handler->broken()) settle(*handler);
  const Found found = find_stuck(handlers);
  if (found.total > 0) {
    const auto why = give_up(found);
    if (untold.empty()) std::rethrow_exception(why);
    print(Stuck(found.tasks, found.total).what());  // perhaps because of what has failed
  }
  if (options_.check)
    on_workers([&](int worker) {
      for (Handler* handler : handlers) handler->run_ended(worker);
    });
  drop_retired();
  for (std::size_t k = 1; k < untold.size(); ++k) print(*untold[k]);
  if (!untold.empty()) std::rethrow_exception(untold[0]->exception);
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
  if (others_.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(first_mutex_);
  first_left_.notify_all();
}

void Engine::release() noexcept {
  const Outside inside(*this);  // whoever waits may end the runtime at once
  outside_.holds.fetch_sub(1, std::memory_order_release);
  notify();
}

void Engine::report(Handler& handler, const std::string& task) noexcept {
  auto failure = std::make_shared<Failure>();
  failure->of = &handler;
  try {
    try {
      throw;
    } catch (const std::exception& error) {
      throw TaskFailed(task, error.what());
    } catch (...) {
      throw TaskFailed(task, "an exception that is no std::exception");
    }
  } catch (...) {
    failure->exception = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  failures_.push_back(failure);
  handler.failure_ = std::move(failure);
  ++handler.failures_;
}

void Engine::fail(Handler& handler, const std::string& task) noexcept {
  if (handler.failed_.exchange(true, std::memory_order_acq_rel)) return;  // of many the first
  report(handler, task);
  handler.stop(nullptr);
  notify();
}

std::exception_ptr Engine::failure_of(const Handler& handler) const noexcept {
  const std::lock_guard lock(mutex_);
  return handler.failure_->exception;
}

void Engine::cancel(Handler& handler) noexcept {
  handler.stop(std::make_exception_ptr(Cancelled("cancelled")));
  notify();
}

void Engine::add(std::shared_ptr<Handler> handler) {
  const std::lock_guard lock(mutex_);
  handlers_.push_back(std::move(handler));
  try {
    numbered_.add(*handlers_.back());
  } catch (...) {
    handlers_.pop_back();
    throw;
  }
}

void Engine::remove(const std::shared_ptr<Handler>& handler) noexcept {
  if (here() != nullptr || Callback::depth_ > 0) {
    const std::lock_guard lock(mutex_);
    retired_.push_back(handler);
    return;
  }
  try {
    wait_for(*handler);
  } catch (const std::exception& error) {
    print(error.what());
  }
  drop_retired();
  print_untold(handler.get());
  const bool done = handler->done();  // or there were no threads to wait with
  const std::lock_guard lock(mutex_);
  done ? forget(handler) : retired_.push_back(handler);
}

void Engine::forget(const std::shared_ptr<Handler>& handler) noexcept {
  if (std::erase(handlers_, handler) != 0) numbered_.remove(*handler);
}

void Engine::drop_retired() noexcept {
  std::vector<std::shared_ptr<Handler>> done;  // destroyed without the lock: what they own may be anything
  {
    const std::lock_guard lock(mutex_);
    done = retired_;
  }
  // Nor are they asked under it: a graph has its own, under which it asks the engine.
  std::erase_if(done, [](const auto& handler) { return !handler->done(); });
  const std::lock_guard lock(mutex_);
  for (const auto& handler : done) {
    const auto of = [&](const auto& failure) { return failure->of == handler.get(); };
    if (std::ranges::any_of(failures_, of)) continue;  // the next wait tells of it
    std::erase(retired_, handler);
    forget(handler);
  }
}

std::vector<std::shared_ptr<Handler>> Engine::unwaited() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Handler>> found;
  std::ranges::copy_if(handlers_, std::back_inserter(found),
                       [](const auto& handler) { return handler->waiters_ == 0; });
  return found;
}

void Engine::print_untold(const Handler* handler) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(failures_, [&](const auto& failure) {
    if (failure->of != handler) return false;
    print(*failure);
    return true;
  });
}

}  // namespace taskgrain::rt::detail
