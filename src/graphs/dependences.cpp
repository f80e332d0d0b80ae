#include "dependences.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace taskgrain::graphs {

Dependences::Dependences(const std::vector<Numbers>& before) {
  const std::size_t size = before.size();
  std::vector<std::size_t> after_first(size + 1);
  for (const Numbers& of_task : before) {
    for (const std::uint32_t one : of_task) {
      if (one >= size) throw std::out_of_range("a dependence on a task that is not there");
      ++after_first[one + 1];
    }
    before_.insert(before_.end(), of_task.begin(), of_task.end());
    first_.push_back(before_.size());
  }
  for (std::size_t task = 0; task < size; ++task) after_first[task + 1] += after_first[task];
  Numbers after(before_.size());
  std::vector<std::size_t> next(after_first), left(size);
  for (std::uint32_t task = 0; task < size; ++task) {
    left[task] = first_[task + 1] - first_[task];
    for (const std::uint32_t one : this->before(task)) after[next[one]++] = task;
    if (left[task] == 0) order_.push_back(task);
  }
  for (std::size_t at = 0; at < order_.size(); ++at)
    for (std::size_t k = after_first[order_[at]]; k < after_first[order_[at] + 1]; ++k)
      if (--left[after[k]] == 0) order_.push_back(after[k]);
}

std::vector<double> Dependences::ends(const std::vector<double>& durations) const {
  std::vector<double> ends(durations.size());
  for (const std::uint32_t task : order_) {
    double begun = 0;
    for (const std::uint32_t one : before(task)) begun = std::max(begun, ends[one]);
    ends[task] = begun + durations[task];
  }
  return ends;
}

std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> Dependences::late() const {
  const std::size_t size = first_.size() - 1;
  std::vector<std::int32_t> levels(size), last(size, -1), last_but_one(size, -1);  // the steps of the latest readers
  for (const std::uint32_t task : order_) {
    for (const std::uint32_t one : before(task)) levels[task] = std::max(levels[task], levels[one] + 1);
    for (const std::uint32_t one : before(task)) {
      last_but_one[one] = std::max(last_but_one[one], std::min(last[one], levels[task]));
      last[one] = std::max(last[one], levels[task]);
    }
  }
  std::vector<std::int32_t> earliest_reader(size, std::numeric_limits<std::int32_t>::max());
  for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
    const std::uint32_t task = *at;
    if (last[task] >= 0) {
      std::int32_t later = earliest_reader[task] - 1;
      for (const std::uint32_t one : before(task))
        later = std::min(later, last[one] == levels[task] ? last_but_one[one] : last[one]);
      // Then no output that it reads is passed on for it alone, and `last` stays as it is.
      if (later > levels[task]) {
        levels[task] = later;
        for (const std::uint32_t one : before(task))
          last_but_one[one] = std::max(last_but_one[one], std::min(later, last[one]));
      }
    }
    for (const std::uint32_t one : before(task)) earliest_reader[one] = std::min(earliest_reader[one], levels[task]);
  }
  return {std::move(levels), std::move(last)};
}

}  // namespace taskgrain::graphs
