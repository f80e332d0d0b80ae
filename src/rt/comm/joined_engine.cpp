#include "joined_engine.hpp"

#include <vector>

#include "taskgrain/rt/cores.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/error.hpp"
#include "transport.hpp"

namespace taskgrain::rt::detail {

void JoinedEngine::join(Engine& engine) {
  const std::lock_guard lock(mutex_);
  if (exists()) throw UsageError("another runtime uses this communicator");
  workers_ = static_cast<std::size_t>(engine.workers());
  shares_ = std::make_unique<Share[]>(workers_);
  if (transport_ != nullptr) {
    std::vector<int> processors = engine.options().cores;
    if (!engine.options().pin) {
      processors.clear();
      for (const auto& core : usable_cores()) processors.insert(processors.end(), core.begin(), core.end());
    }
    transport_->use(processors, engine.workers() + (progress_thread_ ? 1 : 0));
  }
  engine_.store(&engine);
}

void JoinedEngine::leave() noexcept {
  const std::lock_guard lock(mutex_);
  if (transport_ != nullptr) transport_->use({}, 0);
  engine_.store(nullptr);
  for (std::size_t w = 0; w < workers_; ++w) {  // atomically: threads that are no workers may add meanwhile
    outside_.queued.fetch_add(shares_[w].queued.exchange(0));
    outside_.processed.fetch_add(shares_[w].processed.exchange(0));
  }
  workers_ = 0;
}

Worker* JoinedEngine::here() const noexcept {
  Worker* const worker = Worker::current();
  return worker != nullptr && &worker->engine() == engine_.load(std::memory_order_relaxed) ? worker : nullptr;
}

void JoinedEngine::mark_busy() const noexcept {
  if (Worker* const worker = here()) worker->mark_busy();
}

void JoinedEngine::notify() noexcept {
  const std::lock_guard lock(mutex_);
  if (Engine* const engine = engine_.load()) engine->notify();
}

void JoinedEngine::notify_main_worker() noexcept {
  const Worker* const worker = here();
  if (worker == nullptr || worker->index() != 0) notify();
}

void JoinedEngine::wake_all() noexcept {
  const std::lock_guard lock(mutex_);
  if (Engine* const engine = engine_.load()) engine->wake_all();
}

void JoinedEngine::count(std::atomic<std::uint64_t> Share::* which, std::uint64_t number) noexcept {
  if (const Worker* const worker = here()) {
    auto& counter = shares_[static_cast<std::size_t>(worker->index())].*which;
    counter.store(counter.load(std::memory_order_relaxed) + number, std::memory_order_release);
  } else {
    (outside_.*which).fetch_add(number, std::memory_order_acq_rel);
  }
}

ProgressEngine::Counts JoinedEngine::counts(std::uint64_t control_received) const noexcept {
  ProgressEngine::Counts sum{outside_.queued.load(std::memory_order_acquire),
                             outside_.processed.load(std::memory_order_acquire), control_received};
  for (std::size_t w = 0; w < workers_; ++w) {
    sum.queued += shares_[w].queued.load(std::memory_order_acquire);
    sum.processed += shares_[w].processed.load(std::memory_order_acquire);
  }
  return sum;
}

}  // namespace taskgrain::rt::detail
