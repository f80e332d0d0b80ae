#pragma once

/// The work of a task on a device, per lane. The functions are for CUDA's compiler and for any other: tests run them on
/// the host.
///
/// A task is executed by `blocks` blocks of `block_lanes` lanes each, the whole device if it wants. Its work is that of
/// the same kernel on a core, iteration for iteration, dealt out to all lanes, so that a problem size means the same
/// number of FLOP (or bytes) anywhere.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "taskgrain/kernel_entry.hpp"

#ifdef __CUDACC__
#define TASKGRAIN_LANE __host__ __device__ inline
#else
#define TASKGRAIN_LANE inline
#endif
#ifdef __CUDA_ARCH__
#define TASKGRAIN_UNROLL _Pragma("unroll 4")
#else
#define TASKGRAIN_UNROLL
#endif

namespace taskgrain::device {

inline constexpr unsigned block_lanes = 1024;

/// Independent FMA chains of a lane. With the 32 warps of a block on each multiprocessor that is 256 FMAs in flight for
/// each of its double-precision pipes, more than their latency times their width on any generation.
inline constexpr int chains = 8;
/// FMAs of an iteration of compute_bound.
inline constexpr int iteration_fmas = 64;

enum class Check : std::uint8_t { off, sample, full };

/// Where an input lies, and the point of the step before that must have written it.
struct Input {
  const std::byte* data;
  std::int64_t point;
};

/// The first input that was found wrong: the fields of a Violation.
struct Wrong {
  unsigned found;  ///< how many were
  std::int64_t step, point, input;
  std::int64_t
      got[2];  ///< the cell; {-1, -1} within a last, incomplete one; what was expected if the producer had not finished
};

/// What the tasks of a graph share on the device.
struct Shared {
  unsigned* finished;  ///< [point * steps + step]: how many blocks of the task have finished
  Wrong* wrong;
  double* sink;        ///< takes what a computation should not end with; stays negative
  std::byte* scratch;  ///< the working set of memory kernels
  unsigned blocks;     ///< of every task
  bool distributed;    ///< other processes execute tasks, too, and finish them elsewhere
};

struct Task {
  Shared shared;
  const Input* inputs;
  std::int64_t inputs_number;
  std::byte* output;
  std::int64_t output_bytes;
  std::int64_t before;   ///< what the first half of an input's cells must be
  std::int64_t cell[2];  ///< what the output is filled with, as `Cell` says
  std::int64_t step, point, steps;
  std::int64_t iterations;
  std::int64_t sample_doubles, samples, first_sample;  ///< of memory kernels
  Check check;
  DeviceWork work;
};

/// Byte `k` of an output that is filled with a cell, on a machine whose low bytes come first.
TASKGRAIN_LANE unsigned char byte_of(const std::int64_t (&cell)[2], std::int64_t k) {
  return static_cast<unsigned char>(static_cast<std::uint64_t>(cell[k >> 3 & 1]) >> (k & 7) * 8);
}

/// Calls `word(k)` for this lane's share of the words of some memory, and `byte(k)` for that of the bytes that are in
/// none.
template <typename Word, typename Byte>
TASKGRAIN_LANE void for_share(const std::byte* data, std::int64_t bytes, std::int64_t lane, std::int64_t lanes,
                              Word word, Byte byte) {
  const std::int64_t words = reinterpret_cast<std::uintptr_t>(data) % sizeof(std::int64_t) == 0 ? bytes / 8 : 0;
  for (std::int64_t k = lane; k < words; k += lanes) word(k);
  for (std::int64_t k = words * 8 + lane; k < bytes; k += lanes) byte(k);
}

TASKGRAIN_LANE void fill(const Task& task, std::int64_t lane, std::int64_t lanes) {
  std::byte* output = task.output;
  for_share(
      output, task.output_bytes, lane, lanes,
      [&](std::int64_t k) { reinterpret_cast<std::int64_t*>(output)[k] = task.cell[k & 1]; },
      [&](std::int64_t k) { output[k] = static_cast<std::byte>(byte_of(task.cell, k)); });
}

TASKGRAIN_LANE void record(const Task& task, std::int64_t input, std::int64_t got0, std::int64_t got1) {
#ifdef __CUDA_ARCH__
  const bool first = atomicAdd(&task.shared.wrong->found, 1U) == 0;
#else
  const bool first = task.shared.wrong->found++ == 0;
#endif
  if (!first) return;
  Wrong& wrong = *task.shared.wrong;
  wrong.step = task.step;
  wrong.point = task.point;
  wrong.input = input;
  wrong.got[0] = got0;
  wrong.got[1] = got1;
}

/// Records the cell that byte `k` of an input is in.
TASKGRAIN_LANE void record_cell(const Task& task, std::int64_t input, std::int64_t k) {
  std::int64_t got[2] = {-1, -1};
  const std::int64_t first = k / 16 * 16;
  if (first + 16 <= task.output_bytes) {
    std::uint64_t halves[2] = {0, 0};
    for (std::int64_t b = 0; b < 16; ++b)
      halves[b >> 3] |= static_cast<std::uint64_t>(task.inputs[input].data[first + b]) << (b & 7) * 8;
    got[0] = static_cast<std::int64_t>(halves[0]);
    got[1] = static_cast<std::int64_t>(halves[1]);
  }
  record(task, input, got[0], got[1]);
}

TASKGRAIN_LANE bool byte_holds(const Task& task, std::int64_t input, std::int64_t k) {
  const std::int64_t cell[2] = {task.before, task.inputs[input].point};
  return static_cast<unsigned char>(task.inputs[input].data[k]) == byte_of(cell, k);
}

/// Whether all blocks of an input's producer have finished: its bytes may be left over from the repeat before, this
/// cannot.
TASKGRAIN_LANE bool produced(const Task& task, std::int64_t input) {
  if (task.shared.distributed) return true;
  const volatile unsigned* finished = task.shared.finished;
  return finished[task.inputs[input].point * task.steps + task.step - 1] >= task.shared.blocks;
}

/// Head, tail, and a cell in between that changes from task to task.
TASKGRAIN_LANE void check_sample(const Task& task, std::int64_t input) {
  const std::int64_t cells = task.output_bytes / 16, tail = cells - 1;
  const std::uint64_t turn = static_cast<std::uint64_t>(task.step + task.point) * 0x9e3779b97f4a7c15U >> 32;
  const std::int64_t middle = static_cast<std::int64_t>(turn * static_cast<std::uint64_t>(tail) >> 32);
  const std::byte* data = task.inputs[input].data;
  if (reinterpret_cast<std::uintptr_t>(data) % sizeof(std::int64_t) == 0 && task.output_bytes % 16 == 0) {
    // Nearly always: loads that do not wait for each other.
    const auto* words = reinterpret_cast<const std::int64_t*>(data);
    const auto differs = [&](std::int64_t cell) {
      return (words[2 * cell] ^ task.before) | (words[2 * cell + 1] ^ task.inputs[input].point);
    };
    if ((differs(0) | differs(middle) | differs(tail)) == 0) return;
  }
  const auto holds = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      if (byte_holds(task, input, k)) continue;
      record_cell(task, input, k);
      return false;
    }
    return true;
  };
  if (holds(0, 16) && (middle == 0 || holds(middle * 16, middle * 16 + 16)) &&
      (tail == 0 || holds(tail * 16, cells * 16)))
    holds(cells * 16, task.output_bytes);
}

TASKGRAIN_LANE void check_inputs(const Task& task, std::int64_t lane, std::int64_t lanes) {
  if (task.check == Check::off) return;
  for (std::int64_t input = lane; input < task.inputs_number; input += lanes) {
    if (!produced(task, input)) {
      record(task, input, task.before, task.inputs[input].point);
    } else if (task.check == Check::sample) {
      check_sample(task, input);
    }
  }
  if (task.check != Check::full) return;
  for (std::int64_t input = 0; input < task.inputs_number; ++input) {
    const Input& from = task.inputs[input];
    for_share(
        from.data, task.output_bytes, lane, lanes,
        [&](std::int64_t k) {
          const std::int64_t expected = (k & 1) == 0 ? task.before : from.point;
          if (reinterpret_cast<const std::int64_t*>(from.data)[k] != expected) record_cell(task, input, k * 8);
        },
        [&](std::int64_t k) {
          if (!byte_holds(task, input, k)) record_cell(task, input, k);
        });
  }
}

/// How many rounds of `chains` FMAs a lane does: all lanes together do exactly those of the iterations.
TASKGRAIN_LANE std::int64_t rounds_of(std::int64_t iterations, std::int64_t lane, std::int64_t lanes) {
  const std::int64_t rounds = iterations * (iteration_fmas / chains);
  return rounds / lanes + (lane < rounds % lanes ? 1 : 0);
}

/// As on a core, x ← x·x + x: in (-1, 0) values creep towards 0, stay there and are never denormal. \returns their sum,
/// less than 0
TASKGRAIN_LANE double fma_chains(std::int64_t rounds, std::int64_t lane) {
  double x[chains];
  for (int c = 0; c < chains; ++c) x[c] = -0.1 - 0.1 * c - 0.001 * static_cast<double>(lane % 64);
  TASKGRAIN_UNROLL
  for (std::int64_t n = 0; n < rounds; ++n)
    for (int c = 0; c < chains; ++c) x[c] = std::fma(x[c], x[c], x[c]);
  double sum = 0;
  for (int c = 0; c < chains; ++c) sum += x[c];
  return sum;
}

/// Each iteration `change(from, to)` is stored over the second half of a sample. A lane keeps to its places in all
/// samples and loads ahead of its stores, so that few threads fill the memory's pipes.
template <typename Change>
TASKGRAIN_LANE void for_samples(const Task& task, std::int64_t lane, std::int64_t lanes, Change change) {
  constexpr int ahead = 4;
  auto* memory = reinterpret_cast<double*>(task.shared.scratch);
  const std::int64_t half = task.sample_doubles / 2;
  for (std::int64_t k = lane; k < half; k += lanes) {
    std::int64_t sample = task.first_sample;
    for (std::int64_t n = 0; n < task.iterations; n += ahead) {
      double* to[ahead];
      double value[ahead] = {};
      for (int a = 0; a < ahead; ++a) {
        to[a] = memory + sample * task.sample_doubles + half + k;
        if (n + a >= task.iterations) continue;
        value[a] = change(to[a][-half], *to[a]);
        if (++sample == task.samples) sample = 0;
      }
      for (int a = 0; a < ahead; ++a)
        if (n + a < task.iterations) *to[a] = value[a];
    }
  }
}

/// A serial chain of integer operations, of one lane. \returns a negative number
TASKGRAIN_LANE double busy_wait(std::int64_t iterations) {
  std::int64_t value = 113;
  for (std::int64_t n = 0; n < iterations; ++n) value = value * 139 % 2147483647;
  return static_cast<double>(-value);
}

TASKGRAIN_LANE double compute(const Task& task, std::int64_t lane, std::int64_t lanes) {
  switch (task.work) {
    case DeviceWork::fma:
      return fma_chains(rounds_of(task.iterations, lane, lanes), lane);
    case DeviceWork::chain:
      return lane == 0 ? busy_wait(task.iterations) : -1.0;
    case DeviceWork::copy:
      for_samples(task, lane, lanes, [](double from, double) { return from; });
      return -1.0;
    case DeviceWork::axpy:
      for_samples(task, lane, lanes, [](double from, double to) { return 1e-3 * from + to; });
      return -1.0;
    case DeviceWork::nothing:
    case DeviceWork::absent:
      break;
  }
  return -1.0;
}

/// A lane's part of a task. The output comes last, so that whoever reads it too early finds it unwritten; when all
/// lanes of a block are through, the block counts itself in `finished`.
TASKGRAIN_LANE void execute(const Task& task, std::int64_t lane, std::int64_t lanes) {
  check_inputs(task, lane, lanes);
#ifdef __CUDA_ARCH__
  __syncwarp();  // Lanes without an input to check wait for the others: else a warp may compute twice, in two halves.
#endif
  // Never taken, but no compiler knows: this is what keeps the computation from being dropped. It also takes what is
  // not a number.
  if (const double value = compute(task, lane, lanes); !(value < 0)) *task.shared.sink = value;
  fill(task, lane, lanes);
  // Once more after the kernel: nobody may overwrite an input while the task runs.
  if (task.check == Check::full) check_inputs(task, lane, lanes);
}

}  // namespace taskgrain::device

#undef TASKGRAIN_LANE
#undef TASKGRAIN_UNROLL
