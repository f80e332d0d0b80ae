#pragma once

/// Histories of a deque, and whether they are linearisable: whether there is an order of the operations, each at a
/// moment between its beginning and its end, in which a sequential deque would have answered the same. Found by trying
/// all orders.

#include <cstdint>
#include <deque>
#include <limits>
#include <ostream>
#include <utility>
#include <vector>

namespace taskgrain::rt::detail {

struct Operation {
  enum Kind { push, pop, steal } kind;
  std::uint64_t number;  // pushed or taken
  bool done;             // what the operation returned
  // Moments of one clock; without them operations of different threads may come in any order.
  std::uint64_t begin = 0, end = std::numeric_limits<std::uint64_t>::max();
};

/// The operations of each thread, in its order, on a deque with `content`, oldest first.
struct History {
  std::size_t capacity;
  std::deque<std::uint64_t> content;
  std::vector<std::vector<Operation>> threads;
};

inline std::ostream& operator<<(std::ostream& out, const History& history) {
  out << "a deque of";
  for (const std::uint64_t number : history.content) out << ' ' << number;
  for (std::size_t thread = 0; thread < history.threads.size(); ++thread) {
    out << "\n  thread " << thread << ':';
    for (const auto& [kind, number, done, begin, end] : history.threads[thread]) {
      out << ' ' << (kind == Operation::push ? "push " : kind == Operation::pop ? "pop " : "steal ");
      done || kind == Operation::push ? out << number : out << "none";
      if (!done && kind == Operation::push) out << " refused";
      if (begin < end && begin != 0) out << " [" << begin << ", " << end << ']';
      out << ';';
    }
  }
  return out;
}

class Linearisation {
 public:
  explicit Linearisation(const History& history)
      : history_(history), content_(history.content), next_(history.threads.size(), 0) {}

  bool exists() {
    bool any_left = false;
    for (std::size_t thread = 0; thread < next_.size(); ++thread) {
      if (next_[thread] == history_.threads[thread].size()) continue;
      any_left = true;
      const Operation& operation = history_.threads[thread][next_[thread]];
      if (ended_before(operation, thread) || !allowed(operation, thread)) continue;
      ++next_[thread];
      apply(operation);
      if (exists()) return true;
      undo(operation);
      --next_[thread];
    }
    return !any_left;
  }

 private:
  /// Whether another operation that is still to come had ended before this one began.
  bool ended_before(const Operation& operation, std::size_t thread) const {
    for (std::size_t other = 0; other < next_.size(); ++other)
      if (other != thread && next_[other] < history_.threads[other].size() &&
          history_.threads[other][next_[other]].end < operation.begin)
        return true;
    return false;
  }

  bool allowed(const Operation& operation, std::size_t thread) const {
    switch (operation.kind) {
      case Operation::push:
        return operation.done == (content_.size() < history_.capacity);
      case Operation::pop:
        return operation.done ? !content_.empty() && content_.back() == operation.number : content_.empty();
      case Operation::steal:
        if (operation.done) return !content_.empty() && content_.front() == operation.number;
        return content_.empty() || another_was_quicker(operation, thread);
    }
    return false;
  }

  /// Whether somebody else took an entry while the operation lasted.
  bool another_was_quicker(const Operation& operation, std::size_t thread) const {
    for (std::size_t other = 0; other < history_.threads.size(); ++other)
      if (other != thread)
        for (const Operation& its : history_.threads[other])
          if (its.done && its.kind != Operation::push && its.begin <= operation.end && operation.begin <= its.end)
            return true;
    return false;
  }

  void apply(const Operation& operation) {
    if (!operation.done) return;
    if (operation.kind == Operation::push) content_.push_back(operation.number);
    if (operation.kind == Operation::pop) content_.pop_back();
    if (operation.kind == Operation::steal) content_.pop_front();
  }
  void undo(const Operation& operation) {
    if (!operation.done) return;
    if (operation.kind == Operation::push) content_.pop_back();
    if (operation.kind == Operation::pop) content_.push_back(operation.number);
    if (operation.kind == Operation::steal) content_.push_front(operation.number);
  }

  const History& history_;
  std::deque<std::uint64_t> content_;
  std::vector<std::size_t> next_;  // operation of each thread that is not in the order yet
};

inline bool linearisable(const History& history) { return Linearisation(history).exists(); }

}  // namespace taskgrain::rt::detail
