#pragma once

/// Host memory that a device copies from and to without help of a processor, and a place of the same size on the device
/// for each piece.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <memory_resource>

#include "device.hpp"

class Mirror : public std::pmr::memory_resource {
 public:
  struct Piece {
    std::byte* host;
    std::size_t bytes;
    std::byte* device;

    std::byte* there(const std::byte* here) const { return device + (here - host); }
    void up(cudaStream_t stream) const {
      taskgrain::device::check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    }
    void down(cudaStream_t stream) const {
      taskgrain::device::check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    }
  };

  /// The piece that a byte of the host lies in; it stays where it is until it is freed.
  const Piece& piece_of(const std::byte* here) const { return std::prev(pieces_.upper_bound(here))->second; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t /*alignment: that of pages*/) override {
    void* host = nullptr;
    void* device = nullptr;
    taskgrain::device::check(cudaHostAlloc(&host, bytes, cudaHostAllocDefault), "cudaHostAlloc");
    // No task's output: what runs early is caught.
    cudaError_t status = cudaMalloc(&device, bytes);
    if (status == cudaSuccess) status = cudaMemset(device, 0xff, bytes);
    if (status == cudaSuccess) status = cudaStreamSynchronize(nullptr);  // which other streams do not wait for
    if (status != cudaSuccess) {
      cudaFree(device);
      cudaFreeHost(host);
      taskgrain::device::check(status, "cudaMalloc, cudaMemset");
    }
    auto* const first = static_cast<std::byte*>(host);
    pieces_[first] = {first, bytes, static_cast<std::byte*>(device)};
    return host;
  }
  void do_deallocate(void* host, std::size_t, std::size_t) override {
    const auto piece = pieces_.find(static_cast<std::byte*>(host));
    cudaFree(piece->second.device);
    cudaFreeHost(host);
    pieces_.erase(piece);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::map<const std::byte*, Piece, std::less<>> pieces_;
};
