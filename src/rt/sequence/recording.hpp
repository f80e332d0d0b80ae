#pragma once

/// The body of a loop or a trace, while its tasks are given.
///
///   the first size() tasks have their functions; one more may be there, which is given, or was not given after all
///   expected_ ≠ null  ⇒  the first size() tasks are as its first ones, and the body has no accesses of its own

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sequence/body.hpp"
#include "taskgrain/rt/sequence.hpp"

namespace taskgrain::rt::detail {

class Recording {
 public:
  /// True while a body is recorded.
  explicit operator bool() const noexcept { return body_ != nullptr; }
  std::size_t size() const noexcept { return size_; }

  /// \param expected  what its tasks will be like; null: unknown
  void begin(const Body* expected) {
    auto body = std::make_shared<Body>();
    if (expected != nullptr) body->tasks.reserve(expected->tasks.size());
    body_ = std::move(body);
    size_ = 0;
    expected_ = expected;
  }
  std::shared_ptr<Body> end() {
    drop_unfinished();
    const bool as_expected = expected_ != nullptr && size_ == expected_->tasks.size();
    if (expected_ != nullptr) expect_no_more();
    const std::shared_ptr<Body> body = body_;
    discard();
    was_as_expected_ = as_expected;
    return body;
  }
  void discard() noexcept {
    expected_ = nullptr;
    was_as_expected_ = false;
    body_ = nullptr;
  }
  /// True if the last one that ended was the body that was expected, all of it.
  bool was_as_expected() const noexcept { return was_as_expected_; }

  bool expects() const noexcept { return expected_ != nullptr; }
  /// The place for the function of the next task, if it is as expected: then it needs no other check. (Its data exists
  /// if the data of the launch does, which is checked.) If not, null, and nothing is expected from then on.
  /// \param plain  it has no result, and no sum is open
  TaskFunction* expected(std::span<const Access> accesses, bool plain, TaskOptions& options, const EventType* event) {
    drop_unfinished();
    if (plain && is_expected(accesses, options, event)) {
      const Body::Task& expected = expected_->tasks[size_];
      return &add(expected.accesses, expected.worker, expected.rank, std::move(options), event);
    }
    expect_no_more();
    return nullptr;
  }
  /// Any other task. \returns the place for its function
  TaskFunction& add(std::span<const Access> accesses, int worker, int rank, TaskOptions&& options,
                    const EventType* event) {
    drop_unfinished();
    body_->accesses.insert(body_->accesses.end(), accesses.begin(), accesses.end());
    return add(static_cast<std::uint32_t>(body_->accesses.size()), worker, rank, std::move(options), event);
  }
  /// The last task has its function.
  void end_task() noexcept { size_ = body_->tasks.size(); }
  /// A function may throw when it is moved to its place, and the body catch that.
  void drop_unfinished() {
    if (body_->tasks.size() == size_) return;
    body_->tasks.resize(size_);
    if (expected_ == nullptr) body_->accesses.resize(size_ == 0 ? 0 : body_->tasks.back().accesses);
  }

  std::size_t results() const noexcept { return body_->results.size(); }
  void add_result(std::uint64_t id, std::uintptr_t place) {
    body_->results.push_back(id);
    body_->places.push_back(place);
  }
  /// Adds owners of memory that the last task uses.
  void add_owners(std::vector<std::shared_ptr<void>>&& owners) {
    std::ranges::move(owners, std::back_inserter(body_->owners));
  }

 private:
  /// \param accesses  where its accesses end
  TaskFunction& add(std::uint32_t accesses, int worker, int rank, TaskOptions&& options, const EventType* event) {
    Body::Task& task = body_->tasks.emplace_back();
    task.accesses = accesses;
    task.worker = worker;
    task.given_worker = options.worker;
    task.priority = options.priority;
    task.name = std::move(options.name);
    task.event = event;
    task.rank = rank;
    return task.function;
  }
  bool is_expected(std::span<const Access> accesses, const TaskOptions& options,
                   const EventType* event) const noexcept {
    if (accesses.empty() || size_ == expected_->tasks.size()) return false;
    const auto same = [](const Access& a, const Access& b) { return a.id == b.id && a.mode == b.mode; };
    const Body::Task& expected = expected_->tasks[size_];
    return options.worker == expected.given_worker && event == expected.event &&
           std::ranges::equal(accesses, expected_->accesses_of(size_), same);
  }
  void expect_no_more() {
    const auto end = size_ == 0 ? 0 : expected_->tasks[size_ - 1].accesses;
    body_->accesses.assign(expected_->accesses.begin(), expected_->accesses.begin() + end);
    expected_ = nullptr;
  }

  std::shared_ptr<Body> body_;  // null: none is recorded
  std::size_t size_ = 0;
  const Body* expected_ = nullptr;
  bool was_as_expected_ = false;
};

}  // namespace taskgrain::rt::detail
