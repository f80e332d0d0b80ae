#include "issue.hpp"

#include <memory_resource>
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

namespace {

/// Memory of operations, so that those of a graph that runs need none of the heap. Never destroyed, because a device may
/// keep a Done for as long as it likes.
std::pmr::polymorphic_allocator<> pool() {
  static auto& kept = *new std::pmr::synchronized_pool_resource;
  return &kept;
}

}  // namespace

Done InFlightOperation::begin(Runtime& runtime, std::shared_ptr<AsyncOwner> owner, std::uint32_t node,
                              std::uint32_t number, std::int64_t iteration) {
  return Done(pool().new_object<InFlightOperation>(runtime, std::move(owner), node, number, iteration));
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
  pool().delete_object(this);
}

Issuer::Issuer(Runtime& runtime, const DevicePlan& devices) : runtime_(runtime), devices_(devices) {
  for (const DeviceTask& task : devices.tasks) after_.emplace_back(*task.start.type, task.before.size());
}

void Issuer::issue(GraphActors& graph, std::uint32_t d, const Turn& turn, std::int64_t iteration, StoredEvent& event) {
  const DeviceTask& task = devices_.tasks[d];
  EventArray& after = after_[d];
  const ScopeExit clears([&] { after.clear(); });
  Done done;
  try {
    done = InFlightOperation::begin(runtime_, graph.shared_from_this(), task.node, d, iteration);
  } catch (...) {  // no memory
    graph.fail(task.node, iteration);
    graph.device_done(d, iteration);
    throw;
  }
  try {
    event.emplace(*task.start.type, [&](void* made) {
      task.start.call(task.start.function, turn, after.data(), after.size(), done, made);
    });
  } catch (...) {
    graph.fail(task.node, iteration);
    done();  // if the device has a copy, its call does nothing
    throw;
  }
}

}  // namespace taskgrain::rt::detail
