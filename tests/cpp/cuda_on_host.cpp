/// Takes the place of CUDA's runtime and of a GPU, as far as the drivers use them, so that the drivers run where there
/// is none. What is put into a stream runs when the stream, or an event after it, is waited for and no sooner, so that
/// a wait that is missing shows; only a callback has a thread that waits for it. The nodes of a graph run in any order
/// that its edges allow; memory is garbage until it is written.
///
/// If the environment has TASKGRAIN_TEST_BAD_KERNEL=n, the n-th kernel fails, and from then on all that waits for the
/// device.

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "launch.hpp"

namespace {

using taskgrain::device::Task;

struct Queue {
  std::deque<std::function<void()>> work;
};
struct Event {
  Queue* in = nullptr;  // where it was recorded last
  std::shared_ptr<bool> happened = std::make_shared<bool>(true);
};
struct Nodes {
  struct Node {
    Task task;
    std::vector<std::size_t> after;
  };
  std::vector<Node> nodes;
};

/// The lanes of a whole device are more than a test has time for.
constexpr std::int64_t lanes = 5;

bool failed = false;

void run(const Task& task) {
  static const char* const bad = std::getenv("TASKGRAIN_TEST_BAD_KERNEL");
  static int number = 0;
  failed = failed || (bad != nullptr && ++number == std::atoi(bad));
  if (failed) return;
  for (std::int64_t lane = 0; lane < lanes; ++lane) taskgrain::device::execute(task, lane, lanes);
  task.shared.finished[task.point * task.steps + task.step] += task.shared.blocks;
}

void run(const Nodes& graph) {
  static std::mt19937 random(11);
  std::vector<std::size_t> waits, ready;
  std::vector<std::vector<std::size_t>> followers(graph.nodes.size());
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    waits.push_back(graph.nodes[k].after.size());
    for (const std::size_t other : graph.nodes[k].after) followers[other].push_back(k);
    if (waits[k] == 0) ready.push_back(k);
  }
  while (!ready.empty()) {
    std::swap(ready[std::uniform_int_distribution<std::size_t>(0, ready.size() - 1)(random)], ready.back());
    const std::size_t k = ready.back();
    ready.pop_back();
    run(graph.nodes[k].task);
    for (const std::size_t follower : followers[k])
      if (--waits[follower] == 0) ready.push_back(follower);
  }
}

cudaError_t status() { return failed ? cudaErrorIllegalAddress : cudaSuccess; }

Queue default_stream;
Queue& queue(cudaStream_t stream) { return stream == nullptr ? default_stream : *reinterpret_cast<Queue*>(stream); }
Event& event_of(cudaEvent_t event) { return *reinterpret_cast<Event*>(event); }

std::recursive_mutex device;  // protects all queues; held while work runs
using Locked = std::lock_guard<std::recursive_mutex>;

template <typename More>
void run_while(Queue& queue, More more) {
  while (!queue.work.empty() && more()) {
    const auto work = std::move(queue.work.front());
    queue.work.pop_front();
    work();
  }
}
void drain(Queue& queue) {
  const Locked locked(device);
  run_while(queue, [] { return true; });
}
void put(Queue& queue, std::function<void()> work) {
  const Locked locked(device);
  queue.work.push_back(std::move(work));
}

/// Waits for the streams that have callbacks, one after another.
class Callbacks {
 public:
  void wait_for(Queue& queue) {
    {
      const Locked locked(device);
      queues_.push_back(&queue);
    }
    some_.notify_one();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock locked(device);
    while (some_.wait(locked, stop, [&] { return !queues_.empty(); })) {
      Queue& next = *queues_.front();
      queues_.pop_front();
      drain(next);
    }
  }

  std::deque<Queue*> queues_;
  std::condition_variable_any some_;
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};
Callbacks& callbacks() {
  static Callbacks all;
  return all;
}

cudaError_t allocate(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*memory, 0x5a, bytes);
  return cudaSuccess;
}

}  // namespace

namespace taskgrain::device {

cudaKernelNodeParams node_of(const Task& task, void** arguments) {
  arguments[0] = const_cast<Task*>(&task);
  cudaKernelNodeParams params{};
  params.kernelParams = arguments;
  return params;
}

cudaError_t launch(const Task& task, cudaStream_t stream) {
  return put(queue(stream), [task] { run(task); }), cudaSuccess;
}

}  // namespace taskgrain::device

extern "C" {
cudaError_t cudaGetDeviceCount(int* number) { return *number = 1, cudaSuccess; }
cudaError_t cudaInitDevice(int, unsigned, unsigned) { return cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) { return *value = 3, cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "the host");
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error"; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) { return allocate(memory, bytes); }
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) { return allocate(memory, bytes); }
cudaError_t cudaFree(void* memory) { return drain(default_stream), std::free(memory), cudaSuccess; }
cudaError_t cudaFreeHost(void* memory) { return std::free(memory), cudaSuccess; }
// Of these, too, what writes to the device may return before it has; streams of the drivers' own do not wait for it.
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  return put(default_stream, [=] { std::memset(memory, value, bytes); }), cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDeviceToHost) {
    drain(default_stream);
    if (bytes > 0) std::memcpy(to, from, bytes);
    return status();
  }
  const auto* first = static_cast<const std::byte*>(from);
  put(default_stream, [to, staged = std::vector<std::byte>(first, first + bytes)] {
    if (!staged.empty()) std::memcpy(to, staged.data(), staged.size());
  });
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return put(queue(stream), [=] { std::memcpy(to, from, bytes); }), cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(new Queue);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return delete &queue(stream), cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  drain(queue(stream));
  return status();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete &event_of(event), cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Locked locked(device);
  event_of(event) = {&queue(stream), std::make_shared<bool>(false)};
  put(queue(stream), [happened = event_of(event).happened] { *happened = true; });
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Locked locked(device);
  put(queue(stream), [event = event_of(event)] { run_while(*event.in, [&] { return !*event.happened; }); });
  return cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void* argument, unsigned) {
  put(queue(stream), [=] { call(stream, status(), argument); });
  return callbacks().wait_for(queue(stream)), cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  return *graph = reinterpret_cast<cudaGraph_t>(new Nodes), cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return delete reinterpret_cast<Nodes*>(graph), cudaSuccess; }
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   std::size_t number, const cudaKernelNodeParams* params) {
  auto& nodes = reinterpret_cast<Nodes*>(graph)->nodes;
  auto& made = nodes.emplace_back(*static_cast<const Task*>(params->kernelParams[0]), std::vector<std::size_t>());
  for (std::size_t k = 0; k < number; ++k) made.after.push_back(reinterpret_cast<std::size_t>(after[k]) - 1);
  *node = reinterpret_cast<cudaGraphNode_t>(nodes.size());
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = reinterpret_cast<cudaGraphExec_t>(new Nodes(*reinterpret_cast<Nodes*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return delete reinterpret_cast<Nodes*>(executable), cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return put(queue(stream), [executable] { run(*reinterpret_cast<Nodes*>(executable)); }), cudaSuccess;
}
}
