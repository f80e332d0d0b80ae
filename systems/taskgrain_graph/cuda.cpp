/// Compiled graphs whose tasks give work to a GPU. A task graph is a loop over segments of its tasks, each made ahead
/// as a CUDA Graph; an asynchronous task launches one after the other, in a stream of its own. What is between
/// segments stays on the device, and the host waits for it once, at the end.

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../cuda_graph/kernel_graph.hpp"
#include "taskgrain/driver.hpp"
#include "taskgrain/rt.hpp"

namespace {

using namespace taskgrain;
using device::check;

/// Kernels of a segment: the device works on one while the host launches the next.
constexpr std::size_t most_kernels = 256;

/// A task graph, segment by segment.
struct Loop {
  Loop(const Execution& run, std::size_t g) : part(run, g, device::blocks()) {
    for (std::size_t first = 0, nodes = part.plan.nodes().size(); first < nodes; first += most_kernels) {
      KernelGraph& segment = segments.emplace_back();
      segment.add(run, g, part, first, std::min(nodes, first + most_kernels));
      segment.compile(stream);
    }
    stream.wait();
  }

  cudaEvent_t start(const rt::Turn& turn, const rt::Issue<cudaEvent_t>& issue) const {
    const auto segment = static_cast<std::size_t>(turn.iteration);
    if (segment >= segments.size()) return issue.done(), end;  // another loop is longer
    for (const cudaEvent_t event : issue.after) check(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
    segments[segment].launch(stream);
    check(cudaEventRecord(end, stream), "cudaEventRecord");
    // In another stream: the device does not wait for the callback. It is called after errors, too.
    check(cudaStreamWaitEvent(callbacks, end, 0), "cudaStreamWaitEvent");
    void* const done = rt::Done(issue.done).release();
    const auto call = [](cudaStream_t, cudaError_t, void* pointer) { rt::Done::from(pointer)(); };
    if (const cudaError_t status = cudaStreamAddCallback(callbacks, call, done, 0); status != cudaSuccess) {
      rt::Done::from(done);
      check(status, "cudaStreamAddCallback");
    }
    return end;
  }

  Part part;
  device::Stream stream, callbacks;
  device::Event end;  // of the last segment that was launched
  std::deque<KernelGraph> segments;
};

class TaskgrainGraphCuda final : public System {
 public:
  TaskgrainGraphCuda() { device::choose(0); }

  std::string name() const override { return "taskgrain_graph"; }
  std::string version() const override { return std::string(rt::version) + ", CUDA " + device::version(); }
  int cores() const override { return runtime_.workers(); }
  std::vector<std::vector<int>> binding() override {
    return runtime_.on_each_worker([](int) { return binding_of_this_thread(); });
  }

  void prepare(Execution& run) override {
    compiled_.reset();
    loops_.clear();
    segments_ = 0;
    rt::TaskGraph body("body");
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      device::check_kernel(run.kernel(g), name());
      const Loop& loop = loops_.emplace_back(run, g);
      segments_ = std::max(segments_, std::ssize(loop.segments));
      const auto node = body.async_task<cudaEvent_t>(
          static_cast<int>(g) % cores(),
          [&loop](const rt::Turn& turn, const auto& issue) { return loop.start(turn, issue); },
          "segment of graph " + std::to_string(g));
      body.carried_edge(node, node);
    }
    compiled_.emplace(runtime_, std::move(body));
  }

  void execute(Execution&) override {
    compiled_->launch({.iterations = segments_});
    runtime_.wait();
    for (const Loop& loop : loops_) loop.stream.wait();  // throws what went wrong on the device
  }

  void settle(Execution& run) override {
    for (Loop& loop : loops_) loop.part.account.settle(run, run.context(0));
  }

 private:
  rt::Runtime runtime_{{.cores = taskgrain::cores()}};
  rt::Pinned pinned_{runtime_.cores()[0]};  // else `wait` does and undoes it each time
  std::deque<Loop> loops_;
  std::ptrdiff_t segments_ = 0;
  std::optional<rt::CompiledGraph> compiled_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TaskgrainGraphCuda>(argc, argv); }
