#pragma once

/// Tasks as kernel nodes of CUDA Graphs.

#include <cstddef>
#include <span>
#include <vector>

#include "device.hpp"
#include "launch.hpp"
#include "plan.hpp"

namespace taskgrain {

/// A task graph's memory on the device.
struct Part {
  Part(const Execution& run, std::size_t g, unsigned blocks)
      : plan(run.graphs()[g]), account(run, g, blocks, false), outputs(std::span<const std::byte>(plan.memory())),
        inputs(std::span<const device::Input>(there(plan.inputs()))) {}

  /// Where on the device a byte of the plan's memory lies.
  std::byte* there(const std::byte* here) const { return outputs.data() + (here - plan.memory().data()); }
  std::vector<device::Input> there(std::vector<device::Input> all) const {
    for (device::Input& input : all) input.data = there(input.data);
    return all;
  }

  Plan plan;
  device::Account account;
  device::Memory<std::byte> outputs;
  device::Memory<device::Input> inputs;
};

class KernelGraph {
 public:
  KernelGraph() { device::check(cudaGraphCreate(&graph_, 0), "cudaGraphCreate"); }
  ~KernelGraph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  KernelGraph(const KernelGraph&) = delete;
  KernelGraph& operator=(const KernelGraph&) = delete;

  /// Adds nodes of a part, from `first` to before `last`. Those before `first` are in a graph that ends before this one
  /// is launched.
  void add(const Execution& run, std::size_t g, const Part& part, std::size_t first, std::size_t last) {
    std::vector<cudaGraphNode_t> made;
    std::vector<cudaGraphNode_t> after;
    for (const Plan::Node& node : std::span(part.plan.nodes()).subspan(first, last - first)) {
      const device::Task task =
          device::task_of(run, g, node.step, node.point, part.there(node.output), part.inputs.data() + node.first_input,
                          static_cast<std::int64_t>(node.inputs_number), part.account.shared());
      void* argument = nullptr;
      const cudaKernelNodeParams params = device::node_of(task, &argument);  // the graph copies what it points to
      after.clear();
      for (const std::size_t other : node.after)
        if (other >= first) after.push_back(made[other - first]);
      device::check(cudaGraphAddKernelNode(&made.emplace_back(), graph_, after.data(), after.size(), &params),
                    "cudaGraphAddKernelNode");
    }
  }

  void compile(cudaStream_t stream) {
    device::check(cudaGraphInstantiate(&executable_, graph_, 0), "cudaGraphInstantiate");
    device::check(cudaGraphUpload(executable_, stream), "cudaGraphUpload");
  }
  void launch(cudaStream_t stream) const { device::check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch"); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace taskgrain
