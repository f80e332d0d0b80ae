/// Takes the place of CUDA's runtime and of a GPU, as far as the drivers use them, so that the drivers run where there
/// is none. What is put into a stream runs when the stream is waited for and no sooner, so that a wait that is missing
/// shows; the nodes of a graph run in any order that its edges allow; memory is garbage until it is written.

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "launch.hpp"

namespace {

using taskgrain::device::Task;

struct Queue {
  std::vector<std::function<void()>> work;
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

void run(const Task& task) {
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

Queue default_stream;
Queue& queue(cudaStream_t stream) { return stream == nullptr ? default_stream : *reinterpret_cast<Queue*>(stream); }

void drain(Queue& queue) {
  for (const auto& work : queue.work) work();
  queue.work.clear();
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
  queue(stream).work.push_back([task] { run(task); });
  return cudaSuccess;
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
  default_stream.work.push_back([=] { std::memset(memory, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDeviceToHost) {
    drain(default_stream);
    if (bytes > 0) std::memcpy(to, from, bytes);
    return cudaSuccess;
  }
  const auto* first = static_cast<const std::byte*>(from);
  default_stream.work.push_back([to, staged = std::vector<std::byte>(first, first + bytes)] {
    if (!staged.empty()) std::memcpy(to, staged.data(), staged.size());
  });
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  queue(stream).work.push_back([=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(new Queue);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return delete &queue(stream), cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  drain(queue(stream));
  return cudaSuccess;
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
  queue(stream).work.push_back([executable] { run(*reinterpret_cast<Nodes*>(executable)); });
  return cudaSuccess;
}
}
