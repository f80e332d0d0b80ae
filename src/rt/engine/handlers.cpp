/// Which handlers there are: added, removed, and kept while they are in use.

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/waiting.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/surely.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

void Engine::add(const std::shared_ptr<Handler>& handler) {
  const std::lock_guard lock(mutex_);
  numbered_.reserve(2);
  handler->place_ = handlers_.size();
  handlers_.push_back(handler);
  numbered_.add(*handler);
  if (Handler* const companion = handler->companion()) numbered_.add(*companion);
}

void Engine::remove(const std::shared_ptr<Handler>& handler) noexcept {
  if (of_parent()) return;
  if (in_task() || Callback::depth_ > 0) {
    retire(handler);
    return;
  }
  quietly([&] {
    // What other ranks were to send does not come any more.
    if (progress_ != nullptr && progress_->failed())
      stop(*handler, std::make_exception_ptr(RankFailed(-1, "the run has failed")));
    wait_for(*handler, !handler->across_ranks());
  });
  drop_retired();
  print_unreported(handler.get());
  if (!handler->done()) return retire(handler);  // there were no threads to wait with
  settle_awaited();
  leave(handler);
}

void Engine::retire(const std::shared_ptr<Handler>& handler) noexcept {
  surely([&] {
    const std::lock_guard lock(mutex_);
    retired_.push_back(handler);
  });
}

/// \pre it is done, and not retired
void Engine::leave(const std::shared_ptr<Handler>& handler) noexcept {
  handler->leave();
  try {
    // Other ranks may have sent something until then, which makes no difference: the handler has its number until that
    // has come.
    while (!handler->idle()) wait_until([&] { return handler->idle(); });
  } catch (const std::exception&) {  // there are no threads to wait with
    return retire(handler);
  }
  const std::lock_guard lock(mutex_);
  forget(handler);
}

void Engine::forget(const std::shared_ptr<Handler>& handler) noexcept {
  const std::size_t place = handler->place_;
  if (place >= handlers_.size() || handlers_[place] != handler) return;  // forgotten before
  std::swap(handlers_[place], handlers_.back());
  handlers_[place]->place_ = place;
  handlers_.pop_back();
  numbered_.remove(*handler);
  if (const Handler* const companion = handler->companion()) numbered_.remove(*companion);
}

void Engine::drop_retired() noexcept {
  std::vector<std::shared_ptr<Handler>> done;  // destroyed without the lock: what they own may be anything
  surely([&] {
    const std::lock_guard lock(mutex_);
    done = retired_;
  });
  // Nor are they asked under it: a graph has its own, under which it asks the engine.
  std::erase_if(done, [](const auto& handler) { return !handler->done(); });
  settle_awaited();
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(done, [this](const auto& handler) {
      const auto of = [&](const auto& failure) { return failure->of == handler.get(); };
      if (std::ranges::any_of(failures_, of)) return true;  // the next wait tells of it
      return std::erase(retired_, handler) == 0;            // another thread has dropped it
    });
  }
  for (const auto& handler : done) leave(handler);
}

std::vector<std::shared_ptr<Handler>> Engine::unwaited() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Handler>> found;
  std::ranges::copy_if(handlers_, std::back_inserter(found),
                       [](const auto& handler) { return handler->waiters_ == 0; });
  return found;
}

}  // namespace taskgrain::rt::detail
