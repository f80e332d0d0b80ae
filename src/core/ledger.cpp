#include <cstdlib>
#include <string>

#include "taskgrain/error.hpp"
#include "taskgrain/execution.hpp"

namespace taskgrain {
namespace {

/// Columns of a power of two would all lie in one set of a cache: an odd number of lines each, where that costs next to
/// nothing.
std::size_t stride_of(std::size_t steps) {
  constexpr std::size_t line = 64;
  return steps < 32 * line ? steps : ((steps + line - 1) / line | 1) * line;
}

/// As many zeros as `graph` needs to be counted. calloc leaves large blocks unmapped until they are touched: by the
/// thread that runs the column.
template <typename T>
T* zeros(std::size_t count, const Graph& graph) {
  static_assert(sizeof(T) == sizeof(typename T::value_type));
  auto* const memory = static_cast<T*>(std::calloc(count, sizeof(T)));
  if (memory == nullptr)
    throw Unsupported("width: " + std::to_string(graph.width()) + " points take more memory to count than there is");
  return memory;
}

}  // namespace

void Ledger::Free::operator()(void* memory) const noexcept { std::free(memory); }

Ledger::Ledger(const Graph& graph)
    : steps_(static_cast<std::size_t>(graph.steps())), width_(static_cast<std::size_t>(graph.width())),
      stride_(stride_of(steps_)) {
  if (graph.steps() <= most_marks / graph.width())
    marks_.reset(zeros<std::atomic<std::uint8_t>>(stride_ * width_, graph));
  else
    columns_.reset(zeros<std::atomic<std::uint32_t>>(width_, graph));
}

bool Ledger::mark_column(std::int64_t point) noexcept {
  if (columns_ == nullptr) return false;
  columns_[static_cast<std::size_t>(point)].fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Ledger::clear() noexcept {
  if (!exact()) {
    for (std::size_t i = 0; i < width_; ++i) columns_[i].store(0, std::memory_order_relaxed);
  } else if (++epoch_ == 0) {
    for (std::size_t k = 0; k < stride_ * width_; ++k) marks_[k].store(0, std::memory_order_relaxed);
    epoch_ = 1;
  }
}

std::vector<std::uint32_t> Ledger::counts() const {
  std::vector<std::uint32_t> counts(exact() ? steps_ * width_ : width_);
  for (std::size_t k = 0; k < counts.size(); ++k)
    counts[k] = exact() ? marks_[k / steps_ * stride_ + k % steps_].load(std::memory_order_relaxed) == epoch_
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
      for (std::int64_t point = points.first; point <= points.last; ++point) {
        const auto count = counts[static_cast<std::size_t>(point) * steps_ + static_cast<std::size_t>(step)];
        if (count != 1) return wrong(count, 1, step, point);
      }
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
