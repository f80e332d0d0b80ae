/// A task as an op of TensorFlow: its inputs are the outputs of the tasks that it depends on.

#include <tensorflow/core/framework/op.h>
#include <tensorflow/core/framework/op_kernel.h>
#include <tensorflow/core/framework/shape_inference.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "taskgrain/binding.hpp"
#include "taskgrain/execution.hpp"

namespace {

using namespace taskgrain;
namespace tf = tensorflow;
using Shapes = tf::shape_inference::InferenceContext;

/// The threads of TensorFlow that run ops, in the order in which they first did, each bound to a processor of its own.
struct Team {
  const std::vector<int> processors = cores();
  std::vector<std::vector<int>> binding{processors.size()};
  std::atomic<std::size_t> entered{0}, bound{0};
  Execution* run = nullptr;
  std::vector<ThreadContext*> workers;

  std::size_t place() {
    thread_local const std::size_t own = enter();
    return own;
  }

 private:
  std::size_t enter() {
    const std::size_t own = entered.fetch_add(1);
    if (own < processors.size()) {
      pin_this_thread(processors[own]);
      binding[own] = binding_of_this_thread();
      bound.fetch_add(1);
    }
    return own;
  }
};

Team& team() {
  static Team one;
  return one;
}

class Task final : public tf::OpKernel {
 public:
  explicit Task(tf::OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("dependences", &dependences_));
    OP_REQUIRES_OK(context, context->GetAttr("bytes", &bytes_));
    std::vector<std::int64_t> task;
    OP_REQUIRES_OK(context, context->GetAttr("task", &task));
    OP_REQUIRES(context, task.size() == 3, absl::InvalidArgumentError("task: graph, step and point"));
    graph_ = static_cast<std::size_t>(task[0]), step_ = task[1], point_ = task[2];
  }

  void Compute(tf::OpKernelContext* context) override {
    tf::Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, {bytes_}, &output));
    Team& here = team();
    if (here.run == nullptr) return;  // TensorFlow prepares
    const std::size_t place = here.place();
    OP_REQUIRES(context, place < here.workers.size(), absl::InternalError("more threads than cores run tasks"));
    absl::InlinedVector<const std::byte*, 8> inputs(static_cast<std::size_t>(dependences_));
    for (int k = 0; k < dependences_; ++k)
      inputs[static_cast<std::size_t>(k)] = static_cast<const std::byte*>(context->input(k).data());
    here.run->execute_point(*here.workers[place], graph_, step_, point_, static_cast<std::byte*>(output->data()),
                            inputs);
  }

 private:
  int dependences_;
  std::size_t graph_;
  std::int64_t step_, point_, bytes_;
};

/// Holds its thread until all have been seen, so that each gets its place before the first run.
class Enter final : public tf::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tf::OpKernelContext* context) override {
    try {
      team().place();
    } catch (const std::exception& error) {
      return context->SetStatus(absl::InternalError(error.what()));
    }
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (team().bound < team().processors.size() && std::chrono::steady_clock::now() < give_up)
      std::this_thread::yield();
    context->set_output(0, context->input(0));
  }
};

// Ops without a state: TensorFlow runs those that have one in the order of the program. That none is computed ahead as
// a constant or merged with another, the input `start` and the attributes see to.
REGISTER_OP("TaskgrainTask")
    .Input("inputs: dependences * uint8")
    .Input("start: starts * uint8")
    .Output("output: uint8")
    .Attr("dependences: int >= 0")
    .Attr("starts: int >= 0")
    .Attr("task: list(int)")
    .Attr("bytes: int")
    .SetShapeFn([](Shapes* shapes) {
      std::int64_t bytes = 0;
      TF_RETURN_IF_ERROR(shapes->GetAttr("bytes", &bytes));
      shapes->set_output(0, shapes->Vector(bytes));
      return absl::OkStatus();
    });
REGISTER_KERNEL_BUILDER(Name("TaskgrainTask").Device(tf::DEVICE_CPU), Task);

REGISTER_OP("TaskgrainEnter")
    .Input("start: uint8")
    .Output("output: uint8")
    .Attr("worker: int")
    .SetShapeFn([](Shapes* shapes) {
      shapes->set_output(0, shapes->input(0));
      return absl::OkStatus();
    });
REGISTER_KERNEL_BUILDER(Name("TaskgrainEnter").Device(tf::DEVICE_CPU), Enter);

}  // namespace

/// Whose tasks the ops run from now on; 0: nobody's, they only make their outputs.
extern "C" void taskgrain_use(Execution* run) {
  team().run = run;
  if (run != nullptr) team().workers = run->contexts(static_cast<int>(team().processors.size()));
}

/// Writes the processors of a worker, at most `capacity`. \returns how many there are
extern "C" std::size_t taskgrain_binding(std::size_t worker, int* processors, std::size_t capacity) {
  const std::vector<int>& binding = team().binding[worker];
  std::copy_n(binding.begin(), std::min(capacity, binding.size()), processors);
  return binding.size();
}
