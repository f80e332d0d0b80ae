#include "issue.hpp"

#include <utility>

namespace taskgrain::rt {

Done::Done(const Done& other) noexcept : task_(other.task_) {
  if (task_ != nullptr) task_->retain();
}

Done::~Done() {
  if (task_ != nullptr) task_->release();
}

void Done::operator()() const {
  if (task_ == nullptr) throw UsageError("a Done that is of no task was called");
  const Done kept = *this;  // the device may destroy the copy that it calls
  kept.task_->finish();
}

}  // namespace taskgrain::rt

namespace taskgrain::rt::detail {

Done InFlightOperation::begin(Runtime& runtime, std::shared_ptr<AsyncOwner> owner, std::uint32_t node,
                              std::uint32_t number, std::int64_t iteration) {
  owner_ = std::move(owner);
  node_ = node;
  number_ = number;
  iteration_ = iteration;
  hold_.emplace(runtime);
  over_.store(false, std::memory_order_relaxed);
  copies_.store(1, std::memory_order_relaxed);
  return Done(this);
}

void InFlightOperation::finish() {
  if (over_.exchange(true, std::memory_order_acq_rel)) return;
  owner_->device_done(number_, iteration_);
  hold_.reset();
  owner_.reset();
}

void InFlightOperation::release() noexcept {
  if (copies_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (!over_.load(std::memory_order_acquire)) {
    try {
      throw UsageError("its device never called done: all copies of the function are destroyed");
    } catch (...) {
      owner_->fail(node_, iteration_);
    }
    finish();  // the launch has failed: it must not wait for this device
  }
  pool_.give_back(this);
}

InFlightOperation* InFlightPool::take() {
  if (free_ == nullptr) free_ = back_.exchange(nullptr, std::memory_order_acquire);
  InFlightOperation* const task = free_ == nullptr ? new InFlightOperation(*this) : std::exchange(free_, free_->next_);
  references_.fetch_add(1, std::memory_order_relaxed);
  return task;
}

void InFlightPool::give_back(InFlightOperation* task) noexcept {
  task->next_ = back_.load(std::memory_order_relaxed);
  while (!back_.compare_exchange_weak(task->next_, task, std::memory_order_release, std::memory_order_relaxed)) {
  }
  leave();
}

void InFlightPool::leave() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

InFlightPool::~InFlightPool() {
  for (InFlightOperation* list : {free_, back_.load(std::memory_order_relaxed)})
    while (list != nullptr) delete std::exchange(list, list->next_);
}

Issuer::Issuer(Runtime& runtime, const DevicePlan& devices)
    : runtime_(runtime), devices_(devices), pools_(static_cast<std::size_t>(runtime.workers())) {
  for (const DeviceTask& task : devices.tasks) {
    after_.emplace_back(*task.start.type, task.before.size());
    auto& pool = pools_[static_cast<std::size_t>(task.worker)];
    if (pool == nullptr) pool.reset(new InFlightPool);
  }
}

void Issuer::issue(GraphActors& graph, std::uint32_t d, const Turn& turn, std::int64_t iteration, StoredEvent& event) {
  const DeviceTask& task = devices_.tasks[d];
  const struct Cleared {
    EventArray& events;
    ~Cleared() { events.clear(); }
  } after{after_[d]};
  InFlightOperation* operation = nullptr;
  try {
    operation = pools_[static_cast<std::size_t>(task.worker)]->take();
  } catch (...) {  // no memory
    graph.fail(task.node, iteration);
    graph.device_done(d, iteration);
    throw;
  }
  const Done done = operation->begin(runtime_, graph.shared_from_this(), task.node, d, iteration);
  try {
    event.emplace(*task.start.type, [&](void* made) {
      task.start.call(task.start.function, turn, after.events.data(), after.events.size(), done, made);
    });
  } catch (...) {
    graph.fail(task.node, iteration);
    done();  // if the device has a copy, its call does nothing
    throw;
  }
}

}  // namespace taskgrain::rt::detail
