/// The end of a wait: it settles handlers that have failed or are stuck, and ends those that were removed.

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/waiting.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/surely.hpp"
#include "taskgrain/rt/detail/trace.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

WaitingThreads::Found WaitingThreads::find_stuck(const std::vector<Handler*>& handlers, const Handler* alone) {
  return surely([&] { return look_for_stuck(handlers, alone); });  // what has failed is still to be thrown
}

WaitingThreads::Found WaitingThreads::look_for_stuck(const std::vector<Handler*>& handlers, const Handler* alone) {
  constexpr std::size_t most = 10;
  constexpr int most_tries = 100;  // threads outside that send all the time invalidate each try
  const auto all_done = [&] { return std::ranges::all_of(handlers, &Handler::done); };
  if (all_done()) return {};  // as after most runs
  for (int tries = 0; tries < most_tries; ++tries) {
    Found found;
    // The lists of all workers are of one moment if no thread outside has sent anything since before `wait_until` found
    // nothing to do until the last worker has reported, and there is no hold.
    const std::uint64_t before = engine_.outside_.sent.load(std::memory_order_acquire);
    if (wait_until(all_done, alone)) return {};
    // If a flow has failed since the caller checked, its tasks may wait for fulfilments that the failure has dropped:
    // settle it, and try again. A failure after this check comes from a message that was sent after `before`.
    bool any_broken = false;
    for (Handler* handler : handlers) {
      if (!handler->broken()) continue;
      settle(*handler);
      any_broken = true;
    }
    if (any_broken) continue;
    std::mutex mutex;
    std::vector<std::size_t> waiting(handlers.size(), 0);
    bool no_memory = false;
    on_workers([&](int worker) {
      const std::lock_guard lock(mutex);
      try {
        for (std::size_t k = 0; k < handlers.size(); ++k) waiting[k] += handlers[k]->waiting(worker, found.tasks, most);
      } catch (const std::bad_alloc&) {
        no_memory = true;
      }
    });
    if (no_memory) throw std::bad_alloc();
    if (engine_.held(alone) ||
        engine_.outside_.sent.load(std::memory_order_acquire) != before + engine_.workers_.size())
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

std::exception_ptr WaitingThreads::give_up(const Found& found) {
  const auto why = surely([&] { return std::make_exception_ptr(Stuck(found.tasks, found.total)); });
  if (engine_.progress_ != nullptr) engine_.notify_ranks(why);
  for (Handler* handler : found.handlers) {
    engine_.stop(*handler, why);
    settle(*handler);
  }
  return why;
}

void WaitingThreads::settle(Handler& handler) {
  const std::lock_guard one_at_a_time(settling_);
  // Load broken before the wait for idle: a handler that was idle before its failure may still get messages to drop.
  const bool broken = handler.broken();
  while (!handler.idle()) wait_until([&] { return handler.idle(); });
  if (!broken) return;  // another thread has settled it, or it is a launch, which ends by itself
  on_workers([&](int worker) { handler.forget(worker); });
  engine_.awaited_.mend(handler);
  handler.reopen();
}

void WaitingThreads::end_run() {
  const auto alive = engine_.handlers_.unwaited();
  std::vector<Handler*> handlers;
  for (const auto& handler : alive) handlers.push_back(handler.get());
  const Failures::List unreported = engine_.failures_.take(handlers);
  for (Handler* handler : handlers)
    if (handler->broken()) settle(*handler);
  const Found found = find_stuck(handlers);
  if (found.total > 0) {
    const auto why = give_up(found);
    if (unreported.empty()) std::rethrow_exception(why);
    engine_.failures_.print(why);  // it may be a consequence of the failure, which is thrown below
  }
  if (engine_.options_.check)
    on_workers([&](int worker) {
      for (Handler* handler : handlers) handler->run_ended(worker);
    });
  drop_retired();
  if (!unreported.empty()) engine_.failures_.throw_first(unreported);
}

void WaitingThreads::remove(const std::shared_ptr<Handler>& handler) noexcept {
  if (engine_.made_in().of_parent()) return;
  if (engine_.made_in().in_task() || Engine::Callback::depth_ > 0) return engine_.handlers_.retire(handler);
  engine_.failures_.quietly([&] {
    // What other ranks were to send does not come any more.
    if (engine_.progress_ != nullptr && engine_.progress_->failed())
      engine_.stop(*handler, std::make_exception_ptr(RankFailed(-1, "the run has failed")));
    wait_for(*handler, !handler->across_ranks());
  });
  drop_retired();
  engine_.failures_.print_unreported(handler.get());
  if (!handler->done()) return engine_.handlers_.retire(handler);  // there were no threads to wait with
  engine_.awaited_.settle();
  leave(handler);
}

/// \pre it is done, and not retired
void WaitingThreads::leave(const std::shared_ptr<Handler>& handler) noexcept {
  handler->leave();
  try {
    // Other ranks may have sent something until then, which makes no difference: the handler has its number until that
    // has come.
    while (!handler->idle()) wait_until([&] { return handler->idle(); });
  } catch (const std::exception&) {  // there are no threads to wait with
    return engine_.handlers_.retire(handler);
  }
  engine_.handlers_.forget(handler);
}

void WaitingThreads::drop_retired() noexcept {
  if (engine_.trace() != nullptr) surely([&] { engine_.trace()->waited(); });
  // They are asked without a lock: a graph has its own, under which it asks the engine.
  KeptHandlers::List done = surely([&] { return engine_.handlers_.retired(); });
  std::erase_if(done, [](const auto& handler) { return !handler->done(); });
  engine_.awaited_.settle();
  for (const auto& handler : done)
    if (!engine_.failures_.any_of(*handler) && engine_.handlers_.take_retired(handler)) leave(handler);
}

}  // namespace taskgrain::rt::detail
