/// A CUDA Graph of a kernel node for each task, made and instantiated ahead and launched as one operation: CUDA's way
/// for a graph that is known. Nothing leaves the device while it runs.

#include <memory>
#include <string>
#include <vector>

#include "device.hpp"
#include "kernel_graph.hpp"
#include "taskgrain/driver.hpp"

namespace {

using namespace taskgrain;

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
    graph_ = nullptr;
    parts_.clear();
    graph_ = std::make_unique<KernelGraph>();
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      device::check_kernel(run.kernel(g), name());
      const Part& part = *parts_.emplace_back(std::make_unique<Part>(run, g, device::blocks()));
      graph_->add(run, g, part, 0, part.plan.nodes().size());
    }
    graph_->compile(*stream_);
    stream_->wait();
  }

  void execute(Execution&) override {
    graph_->launch(*stream_);
    stream_->wait();
  }

  void settle(Execution& run) override {
    for (const auto& part : parts_) part->account.settle(run, run.context(0));
  }

 private:
  const int processor_ = taskgrain::cores().front();
  std::unique_ptr<device::Stream> stream_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::unique_ptr<KernelGraph> graph_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<CudaGraph>(argc, argv); }
