#include <cstdlib>
#include <new>

#include "taskgrain/execution.hpp"

namespace taskgrain {

void Ledger::Free::operator()(void* memory) const noexcept { std::free(memory); }

Ledger::Ledger(const Graph& graph)
    : steps_(static_cast<std::size_t>(graph.steps())), width_(static_cast<std::size_t>(graph.width())) {
  if (graph.steps() <= most_marks / graph.width()) {
    // calloc leaves large blocks unmapped until they are touched: by the thread that runs the column.
    static_assert(sizeof(std::atomic<std::uint8_t>) == 1);
    marks_.reset(static_cast<std::atomic<std::uint8_t>*>(std::calloc(steps_ * width_, 1)));
    if (!marks_) throw std::bad_alloc();
  } else {
    columns_ = std::make_unique<std::atomic<std::uint32_t>[]>(width_);
  }
}

void Ledger::clear() noexcept {
  if (!exact()) {
    for (std::size_t i = 0; i < width_; ++i) columns_[i].store(0, std::memory_order_relaxed);
  } else if (++epoch_ == 0) {
    for (std::size_t k = 0; k < steps_ * width_; ++k) marks_[k].store(0, std::memory_order_relaxed);
    epoch_ = 1;
  }
}

std::vector<std::uint32_t> Ledger::counts() const {
  std::vector<std::uint32_t> counts(exact() ? steps_ * width_ : width_);
  for (std::size_t k = 0; k < counts.size(); ++k)
    counts[k] = exact() ? marks_[k].load(std::memory_order_relaxed) == epoch_
                        : columns_[k].load(std::memory_order_relaxed);
  return counts;
}

std::optional<Violation> Ledger::compare(const Graph& graph, std::span<const std::uint32_t> counts) const {
  const auto wrong = [&](std::uint32_t count, std::uint32_t due, std::int64_t step, std::int64_t point) {
    return Violation{count > due ? ViolationKind::repeated : ViolationKind::skipped, graph.index(), step, point};
  };
  if (exact()) {
    for (std::int64_t step = 0; step < graph.steps(); ++step) {
      const Interval points = graph.points(step);
      for (std::int64_t point = points.first; point <= points.last; ++point)
        if (const auto count = counts[at(step, point)]; count != 1) return wrong(count, 1, step, point);
    }
    return std::nullopt;
  }
  std::vector<std::uint32_t> due(width_, 0);
  for (std::int64_t step = 0; step < graph.steps(); ++step) {
    const Interval points = graph.points(step);
    for (std::int64_t point = points.first; point <= points.last; ++point) ++due[static_cast<std::size_t>(point)];
  }
  for (std::size_t k = 0; k < width_; ++k)
    if (counts[k] != due[k]) return wrong(counts[k], due[k], -1, static_cast<std::int64_t>(k));
  return std::nullopt;
}

}  // namespace taskgrain
