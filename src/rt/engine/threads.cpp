#include "taskgrain/rt/detail/worker_threads.hpp"

#include <algorithm>
#include <exception>
#include <ranges>
#include <system_error>
#include <utility>

#include "engine/work.hpp"
#include "taskgrain/rt/cores.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/forks.hpp"

namespace taskgrain::rt::detail {

namespace {

#if defined(TASKGRAIN_SIMULATED_SCHEDULE)
constexpr int branches = 1;  // so that few workers make a tree with branches below branches
#else
constexpr int branches = 4;
#endif

/// The workers directly below one.
auto below(int worker, int workers) noexcept {
  const auto place = [&](int k) { return std::min(branches * worker + k, workers); };
  return std::views::iota(place(1), place(branches + 1));
}

/// pthread attributes of a worker's thread.
class Attributes {
 public:
  explicit Attributes(std::size_t stack_bytes) {
    pthread_attr_init(&attributes_);
    if (stack_bytes != 0) pthread_attr_setstacksize(&attributes_, stack_bytes);
  }
  ~Attributes() { pthread_attr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const pthread_attr_t* get() const noexcept { return &attributes_; }

 private:
  pthread_attr_t attributes_;
};

}  // namespace

void WorkerThreads::start() {
  starting_ = 1;
  {
    const Unpinned unpinned;  // a task of another runtime may make this one, and these threads would inherit its pin
    start_below(0);
  }
  started();
  for (int left; (left = starting_.load()) != 0;) starting_.wait(left);
  try {
    if (engine_.options().pin) const Pinned trial(engine_.options().cores[0]);
  } catch (...) {
    note_failed_start();
  }
  std::exception_ptr why;
  {
    const std::lock_guard lock(mutex_);
    why = std::exchange(why_not_started_, nullptr);
  }
  running_ = why == nullptr;
  if (running_) return;
  stop();
  std::rethrow_exception(why);
}

void WorkerThreads::start_below(int worker) noexcept {
  const auto children = below(worker, engine_.workers());
  const Attributes attributes(engine_.options().stack_bytes);
  starting_.fetch_add(static_cast<int>(children.size()));
  for (const int k : children) {
    try {
      pthread_t thread;
      const int error = pthread_create(&thread, attributes.get(), &begin, &engine_.worker(k));
      if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start the thread of a worker");
      threads_[static_cast<std::size_t>(k)] = thread;
    } catch (...) {  // no more threads
      note_failed_start();
      started();
    }
  }
}

void* WorkerThreads::begin(void* worker) noexcept {
  const auto& of = *static_cast<Worker*>(worker);
  of.engine().threads_.run(of.index());
  return nullptr;
}

void WorkerThreads::run(int k) noexcept {
  std::optional<Pinned> pinned;
  start_below(k);  // before it is pinned, because threads inherit the pin
  try {
    if (engine_.options().pin) pinned.emplace(engine_.options().cores[static_cast<std::size_t>(k)]);
  } catch (...) {
    note_failed_start();
  }
  started();
  Worker& worker = engine_.worker(k);
  const CurrentWorkerScope scope(&worker);
  worker.work<false>([this] { return stop_.load(std::memory_order_relaxed); });
  wake_below(k);  // so that they see stop_, too
}

void WorkerThreads::started() noexcept {
  if (starting_.fetch_sub(1) == 1) starting_.notify_one();
}

void WorkerThreads::note_failed_start() noexcept {
  const std::lock_guard lock(mutex_);
  why_not_started_ = std::current_exception();
}

void WorkerThreads::stop() noexcept {
  running_ = false;
  stop_.store(true);
  wake_below(0);
  for (auto& thread : threads_)
    if (thread) pthread_join(*std::exchange(thread, std::nullopt), nullptr);
  stop_.store(false);
}

void WorkerThreads::wake_below(int worker) noexcept {
  for (const int k : below(worker, engine_.workers())) engine_.worker(k).wake();
}

void count_forks() noexcept {
  // Fails only for lack of memory. Then a forked child that uses the runtime hangs instead of getting an error.
  [[maybe_unused]] static const int error = pthread_atfork(nullptr, nullptr, [] {
    forks.fetch_add(1, std::memory_order_relaxed);
    Worker::reset_current();
  });
}

}  // namespace taskgrain::rt::detail
