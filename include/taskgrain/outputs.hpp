#pragma once

/// Memory for the outputs of a graph's tasks, shared by all workers: a ring of steps. For systems on shared memory.
///
/// If it is known which core writes which column, small outputs of a core share cache lines, because a line costs the
/// same to fetch however full it is; and what two cores write lies apart, because processors also fetch what is next to
/// what they use. Otherwise no two outputs share a line.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "taskgrain/graph.hpp"

namespace taskgrain {

class Outputs {
 public:
  /// \param depth  how many steps are kept, a power of two. With two, a task may overwrite its output of step t - 2
  ///   only when all tasks of step t - 1 that read it are done: a system must see to that, too.
  /// \param cores  that share the columns, point i being of core `owner(graph, i, cores)`; 0: any core may write any
  explicit Outputs(const Graph& graph, std::size_t depth = 2, std::int64_t cores = 0)
      : graph_(&graph), depth_(depth), offsets_(static_cast<std::size_t>(graph.width())) {
    const std::size_t width = offsets_.size(), stride = stride_of(graph, cores);
    cores = std::max<std::int64_t>(1, cores);
    std::size_t columns = 0;  // of a core, at most
    for (std::int64_t point = 0, first = 0; point < graph.width(); ++point) {
      if (owner(graph, point, cores) != owner(graph, first, cores)) first = point;
      columns = std::max(columns, static_cast<std::size_t>(point - first + 1));
    }
    row_ = (columns * stride + pair - 1) / pair * pair;
    if (stride > SIZE_MAX / 8 / width / depth_) throw std::bad_alloc();
    std::size_t end = 0;
    for (std::int64_t point = 0, first = 0; point < graph.width(); ++point) {
      if (owner(graph, point, cores) != owner(graph, first, cores)) first = point, end += depth_ * row_ + apart;
      offsets_[static_cast<std::size_t>(point)] = end + static_cast<std::size_t>(point - first) * stride;
    }
    bytes_ = end + depth_ * row_;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(pair, bytes_)));
    if (!memory_) throw std::bad_alloc();
    std::fill_n(memory_.get(), bytes_, std::byte{0xff});  // no task's output: what runs early is caught
  }

  /// The core whose block of columns a point is in.
  static std::int64_t owner(const Graph& graph, std::int64_t point, std::int64_t cores) noexcept {
    return point * cores / graph.width();
  }
  /// Bytes from an output to the next of the same core.
  static std::size_t stride_of(const Graph& graph, std::int64_t cores) noexcept {
    const std::size_t unit = cores > 0 && graph.output_bytes() <= line / 2 ? 16 : line;
    return (graph.output_bytes() + unit - 1) / unit * unit;
  }

  std::byte* at(std::int64_t step, std::int64_t point) const noexcept {
    return memory_.get() + offsets_[static_cast<std::size_t>(point)] +
           (static_cast<std::size_t>(step) & (depth_ - 1)) * row_;
  }

  /// All of the memory, for systems that keep a copy elsewhere.
  std::span<std::byte> memory() const noexcept { return {memory_.get(), bytes_}; }

  /// The inputs of a task, in the order that `execute_point` wants; in `space`, which is reused from task to task.
  std::span<const std::byte* const> inputs(std::int64_t step, std::int64_t point,
                                           std::vector<const std::byte*>& space) const {
    space.clear();
    for (const Interval deps : graph_->deps(step, point))
      for (std::int64_t dep = deps.first; dep <= deps.last; ++dep) space.push_back(at(step - 1, dep));
    return space;
  }

 private:
  static constexpr std::size_t line = 64, pair = 2 * line;  // processors fetch lines in pairs
  static constexpr std::size_t apart = 2048 + pair;         // between the outputs of two cores

  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  const Graph* graph_;
  std::size_t depth_, row_ = 0, bytes_ = 0;
  std::vector<std::size_t> offsets_;  // by point, of its output in step 0
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace taskgrain
