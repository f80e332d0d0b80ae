#pragma once

/// A small executor that runs any graph right, and lets a test run it wrong.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "specs.hpp"
#include "taskgrain/execution.hpp"

namespace taskgrain {

using Bytes = std::vector<std::byte>;
using Task = std::array<std::int64_t, 2>;  // (step, point)

/// A task as the executor is about to run it.
struct Call {
  std::size_t graph;
  std::int64_t step, point;
  std::vector<Bytes> inputs;
  int times = 1;
};

/// Executes the graphs of a run step by step, every task with its own copies of its inputs. `change` may spoil a call.
class Executor {
 public:
  explicit Executor(Execution& run) : run_(run) {
    for (const Graph& graph : run.graphs()) {
      auto& outputs = outputs_.emplace_back();
      for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
        outputs[{step, point}] = Bytes(graph.output_bytes(), std::byte{0xff});
      });
    }
  }

  void execute(const std::function<void(Call&)>& change = [](Call&) {}) {
    for (std::int64_t step = 0; step < run_.most_steps(); ++step) {
      for (std::size_t g = 0; g < outputs_.size(); ++g) {
        const Interval points = run_.graphs()[g].points(step);
        for (std::int64_t point = points.first; point <= points.last; ++point) {
          Call call{g, step, point, inputs(g, step, point)};
          change(call);
          for (int n = 0; n < call.times; ++n) execute(run_.context(0), call);
        }
      }
    }
  }

  void execute(ThreadContext& context, const Call& call) {
    Bytes output(run_.graphs()[call.graph].output_bytes());
    std::vector<const std::byte*> inputs;
    for (const Bytes& input : call.inputs) inputs.push_back(input.data());
    run_.execute_point(context, call.graph, call.step, call.point, output.data(), inputs);
    outputs_[call.graph][{call.step, call.point}] = output;
  }

  /// Copies of what the task depends on, as it is now.
  std::vector<Bytes> inputs(std::size_t g, std::int64_t step, std::int64_t point) const {
    std::vector<Bytes> copies;
    for (const std::int64_t dep : points_of(run_.graphs()[g].deps(step, point)))
      copies.push_back(outputs_[g].at({step - 1, dep}));
    return copies;
  }

 private:
  Execution& run_;
  std::vector<std::map<Task, Bytes>> outputs_;
};

/// What a task writes, by definition: (step, point) over and over, with the graph, counted from 1, in the bytes above
/// the step's fifth.
inline Bytes output_of(std::int64_t graph, std::int64_t step, std::int64_t point, std::size_t bytes) {
  const std::int64_t cell[] = {step + (graph + 1) * 0x100'0000'0000, point};
  Bytes output(bytes);
  for (std::size_t k = 0; k < bytes; ++k) output[k] = reinterpret_cast<const std::byte*>(cell)[k % sizeof cell];
  return output;
}

/// Bytes of an output, of whole cells and others.
inline constexpr std::size_t sizes[] = {16, 17, 40, 4096, 65536 + 8};

inline GraphSpec graph_of(std::string_view pattern, std::size_t output_bytes = 16) {
  if (pattern_from_name(pattern).from_file)
    return {.pattern = std::string(pattern), .dag = random_dag_file(5), .output_bytes = output_bytes};
  return {.pattern = std::string(pattern), .steps = 12, .width = 6, .fraction = 0.6, .output_bytes = output_bytes};
}

/// The first task from step 4 on with at least that many dependences and readers.
inline std::optional<Task> task_with(const Graph& graph, std::int64_t deps, std::int64_t readers = 0) {
  std::optional<Task> found;
  for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
    if (!found && step >= 4 && graph.deps(step, point).count() >= deps &&
        graph.reverse_deps(step, point).count() >= readers)
      found = {step, point};
  });
  return found;
}

}  // namespace taskgrain
