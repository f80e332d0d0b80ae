#include "launch.hpp"

namespace taskgrain::device {
namespace {

__global__ void __launch_bounds__(block_lanes) run_task(const __grid_constant__ Task task) {
  execute(task, static_cast<std::int64_t>(blockIdx.x) * block_lanes + threadIdx.x,
          static_cast<std::int64_t>(gridDim.x) * block_lanes);
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();  // what all of the block wrote is visible on the device before the block counts itself
  atomicAdd(task.shared.finished + task.point * task.steps + task.step, 1U);
}

}  // namespace

cudaKernelNodeParams node_of(const Task& task, void** arguments) {
  arguments[0] = const_cast<Task*>(&task);
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(run_task);
  params.gridDim = dim3(task.shared.blocks);
  params.blockDim = dim3(block_lanes);
  params.kernelParams = arguments;
  return params;
}

cudaError_t launch(const Task& task, cudaStream_t stream) {
  run_task<<<task.shared.blocks, block_lanes, 0, stream>>>(task);
  return cudaPeekAtLastError();
}

}  // namespace taskgrain::device
