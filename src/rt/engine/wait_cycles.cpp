#include "taskgrain/rt/detail/wait_cycles.hpp"

#include <utility>

#include "taskgrain/rt/detail/surely.hpp"
#include "taskgrain/rt/detail/worker.hpp"
#include "taskgrain/rt/future.hpp"

namespace taskgrain::rt::detail {

WaitCycles::Entry::Entry(WaitCycles& all, const Worker& worker, Wait& wait) noexcept
    : all_(all), worker_(static_cast<std::size_t>(worker.index())), wait_(wait) {}

void WaitCycles::Entry::enter() noexcept {
  const std::lock_guard lock(all_.mutex_);
  all_.waits_[worker_] = &wait_;
  is_here_ = true;
  surely([this] { all_.look(worker_); });
}

void WaitCycles::Entry::leave() noexcept {
  if (!std::exchange(is_here_, false)) return;
  const std::lock_guard lock(all_.mutex_);
  all_.waits_[worker_] = nullptr;
}

void WaitCycles::look(std::size_t first) {
  static const std::string needs = ", which needs that of ";
  std::string names;
  Wait* of_a_future = nullptr;
  for (Wait* const one : circle_of(first)) {
    const FutureState* const future = one->future();
    std::string above;  // on the stack of its worker
    for (const FutureState* of = one->runner()->running(); of != nullptr && of != future; of = of->below())
      above = needs + of->made_at() + above;
    if (future != nullptr) {
      names += needs + future->made_at();
      of_a_future = one;
    }
    names += above;
  }
  if (of_a_future != nullptr) of_a_future->refuse(names.substr(needs.size()));
}

std::vector<WaitCycles::Wait*> WaitCycles::circle_of(std::size_t first) const {
  std::vector<Wait*> found;
  std::size_t worker = first;
  while (found.size() < waits_.size()) {  // it may lead into a circle of others, who find it
    Wait* const one = waits_[worker];
    const Worker* const runner = one == nullptr || one->over() ? nullptr : one->runner();
    if (runner == nullptr) break;
    found.push_back(one);
    worker = static_cast<std::size_t>(runner->index());
    if (worker == first) return found;
  }
  return {};
}

}  // namespace taskgrain::rt::detail
