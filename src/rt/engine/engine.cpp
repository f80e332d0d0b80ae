#include "taskgrain/rt/detail/engine.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/distance.hpp"
#include "engine/work.hpp"
#include "taskgrain/rt/cores.hpp"
#include "taskgrain/rt/detail/trace.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt::detail {

namespace {

constexpr int most_workers = 4096;

/// A processor for each worker: the first of each core, then the second of each, …, then the same again.
std::vector<int> processors_for(int workers) {
  const auto cores = usable_cores();
  std::size_t most = 0;
  for (const auto& core : cores) most = std::max(most, core.size());
  std::vector<int> all;
  for (std::size_t turn = 0; turn < most; ++turn)
    for (const auto& core : cores)
      if (turn < core.size()) all.push_back(core[turn]);
  std::vector<int> processors;
  const std::size_t number = workers == 0 ? cores.size() : static_cast<std::size_t>(workers);
  while (processors.size() < number) processors.push_back(all[processors.size() % all.size()]);
  return processors;
}

/// Checks the options and sets what was left open.
RuntimeOptions complete(RuntimeOptions options) {
  const auto check_number = [](const char* field, auto number) {
    if (std::cmp_less(number, 0) || std::cmp_greater(number, most_workers))
      throw UsageError(std::string(field) + std::to_string(number) + ", allowed are 0 to " +
                       std::to_string(most_workers));
  };
  check_number("workers is ", options.workers);
  check_number("the number of cores is ", options.cores.size());
  if (options.spin.count() < 0)
    throw UsageError("spin is " + std::to_string(options.spin.count()) + " ns, allowed are 0 and more");
  if (options.cores.empty()) options.cores = processors_for(options.workers);
  if (options.workers == 0) options.workers = static_cast<int>(options.cores.size());
  if (options.cores.size() != static_cast<std::size_t>(options.workers))
    throw UsageError("cores names " + std::to_string(options.cores.size()) + " processors for " +
                     std::to_string(options.workers) + " workers");
  return options;
}

/// Lets the calling thread be a worker.
class Role {
 public:
  explicit Role(Worker*& current, Worker& worker) : current_(current), before_(std::exchange(current, &worker)) {
    show();
  }
  ~Role() {
    current_ = before_;
    show();
  }

 private:
  /// To users, who ask for `this_worker`.
  void show() const noexcept { worker_index = current_ == nullptr ? -1 : current_->index(); }

  Worker*& current_;
  Worker* before_;
};

}  // namespace

/// While it lives, an idle worker stays idle: worker 0 may look at what belongs to the others, though somebody outside
/// sends them something at this moment. What it does and what `Worker::publish_busy` does is Dekker's: a worker says
/// that it is busy and then looks whether the run is closed, worker 0 closes it and then looks whether all are idle.
/// Both pay for a fence, unlike in sleep.hpp: a barrier for all cores would interrupt those that spin, which takes ten
/// microseconds of every wait.
class Engine::Closed {
 public:
  explicit Closed(Engine& engine) noexcept : engine_(engine) {
    engine_.closed_.store(true, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  ~Closed() { engine_.closed_.store(false, std::memory_order_release); }

 private:
  Engine& engine_;
};

Engine::Engine(RuntimeOptions options) : options_(complete(std::move(options))), epochs_(options_.cores.size()) {
  const std::size_t number = options_.cores.size();
  if (!options_.trace.empty()) {
    trace_ = std::make_unique<Trace>(number);
    trace_->write(options_.trace);  // a file that cannot be written is known before anything runs
  }
  for (std::size_t k = 0; k < number; ++k) {
    workers_.push_back(std::make_unique<Worker>(*this, static_cast<int>(k), static_cast<int>(number)));
    if (trace_) workers_[k]->trace_ = &trace_->lane(k);
  }
  const auto others = by_distance(options_.cores);
  for (std::size_t k = 0; k < number; ++k)
    for (const int other : others[k]) {
      workers_[k]->victims_.push_back(workers_[static_cast<std::size_t>(other)].get());
      workers_[k]->inboxes_.push_back(workers_[k]->mailboxes_[static_cast<std::size_t>(other)].get());
    }
  start();
}

Engine::~Engine() {
  try {
    wait();
  } catch (...) {
  }
  stop_threads();
  try {
    if (trace_) trace_->write(options_.trace);
  } catch (...) {
  }
}

void Engine::start() {
  if (!threads_.empty()) return;
  std::atomic<int> starting{workers() - 1};
  std::exception_ptr problem;
  std::mutex problem_mutex;
  int next = 1;
  try {
    for (; next < workers(); ++next)
      threads_.emplace_back([&, k = next] {
        std::optional<Pinned> pinned;
        try {
          if (options_.pin) pinned.emplace(options_.cores[static_cast<std::size_t>(k)]);
        } catch (...) {
          const std::lock_guard lock(problem_mutex);
          problem = std::current_exception();
        }
        starting.fetch_sub(1);
        starting.notify_one();
        Worker& worker = *workers_[static_cast<std::size_t>(k)];
        const Role role(Worker::current_, worker);
        worker.work([this] { return stop_.load(std::memory_order_relaxed); });
      });
  } catch (...) {  // the system has no more threads
    const std::lock_guard lock(problem_mutex);
    problem = std::current_exception();
  }
  starting.fetch_sub(workers() - next);
  for (int left; (left = starting.load()) != 0;) starting.wait(left);
  try {
    if (options_.pin) const Pinned trial(options_.cores[0]);
  } catch (...) {
    problem = std::current_exception();
  }
  if (problem == nullptr) return;
  stop_threads();
  std::rethrow_exception(problem);
}

void Engine::stop_threads() noexcept {
  stop_.store(true);
  for (auto& worker : workers_) worker->wake();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  stop_.store(false);
}

void Engine::join() {
  std::exception_ptr failure;
  try {
    wait();
  } catch (...) {
    failure = std::current_exception();
  }
  stop_threads();
  if (failure) std::rethrow_exception(failure);
}

void Engine::wait() {
  work_as_first([] { return false; });
}

void Engine::work_until(const std::function<bool()>& done) { work_as_first(done); }

template <typename Done>
void Engine::work_as_first(const Done& done) {
  if (here() != nullptr) throw UsageError("a task cannot wait for the runtime that runs it");
  const std::lock_guard caller(caller_mutex_);
  if (threads_.empty() && workers() > 1 && !quiescent()) start();  // what came after `join` needs them
  Worker& first = *workers_[0];
  const Role role(Worker::current_, first);
  const auto pinned = options_.pin ? std::make_unique<Pinned>(options_.cores[0]) : nullptr;
  for (;;) {
    bool is_done = false;
    first.work([&] { return (!failed() && (is_done = done())) || quiescent(); });
    if (is_done) return;  // others may be at work still: what fails there, the next wait tells
    const Closed closed(*this);
    if (quiescent()) return end_run();
  }
}

void Engine::end_run() {
  constexpr std::size_t most = 10;
  std::vector<StuckTask> tasks;
  std::size_t total = 0;
  const auto all = handlers();
  if (!failed())
    for (const Handler* handler : all) total += handler->stuck(tasks, most);
  if (failed() || total > 0 || options_.check)
    for (Handler* handler : all) handler->abandon();
  if (failed()) {
    const std::lock_guard lock(mutex_);
    failed_.store(false, std::memory_order_relaxed);
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  if (total > 0) throw Stuck(std::move(tasks), total);
}

bool Engine::quiescent() noexcept {
  // After Mattern's four counters: nobody has anything to do, and as much was received as sent, at two looks between
  // which nobody stirred. Whoever stirs says so in its epoch before it takes a message or a task of another: so if a
  // look misses a message that was sent and received in its course, the second look sees an epoch that has changed.
  if (holds_.load(std::memory_order_acquire) != 0) return false;
  const std::uint64_t outside = sent_from_outside_.load(std::memory_order_acquire);
  std::uint64_t under_way = outside;
  for (std::size_t k = 0; k < workers_.size(); ++k) {
    const auto& said = workers_[k]->publication_;
    epochs_[k] = said.epoch.load(std::memory_order_acquire);
    if (epochs_[k] % 2 != 0) return false;
    under_way += said.sent.load(std::memory_order_acquire) - said.received.load(std::memory_order_acquire);
  }
  if (under_way != 0) return false;
  for (std::size_t k = 0; k < workers_.size(); ++k)
    if (workers_[k]->publication_.epoch.load(std::memory_order_acquire) != epochs_[k]) return false;
  // A hold that a task took, and that ended since, has left what it fulfilled in the count after it.
  return holds_.load(std::memory_order_acquire) == 0 && sent_from_outside_.load(std::memory_order_acquire) == outside;
}

void Engine::fail(const std::string& task) noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  try {
    try {
      throw;
    } catch (const std::exception& error) {
      throw TaskFailed(task, error.what());
    } catch (...) {
      throw TaskFailed(task, "an exception that is no std::exception");
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  failed_.store(true, std::memory_order_release);
  for (const auto& worker : workers_) worker->wake();
}

void Engine::add(Handler& handler) {
  const std::lock_guard lock(mutex_);
  handlers_.push_back(&handler);
}

void Engine::remove(Handler& handler) noexcept {
  try {
    if (here() == nullptr) wait();
  } catch (...) {
  }
  const std::lock_guard lock(mutex_);
  std::erase(handlers_, &handler);
}

std::vector<Handler*> Engine::handlers() {
  const std::lock_guard lock(mutex_);
  return handlers_;
}

}  // namespace taskgrain::rt::detail
