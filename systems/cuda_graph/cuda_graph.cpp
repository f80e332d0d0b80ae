/// A CUDA Graph of a kernel node for each task, made and instantiated ahead and launched as one operation: CUDA's way
/// for a graph that is known. Nothing leaves the device while it runs.

#include <memory>
#include <string>
#include <vector>

#include "device.hpp"
#include "launch.hpp"
#include "plan.hpp"
#include "taskgrain/driver.hpp"

namespace {

using namespace taskgrain;
using device::check;

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

class Graphs {
 public:
  Graphs() { check(cudaGraphCreate(&graph_, 0), "cudaGraphCreate"); }
  ~Graphs() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;

  void add(const Execution& run, std::size_t g, const Part& part) {
    std::vector<cudaGraphNode_t> made;
    std::vector<cudaGraphNode_t> after;
    for (const Plan::Node& node : part.plan.nodes()) {
      const device::Task task =
          device::task_of(run, g, node.step, node.point, part.there(node.output), part.inputs.data() + node.first_input,
                          static_cast<std::int64_t>(node.inputs_number), part.account.shared());
      void* argument = nullptr;
      const cudaKernelNodeParams params = device::node_of(task, &argument);  // the graph copies what it points to
      after.clear();
      for (const std::size_t other : node.after) after.push_back(made[other]);
      check(cudaGraphAddKernelNode(&made.emplace_back(), graph_, after.data(), after.size(), &params),
            "cudaGraphAddKernelNode");
    }
  }

  void compile(cudaStream_t stream) {
    check(cudaGraphInstantiate(&executable_, graph_, 0), "cudaGraphInstantiate");
    check(cudaGraphUpload(executable_, stream), "cudaGraphUpload");
  }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch"); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

class CudaGraph final : public System {
 public:
  CudaGraph() {
    pin_this_thread(processor_);
    device::choose(0);
    stream_ = std::make_unique<device::Stream>();
  }

  std::string name() const override { return "cuda_graph"; }
  std::string version() const override { return device::version(); }
  int cores() const override { return 1; }  // the one that launches
  std::vector<std::vector<int>> binding() override { return {binding_of_this_thread()}; }

  void prepare(Execution& run) override {
    graphs_ = nullptr;
    parts_.clear();
    graphs_ = std::make_unique<Graphs>();
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      device::check_kernel(run.kernel(g), name());
      graphs_->add(run, g, *parts_.emplace_back(std::make_unique<Part>(run, g, device::blocks())));
    }
    graphs_->compile(*stream_);
    stream_->wait();
  }

  void execute(Execution&) override {
    graphs_->launch(*stream_);
    stream_->wait();
  }

  void settle(Execution& run) override {
    for (const auto& part : parts_) part->account.settle(run, run.context(0));
  }

 private:
  const int processor_ = taskgrain::cores().front();
  std::unique_ptr<device::Stream> stream_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::unique_ptr<Graphs> graphs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<CudaGraph>(argc, argv); }
