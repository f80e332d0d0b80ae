/// Failures: tasks that throw, tasks that wait for ever, and the waits that report them.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/waiting.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/key.hpp"
#include "taskgrain/rt/detail/surely.hpp"
#include "taskgrain/rt/detail/tasks.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

void Engine::print(const char* message) noexcept {
  std::fprintf(stderr, "taskgrain: nobody waited for this: %s\n", message);
}

std::shared_ptr<std::atomic<Told>> Engine::told_of(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const TaskFailed& error) {
    return error.told_;
  } catch (...) {
    return nullptr;
  }
}

void Engine::note_thrown(const std::exception_ptr& failure) noexcept {
  if (prints_) return;
  if (const auto told = told_of(failure)) told->store(Told::thrown);
}

void Engine::print(const std::exception_ptr& failure) noexcept {
  if (const auto told = told_of(failure)) {
    {
      const std::lock_guard lock(mutex_);
      if (std::ranges::count(failures_, told, &Failure::told) != 0) return;
    }
    Told before = Told::no;
    if (!told->compare_exchange_strong(before, Told::printed)) return;
  }
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    print(message_of(error));
  } catch (...) {
  }
}

void Engine::report(Handler& handler, const std::string& task) noexcept {
  auto failure = surely([] { return std::make_shared<Failure>(); });
  failure->of = &handler;
  // What a task passes on, such as the failure of a launch, is one failure: it is thrown here and there, and told once.
  // Where a wait has thrown it before, it was caught, and is a new one.
  failure->told = told_of(std::current_exception());
  if (!failure->told || failure->told->load() == Told::thrown)
    failure->told = surely([] { return std::make_shared<std::atomic<Told>>(Told::no); });
  failure->exception = surely([&] {
    try {
      try {
        throw;
      } catch (const std::exception& error) {
        throw TaskFailed(task, message_of(error));
      } catch (...) {
        throw TaskFailed(task, "an exception that is no std::exception");
      }
    } catch (TaskFailed& error) {
      error.told_ = failure->told;
      return std::current_exception();
    }
  });
  surely([&] {
    const std::lock_guard lock(mutex_);
    failures_.push_back(failure);
    handler.failure_ = failure;
    ++handler.failures_;
  });
}

bool Engine::comes_from_ranks(const Failure& failure) noexcept {
  try {
    try {
      std::rethrow_exception(failure.exception);
    } catch (const std::nested_exception& outer) {
      if (outer.nested_ptr() != nullptr) outer.rethrow_nested();
    }
  } catch (const RankFailed&) {
    return true;
  } catch (...) {
  }
  return false;
}

std::string Engine::waiting_here() const noexcept {
  constexpr std::size_t most = 3;
  try {
    const Worker* const worker = here();
    if (worker == nullptr) return {};
    std::vector<std::shared_ptr<Handler>> handlers;
    {
      const std::lock_guard lock(mutex_);
      handlers = handlers_;
    }
    std::vector<StuckTask> tasks;
    std::size_t number = 0;
    for (const auto& handler : handlers) number += handler->waiting(worker->index(), tasks, most);
    if (number == 0) return {};
    std::string text = "; on its worker " + std::to_string(worker->index()) + " " + std::to_string(number) +
                       (number == 1 ? " task waits: " : " tasks wait: ");
    for (std::size_t k = 0; k < tasks.size(); ++k) text += (k == 0 ? "" : ", ") + tasks[k].task;
    return text + (number > tasks.size() ? ", …" : "");
  } catch (const std::exception&) {  // no memory
    return {};
  }
}

void Engine::fail(Handler& handler, const std::string& task) noexcept {
  if (handler.failed_.exchange(true, std::memory_order_acq_rel)) return;  // only the first failure counts
  report(handler, task);
  handler.stop(nullptr);
  fail_awaited(handler, failure_of(handler));
  if (progress_ != nullptr) notify_ranks(failure_of(handler));
  notify();
}

void Engine::notify_ranks(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const RankFailed&) {  // the other ranks know it
  } catch (const std::exception& error) {
    progress_->fail(surely([&] { return message_of(error) + waiting_here(); }).c_str());
  } catch (...) {
    progress_->fail("an exception that is no std::exception");
  }
}

std::exception_ptr Engine::failure_of(const Handler& handler) const noexcept {
  const std::lock_guard lock(mutex_);
  return handler.failure_->exception;
}

void Engine::stop(Handler& handler, const std::exception_ptr& why) noexcept {
  handler.stop(why);
  fail_awaited(handler, why);
}

void Engine::fail_awaited(Handler& handler, const std::exception_ptr& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    handler.broken_by_ = why;
  }
  settle_awaited(&handler, why);
}

void Engine::cancel(Handler& handler) noexcept {
  stop(handler, surely([] { return std::make_exception_ptr(Cancelled("cancelled")); }));
  notify();
}

void Engine::print_unreported(const Handler* handler) noexcept {
  for (;;) {
    std::shared_ptr<Failure> failure;
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::ranges::find(failures_, handler, &Failure::of);
      if (found == failures_.end()) return;
      failure = *found;
      failures_.erase(found);
    }
    print(failure->exception);
  }
}

Engine::Found Engine::find_stuck(const std::vector<Handler*>& handlers, const Handler* alone) {
  return surely([&] { return look_for_stuck(handlers, alone); });  // what has failed is still to be thrown
}

Engine::Found Engine::look_for_stuck(const std::vector<Handler*>& handlers, const Handler* alone) {
  constexpr std::size_t most = 10;
  constexpr int most_tries = 100;  // threads outside that send all the time invalidate each try
  const auto all_done = [&] { return std::ranges::all_of(handlers, &Handler::done); };
  if (all_done()) return {};  // as after most runs
  for (int tries = 0; tries < most_tries; ++tries) {
    Found found;
    // The lists of all workers are of one moment if no thread outside has sent anything since before `wait_until` found
    // nothing to do until the last worker has reported, and there is no hold.
    const std::uint64_t before = outside_.sent.load(std::memory_order_acquire);
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
    if (held(alone) || outside_.sent.load(std::memory_order_acquire) != before + workers_.size()) continue;
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
  const auto why = surely([&] { return std::make_exception_ptr(Stuck(found.tasks, found.total)); });
  if (progress_ != nullptr) notify_ranks(why);
  for (Handler* handler : found.handlers) {
    stop(*handler, why);
    settle(*handler);
  }
  return why;
}

void Engine::settle(Handler& handler) {
  const std::lock_guard one_at_a_time(settling_);
  // Load broken before the wait for idle: a handler that was idle before its failure may still get messages to drop.
  const bool broken = handler.broken();
  while (!handler.idle()) wait_until([&] { return handler.idle(); });
  if (!broken) return;  // another thread has settled it, or it is a launch, which ends by itself
  on_workers([&](int worker) { handler.forget(worker); });
  {
    const std::lock_guard lock(mutex_);
    handler.broken_by_ = nullptr;  // before `reopen`: after that it may break again
  }
  handler.reopen();
}

void Engine::end_run() {
  const auto alive = unwaited();
  std::vector<Handler*> handlers;
  for (const auto& handler : alive) handlers.push_back(handler.get());
  std::vector<std::shared_ptr<Failure>> unreported;
  {
    const std::lock_guard lock(mutex_);
    unreported.reserve(failures_.size());  // all or nothing
    std::erase_if(failures_, [&](const auto& failure) {
      if (std::ranges::count(handlers, failure->of) == 0) return false;
      failure->reported = true;
      unreported.push_back(failure);
      return true;
    });
  }
  for (Handler* handler : handlers)
    if (handler->broken()) settle(*handler);
  const Found found = find_stuck(handlers);
  if (found.total > 0) {
    const auto why = give_up(found);
    if (unreported.empty()) std::rethrow_exception(why);
    print(why);  // it may be a consequence of the failure, which is thrown below
  }
  if (options_.check)
    on_workers([&](int worker) {
      for (Handler* handler : handlers) handler->run_ended(worker);
    });
  drop_retired();
  if (unreported.empty()) return;
  note_thrown(unreported[0]->exception);
  for (std::size_t k = 1; k < unreported.size(); ++k) print(unreported[k]->exception);
  std::rethrow_exception(unreported[0]->exception);
}

void throw_usage(std::initializer_list<std::string_view> words) { throw UsageError(joined(words)); }

void add_stuck(std::vector<StuckTask>& tasks, std::string task, std::int64_t fulfilled, std::int64_t indegree) {
  tasks.push_back({std::move(task), fulfilled, indegree});
}

}  // namespace taskgrain::rt::detail

namespace taskgrain::rt {

namespace {

std::string text(const std::vector<StuckTask>& tasks, std::size_t total) {
  std::string text =
      std::to_string(total) + (total == 1 ? " task waits" : " tasks wait") +
      " for ever (too few fulfilments, a cycle, a task fulfilled again after it ran, an event that nobody "
      "sets, or a thread outside of the runtime that was late and has no Runtime::hold):";
  for (const StuckTask& task : tasks)
    text += "\n  " + task.task + ": fulfilled " + std::to_string(task.fulfilled) + " of " +
            std::to_string(task.indegree) + " times";
  if (total > tasks.size()) text += "\n  and " + std::to_string(total - tasks.size()) + " more";
  return text;
}

}  // namespace

Stuck::Stuck(std::vector<StuckTask> tasks, std::size_t total)
    : std::runtime_error(text(tasks, total)), tasks_(std::move(tasks)), total_(total) {}

}  // namespace taskgrain::rt
