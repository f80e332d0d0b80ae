#pragma once

/// Memory for the outputs of a graph's tasks, shared by all workers: a ring of steps. For systems on shared memory.

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
  /// \param depth  how many steps are kept, a power of two. With two, a task may overwrite its output of step t - 2 only when all tasks of
  ///               step t - 1 that read it are done: a system must see to that, too.
  explicit Outputs(const Graph& graph, std::size_t depth = 2)
      : graph_(&graph), depth_(depth), stride_((graph.output_bytes() + line - 1) / line * line) {
    const std::size_t width = static_cast<std::size_t>(graph.width());
    if (stride_ > SIZE_MAX / width / depth_) throw std::bad_alloc();
    bytes_ = depth_ * width * stride_;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(line, bytes_)));
    if (!memory_) throw std::bad_alloc();
    std::fill_n(memory_.get(), bytes_, std::byte{0xff});  // no task's output: what runs early is caught
  }

  std::byte* at(std::int64_t step, std::int64_t point) const noexcept {
    const std::size_t row = (static_cast<std::size_t>(step) & (depth_ - 1)) * static_cast<std::size_t>(graph_->width());
    return memory_.get() + (row + static_cast<std::size_t>(point)) * stride_;
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
  static constexpr std::size_t line = 64;  // no two points share a cache line

  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  const Graph* graph_;
  std::size_t depth_, stride_, bytes_ = 0;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace taskgrain
