#pragma once

/// Tasks as CUDA's kernels: what CUDA's compiler makes and other compilers call.

#include <cuda_runtime_api.h>

#include "task.hpp"

namespace taskgrain::device {

/// A task as a node of a CUDA Graph. \param arguments  room for one pointer, which must last as long as the result
cudaKernelNodeParams node_of(const Task& task, void** arguments);

/// Puts a task into a stream.
cudaError_t launch(const Task& task, cudaStream_t stream);

}  // namespace taskgrain::device
