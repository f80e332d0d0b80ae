#include "taskgrain/rt/detail/failures.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "taskgrain/rt/detail/key.hpp"
#include "taskgrain/rt/detail/surely.hpp"
#include "taskgrain/rt/detail/tasks.hpp"

namespace taskgrain::rt::detail {

void Failures::print(const char* message) noexcept {
  std::fprintf(stderr, "taskgrain: nobody waited for this: %s\n", message);
}

std::shared_ptr<std::atomic<Told>> Failures::told_of(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const TaskFailed& error) {
    return error.told_;
  } catch (...) {
    return nullptr;
  }
}

void Failures::note_thrown(const std::exception_ptr& failure) noexcept {
  if (prints_) return;
  if (const auto told = told_of(failure)) told->store(Told::thrown);
}

void Failures::print(const std::exception_ptr& failure) noexcept {
  if (const auto told = told_of(failure)) {
    {
      const std::lock_guard lock(mutex_);
      if (std::ranges::count(untold_, told, &Failure::told) != 0) return;
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

void Failures::report(Handler& handler, const std::string& task) noexcept {
  auto failure = surely([] { return std::make_shared<Failure>(); });
  failure->of = &handler;
  // What a task passes on, such as the failure of a launch, is one failure: it is thrown here and there, and told once.
  // Where a wait has thrown it before, it was caught, and is a new one.
  failure->told = told_of(std::current_exception());
  if (!failure->told || failure->told->load() == Told::thrown)
    failure->told = surely([] { return std::make_shared<std::atomic<Told>>(Told::no); });
  failure->exception = surely([&] {
    try {
      throw TaskFailed(task, message_of_current());
    } catch (TaskFailed& error) {
      error.told_ = failure->told;
      return std::current_exception();
    }
  });
  surely([&] {
    const std::lock_guard lock(mutex_);
    untold_.push_back(failure);
    handler.failure_ = failure;
    ++handler.failures_;
  });
}

bool Failures::comes_from_ranks(const Failure& failure) noexcept {
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

std::exception_ptr Failures::of(const Handler& handler) const noexcept {
  const std::lock_guard lock(mutex_);
  return handler.failure_->exception;
}

bool Failures::any_of(const Handler& handler) const noexcept {
  const std::lock_guard lock(mutex_);
  return std::ranges::count(untold_, &handler, &Failure::of) != 0;
}

unsigned Failures::seen(const Handler& handler) const noexcept {
  const std::lock_guard lock(mutex_);
  return handler.failures_ - (handler.broken() && handler.failure_ && !handler.failure_->reported);
}

std::exception_ptr Failures::take_new(const Handler& handler, unsigned seen) noexcept {
  const std::lock_guard lock(mutex_);
  if (handler.failures_ == seen) return nullptr;
  handler.failure_->reported = true;
  std::erase(untold_, handler.failure_);
  return handler.failure_->exception;
}

Failures::List Failures::take(const std::vector<Handler*>& handlers) {
  const std::lock_guard lock(mutex_);
  List taken;
  taken.reserve(untold_.size());
  std::erase_if(untold_, [&](const auto& failure) {
    if (std::ranges::count(handlers, failure->of) == 0) return false;
    failure->reported = true;
    taken.push_back(failure);
    return true;
  });
  return taken;
}

Failures::List Failures::take_all() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& failure : untold_) failure->reported = true;
  return std::exchange(untold_, {});
}

void Failures::take(const std::exception_ptr& failure) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(untold_, [&](const auto& one) { return one->exception == failure && (one->reported = true); });
}

void Failures::throw_first(const List& failures) {
  note_thrown(failures[0]->exception);
  for (std::size_t k = 1; k < failures.size(); ++k) print(failures[k]->exception);
  std::rethrow_exception(failures[0]->exception);
}

void Failures::print_unreported(const Handler* handler) noexcept {
  for (;;) {
    std::shared_ptr<Failure> failure;
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::ranges::find(untold_, handler, &Failure::of);
      if (found == untold_.end()) return;
      failure = *found;
      untold_.erase(found);
    }
    print(failure->exception);
  }
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
