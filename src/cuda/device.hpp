#pragma once

/// CUDA for drivers: checked calls, owned memory, and what the device keeps of an execution.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "booking.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain::device {

/// \throws std::bad_alloc (which drivers report as unsupported), std::runtime_error
inline void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the next call starts afresh, where it can
  if (status == cudaErrorMemoryAllocation) throw std::bad_alloc();
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

/// Waits for what copies and sets on the default stream have left to do when they return: other streams do not.
inline void wait_for_default_stream() { check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize"); }

/// Makes the k-th GPU, counted round, the calling thread's. \throws Unsupported if there is none
inline void choose(int k) {
  int number = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&number); status != cudaSuccess || number == 0)
    throw Unsupported(std::string("needs an NVIDIA GPU with its driver: ") +
                      (status != cudaSuccess ? cudaGetErrorString(status) : "there is none"));
  // A host thread that waits for a task of microseconds must not sleep.
  check(cudaInitDevice(k % number, cudaDeviceScheduleSpin, cudaInitDeviceFlagsAreValid), "cudaInitDevice");
  check(cudaSetDevice(k % number), "cudaSetDevice");
}

inline int attribute(cudaDeviceAttr wanted) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, wanted, device), "cudaDeviceGetAttribute");
  return value;
}

/// A block of each task for each multiprocessor: a task can use the whole device.
inline unsigned blocks() { return static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount)); }

/// Runtime, and GPU.
inline std::string version() {
  int device = 0, runtime = 0;
  cudaDeviceProp properties{};
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10) + " on " + properties.name;
}

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  operator cudaStream_t() const noexcept { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// What streams wait for: the work of a stream up to a place.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const noexcept { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// So many `T` on the device.
template <typename T>
class Memory {
 public:
  explicit Memory(std::size_t number) : number_(number) {
    void* data = nullptr;
    check(cudaMalloc(&data, std::max<std::size_t>(1, number) * sizeof(T)), "cudaMalloc");
    data_.reset(static_cast<T*>(data));
  }
  explicit Memory(std::span<const T> host) : Memory(host.size()) { write(host); }

  T* data() const noexcept { return data_.get(); }
  void write(std::span<const T> host) {
    check(cudaMemcpy(data(), host.data(), host.size_bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
    wait_for_default_stream();
  }
  void read(std::span<T> host) const {
    check(cudaMemcpy(host.data(), data(), host.size_bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  }
  void clear() {
    check(cudaMemset(data(), 0, number_ * sizeof(T)), "cudaMemset");
    wait_for_default_stream();
  }

 private:
  struct Free {
    void operator()(T* data) const noexcept { cudaFree(data); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t number_;
};

/// The books and the working set of a graph, on the device.
class Account {
 public:
  Account(const Execution& run, std::size_t graph, unsigned blocks, bool distributed)
      : graph_(graph), fresh_(run.graphs()[graph]), finished_(std::span<const unsigned>(fresh_.finished)),
        wrong_(std::span<const Wrong>(&fresh_.wrong, 1)), sink_(std::span<const double>(&fresh_.sink, 1)),
        scratch_(std::span<const double>(scratch_of(run.kernel(graph)))),
        shared_{finished_.data(), wrong_.data(), sink_.data(), reinterpret_cast<std::byte*>(scratch_.data()),
                blocks,           distributed} {}

  const Shared& shared() const noexcept { return shared_; }

  /// Books what was done since the last time, and forgets it. \pre the device is idle
  void settle(Execution& run, ThreadContext& context) {
    Books books = fresh_;
    finished_.read(books.finished);
    wrong_.read(std::span(&books.wrong, 1));
    sink_.read(std::span(&books.sink, 1));
    device::settle(run, context, graph_, books, shared_.blocks);
    finished_.clear();
    wrong_.clear();
    sink_.write(std::span<const double>(&fresh_.sink, 1));
  }

 private:
  std::size_t graph_;
  Books fresh_;
  Memory<unsigned> finished_;
  Memory<Wrong> wrong_;
  Memory<double> sink_;
  Memory<double> scratch_;
  Shared shared_;
};

}  // namespace taskgrain::device
