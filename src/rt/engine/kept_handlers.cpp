#include "taskgrain/rt/detail/kept_handlers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "taskgrain/rt/detail/surely.hpp"

namespace taskgrain::rt::detail {

void KeptHandlers::add(const std::shared_ptr<Handler>& handler) {
  const std::lock_guard lock(mutex_);
  numbered.reserve(2);
  handler->place_ = kept_.size();
  kept_.push_back(handler);
  numbered.add(*handler);
  if (Handler* const companion = handler->companion()) numbered.add(*companion);
}

void KeptHandlers::forget(const std::shared_ptr<Handler>& handler) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t place = handler->place_;
  if (place >= kept_.size() || kept_[place] != handler) return;  // forgotten before
  std::swap(kept_[place], kept_.back());
  kept_[place]->place_ = place;
  kept_.pop_back();
  numbered.remove(*handler);
  if (const Handler* const companion = handler->companion()) numbered.remove(*companion);
}

void KeptHandlers::retire(const std::shared_ptr<Handler>& handler) noexcept {
  surely([&] {
    const std::lock_guard lock(mutex_);
    retired_.push_back(handler);
  });
}

bool KeptHandlers::take_retired(const std::shared_ptr<Handler>& handler) noexcept {
  const std::lock_guard lock(mutex_);
  return std::erase(retired_, handler) != 0;
}

KeptHandlers::List KeptHandlers::retired() const {
  const std::lock_guard lock(mutex_);
  return retired_;
}

KeptHandlers::List KeptHandlers::all() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

KeptHandlers::List KeptHandlers::unwaited() const {
  const std::lock_guard lock(mutex_);
  List found;
  std::ranges::copy_if(kept_, std::back_inserter(found), [](const auto& handler) { return handler->waiters_ == 0; });
  return found;
}

void KeptHandlers::add_waiters(Handler& handler, int number) noexcept {
  const std::lock_guard lock(mutex_);
  handler.waiters_ += number;
}

}  // namespace taskgrain::rt::detail
