#pragma once

/// Histories of an offer, and whether they are linearisable: whether there is an order of the operations, each at a
/// moment between its beginning and its end, in which a sequential offer would have answered the same. Found by trying
/// all orders.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <ostream>
#include <ranges>
#include <utility>
#include <vector>

namespace taskgrain::rt::detail {

struct Operation {
  enum Kind { make, add, take_newest, take_oldest, steal } kind;
  std::vector<std::uint64_t> numbers;  // of the entries that were offered or taken, oldest first
  // Moments of one clock; without them operations of different threads may come in any order.
  std::uint64_t begin = 0, end = std::numeric_limits<std::uint64_t>::max();
};

/// The operations of each thread, in its order, on an offer with `content`, oldest first.
struct History {
  std::deque<std::uint64_t> content;
  std::vector<std::vector<Operation>> threads;
};

inline std::ostream& operator<<(std::ostream& out, const History& history) {
  constexpr const char* names[] = {"make", "add", "take_newest", "take_oldest", "steal"};
  out << "an offer of";
  for (const std::uint64_t number : history.content) out << ' ' << number;
  for (std::size_t thread = 0; thread < history.threads.size(); ++thread) {
    out << "\n  thread " << thread << ':';
    for (const auto& [kind, numbers, begin, end] : history.threads[thread]) {
      out << ' ' << names[kind];
      for (const std::uint64_t number : numbers) out << ' ' << number;
      if (numbers.empty()) out << " none";
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
    const auto& numbers = operation.numbers;
    if (operation.kind == Operation::make) return content_.empty();
    if (operation.kind == Operation::add) return content_.empty() == numbers.empty();
    if (numbers.empty())
      return content_.empty() || (operation.kind == Operation::steal && another_changed_it(operation, thread));
    if (numbers.size() > content_.size()) return false;
    const std::size_t first = operation.kind == Operation::take_newest ? content_.size() - numbers.size() : 0;
    return std::ranges::equal(numbers, content_ | std::views::drop(first) | std::views::take(numbers.size()));
  }

  /// Whether somebody else took or added entries while the operation lasted.
  bool another_changed_it(const Operation& operation, std::size_t thread) const {
    for (std::size_t other = 0; other < history_.threads.size(); ++other)
      if (other != thread)
        for (const Operation& its : history_.threads[other])
          if (!its.numbers.empty() && its.kind != Operation::make && its.begin <= operation.end &&
              operation.begin <= its.end)
            return true;
    return false;
  }

  void apply(const Operation& operation) {
    for (const std::uint64_t number : operation.numbers) {
      if (operation.kind <= Operation::add)
        content_.push_back(number);
      else if (operation.kind == Operation::take_newest)
        content_.pop_back();
      else
        content_.pop_front();
    }
  }
  void undo(const Operation& operation) {
    const auto& numbers = operation.numbers;
    if (operation.kind <= Operation::add)
      content_.resize(content_.size() - numbers.size());
    else
      content_.insert(operation.kind == Operation::take_newest ? content_.end() : content_.begin(), numbers.begin(),
                      numbers.end());
  }

  const History& history_;
  std::deque<std::uint64_t> content_;
  std::vector<std::size_t> next_;  // operation of each thread that is not in the order yet
};

inline bool linearisable(const History& history) { return Linearisation(history).exists(); }

}  // namespace taskgrain::rt::detail
