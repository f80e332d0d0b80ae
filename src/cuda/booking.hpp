#pragma once

/// Between an execution and tasks on a device: what a task there must know, and what is booked of what was done there.
/// On the host, without CUDA.

#include <span>
#include <string>
#include <vector>

#include "task.hpp"
#include "taskgrain/execution.hpp"

namespace taskgrain::device {

/// The most tasks of a graph: the device keeps a number for each.
inline constexpr std::int64_t most_tasks = std::int64_t{1} << 28;

/// What the device keeps for a graph before a run, and after it.
struct Books {
  explicit Books(const Graph& graph);

  std::vector<unsigned> finished;  ///< as in `Shared`
  Wrong wrong{};
  double sink = -1;
};

/// \throws Unsupported for kernels that no device has
void check_kernel(const Kernel& kernel, const std::string& system);

/// Numbers that memory kernels start with.
std::vector<double> scratch_of(const Kernel& kernel);

/// The inputs of a task, which lie at `data`, in increasing order of points.
/// \throws std::logic_error if there are not as many as dependences
void append_inputs(const Graph& graph, std::int64_t step, std::int64_t point, std::span<const std::byte* const> data,
                   std::vector<Input>& inputs);

/// A task, complete but for `inputs`, which are where the device will find them.
Task task_of(const Execution& run, std::size_t graph, std::int64_t step, std::int64_t point, std::byte* output,
             const Input* inputs, std::int64_t inputs_number, const Shared& shared);

/// Books what a device has done for a graph. A task that not all blocks have finished as often counts as not executed.
void settle(Execution& run, ThreadContext& context, std::size_t graph, const Books& books, unsigned blocks);

}  // namespace taskgrain::device
