#pragma once

/// Kernels: what a task computes. DESIGN: the duration of a task is set by `iterations` alone.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace taskgrain {

enum class KernelKind : std::uint8_t {
  empty,           ///< nothing
  busy_wait,       ///< a serial chain of integer operations
  compute_bound,   ///< 64 doubles, one FMA each per iteration
  memory_bound,    ///< copies one sample of the scratch per iteration
  load_imbalance,  ///< compute_bound, iterations scaled by 1 + (u - 0.5) * imbalance
  compute_dgemm,   ///< C += A * B on the scratch, by BLAS
  memory_daxpy,    ///< y += x on one sample of the scratch per iteration, by BLAS
  io_bound,        ///< writes and reads back one sample of a file per iteration
};

/// Instruction set of the compute kernel.
enum class Isa : std::uint8_t { automatic, avx512, avx2, neon, portable };

/// What efficiency is made of.
enum class WorkUnit : std::uint8_t { flop, byte, iteration };

/// fields.hpp describes each of these members to requests, flags and Python.
struct KernelSpec {
  KernelKind kind = KernelKind::compute_bound;
  /// How often the kernel's body runs; >= 0.
  std::int64_t iterations = 0;
  /// Spread of `load_imbalance`, 0 to 2: iterations lie within 1 ± imbalance / 2 of their mean.
  double imbalance = 0.0;
  /// Whether a point keeps its imbalance in every step.
  bool persistent = false;
  /// Working set of one worker in bytes; 0: the kernel's default (`default_scratch_bytes`).
  std::size_t scratch_bytes = 0;
  /// Into how many samples the working set of a memory or io kernel is cut; one is used per iteration.
  std::int64_t samples = 16;
};

/// Which task a kernel runs for; `u` of the imbalance is hashed from it.
struct TaskId {
  std::int64_t graph;
  std::int64_t step;
  std::int64_t point;
};

std::string_view name(KernelKind kind) noexcept;
std::string_view name(Isa isa) noexcept;
std::string_view name(WorkUnit unit) noexcept;
std::span<const std::string_view> kernel_names() noexcept;

/// \throws InvalidSpec for a name that is not in the table.
KernelKind kernel_from_name(std::string_view name);
Isa isa_from_name(std::string_view name);

std::size_t default_scratch_bytes(KernelKind kind) noexcept;

/// What `automatic` means on this processor.
Isa best_isa() noexcept;

/// Runs `iterations` of the compute_bound body: 64 doubles, one FMA each, 128 FLOP per iteration.
using ComputeBound = void (*)(std::int64_t iterations) noexcept;

/// \throws Unsupported if the processor or the build lacks `isa`.
ComputeBound compute_bound(Isa isa);

/// The memory that one worker's kernels use: allocated and written on first need, so that it lies near the worker.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(Scratch&&) noexcept;
  Scratch& operator=(Scratch&&) noexcept;
  /// At least `bytes`, aligned to a cache line, holding finite doubles.
  std::byte* memory(std::size_t bytes);
  /// Descriptor of an unlinked temporary file of at least `bytes`.
  int file(std::size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t memory_bytes_ = 0;
  std::size_t file_bytes_ = 0;
  int file_ = -1;
};

/// A kernel that is ready to run: specification checked, instruction set chosen.
class Kernel {
 public:
  /// \throws InvalidSpec, Unsupported (no BLAS in this build, instruction set missing)
  Kernel(const KernelSpec& spec, Isa isa, std::uint64_t seed = 0);

  /// Runs it for one task and returns the iterations that ran.
  std::int64_t operator()(const TaskId& task, Scratch& scratch) const {
    switch (spec_.kind) {
      case KernelKind::empty:
        return 0;
      case KernelKind::compute_bound:
        compute_bound_(spec_.iterations);
        return spec_.iterations;
      default:
        return run(task, scratch);
    }
  }

  /// The iterations that run for a task.
  std::int64_t iterations_of(const TaskId& task) const noexcept;

  const KernelSpec& spec() const noexcept { return spec_; }
  double flops_per_iteration() const noexcept { return flops_per_iteration_; }
  double bytes_per_iteration() const noexcept { return bytes_per_iteration_; }
  WorkUnit work_unit() const noexcept;
  double work_per_iteration() const noexcept;

 private:
  std::int64_t run(const TaskId& task, Scratch& scratch) const;

  KernelSpec spec_;
  ComputeBound compute_bound_;
  std::uint64_t seed_;
  double flops_per_iteration_ = 0;
  double bytes_per_iteration_ = 0;
};

}  // namespace taskgrain
