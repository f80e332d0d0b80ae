#pragma once

/// Kernels: what a task computes. `iterations` alone sets how long a task takes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace taskgrain {

class Dag;
struct KernelEntry;

/// Instruction set of the compute kernel.
enum class Isa : std::uint8_t { automatic, avx512, avx2, neon, portable };

/// The work of a kernel, from which efficiency is computed.
enum class WorkUnit : std::uint8_t { flop, byte, iteration };

/// fields.hpp describes each of these members to requests, flags and Python.
struct KernelSpec {
  /// Which entry of the table of kernels (kernel_entry.hpp).
  std::string name = "compute_bound";
  /// How often the kernel's body runs; >= 0.
  std::int64_t iterations = 0;
  /// Spread of `load_imbalance`, 0 to 2: iterations lie within 1 ± imbalance / 2 of their mean.
  double imbalance = 0.0;
  /// Whether a point keeps its imbalance in every step.
  bool persistent = false;
  /// Working set of one worker in bytes; 0: the kernel's default.
  std::size_t scratch_bytes = 0;
  /// Into how many samples the working set of a memory or io kernel is cut; one is used per iteration.
  std::int64_t samples = 16;

  /// Size of a sample: whole pairs of doubles. \pre samples >= 1
  std::size_t sample_bytes() const noexcept { return scratch_bytes / static_cast<std::size_t>(samples) / 16 * 16; }

  friend bool operator==(const KernelSpec&, const KernelSpec&) = default;
};

/// Which task a kernel runs for; `u` of the imbalance is hashed from it.
struct TaskId {
  std::int64_t graph;
  std::int64_t step;
  std::int64_t point;
};

std::string_view name(Isa isa) noexcept;
std::string_view name(WorkUnit unit) noexcept;

/// \throws InvalidSpec for a name that is not in the table.
Isa isa_from_name(std::string_view name);

/// The instruction set that `automatic` selects on this processor.
Isa best_isa() noexcept;

/// Runs so many iterations of a kernel.
using KernelLoop = void (*)(std::int64_t iterations) noexcept;

/// The loop of compute_bound: 64 doubles, one FMA each, 128 FLOP per iteration.
/// \throws Unsupported if the processor or the build lacks `isa`.
KernelLoop compute_bound(Isa isa);

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
  /// The first sample of the next task. A task uses `number` of `samples` one after another, round and round.
  std::uint64_t first_sample(std::uint64_t number, std::uint64_t samples) noexcept {
    const std::uint64_t first = next_sample_ % samples;
    next_sample_ = first + number % samples;
    return first;
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t memory_bytes_ = 0;
  std::size_t file_bytes_ = 0;
  int file_ = -1;
  std::uint64_t next_sample_ = 0;
};

/// A kernel that is ready to run: specification checked, instruction set chosen.
class Kernel {
 public:
  /// \param output_bytes  what the task writes besides, for which a simulation gives time
  /// \param weights       which tasks run more iterations than others; null: none
  /// \throws InvalidSpec, Unsupported (no BLAS in this build, instruction set missing)
  Kernel(const KernelSpec& spec, Isa isa, std::uint64_t seed = 0, std::size_t output_bytes = 0,
         std::shared_ptr<const Dag> weights = nullptr);

  /// Runs it for one task and returns the iterations that ran.
  std::int64_t operator()(const TaskId& task, Scratch& scratch) const {
    switch (form_) {
      case Form::nothing:
        return 0;
      case Form::loop:
        loop_(spec_.iterations);
        return spec_.iterations;
      default:
        return run(task, scratch);
    }
  }

  /// The iterations that run for a task.
  std::int64_t iterations_of(const TaskId& task) const noexcept;

  const KernelSpec& spec() const noexcept { return spec_; }
  const KernelEntry& entry() const noexcept { return *entry_; }
  double flops_per_iteration() const noexcept { return flops_per_iteration_; }
  double bytes_per_iteration() const noexcept { return bytes_per_iteration_; }
  WorkUnit work_unit() const noexcept;
  double work_per_iteration() const noexcept;

 private:
  /// How a task runs the kernel, so that the most frequent forms cost a comparison.
  enum class Form : std::uint8_t {
    nothing,  ///< there is nothing to run
    loop,     ///< every task runs the loop as often
    task,     ///< all else
  };

  std::int64_t run(const TaskId& task, Scratch& scratch) const;

  Form form_;
  KernelLoop loop_;
  KernelSpec spec_;
  const KernelEntry* entry_;
  std::uint64_t seed_;
  std::size_t output_bytes_;
  std::shared_ptr<const Dag> weights_;
  double flops_per_iteration_ = 0;
  double bytes_per_iteration_ = 0;
};

}  // namespace taskgrain
