#pragma once

/// The table of kernels. A kernel is one entry: what an iteration is worth, how it runs, what it needs and what it
/// refuses. docs/how-to/add-a-kernel.md adds one.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "taskgrain/kernel.hpp"

namespace taskgrain {

/// What a device does for a kernel; src/cuda/task.hpp has the code of each.
enum class DeviceWork : std::uint8_t {
  absent,   ///< no device can run the kernel
  nothing,  ///< the kernel does nothing there either
  chain,    ///< one lane runs a serial chain of integer operations
  fma,      ///< all lanes share the FMAs of compute_bound
  copy,     ///< all lanes copy the first half of a sample over the second
  axpy,     ///< all lanes add a multiple of the first half of a sample to the second
};

/// A kernel has a `loop` or a `run`. One that has neither does nothing, and executes no iterations.
struct KernelEntry {
  /// Of one iteration. A rate is in bytes per second if there are any, else in FLOP/s, else in iterations per second.
  struct Work {
    double flops = 0;
    double bytes = 0;
  };

  std::string_view name;
  /// Null: an iteration is neither FLOP nor bytes.
  Work (*work)(const KernelSpec&) = nullptr;
  /// The function that runs the iterations, for an instruction set. It is the quickest way to run a kernel, for those
  /// that need no more than the number of iterations.
  KernelLoop (*loop)(Isa) = nullptr;
  /// Runs the iterations of a kernel that needs more: its specification, the task, the worker's scratch.
  void (*run)(const KernelSpec&, std::int64_t iterations, const TaskId&, Scratch&) = nullptr;
  /// How many iterations a task has. Null: as many as the specification says.
  std::int64_t (*iterations)(const KernelSpec&, const TaskId&, std::uint64_t seed) = nullptr;
  /// The working set in bytes where the user does not choose one.
  std::size_t scratch_bytes = 0;
  /// Whether the kernel cuts its working set into samples and uses one of them per iteration.
  bool uses_samples = false;
  /// Whether the kernel calls BLAS, which not every build has.
  bool uses_blas = false;
  /// Throws InvalidSpec for what this kernel alone cannot take; null: it takes all that kernels take.
  void (*check)(const KernelSpec&) = nullptr;
  DeviceWork device = DeviceWork::absent;

  bool does_nothing() const noexcept { return loop == nullptr && run == nullptr; }
};

std::span<const KernelEntry> kernels() noexcept;

/// \throws InvalidSpec for a name that is not in the table.
const KernelEntry& kernel_from_name(std::string_view name);

}  // namespace taskgrain
