/// The kernels, and the table of them.

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>

#include "blas.hpp"
#include "siphash.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/kernel_entry.hpp"

namespace taskgrain {
namespace {

using Work = KernelEntry::Work;

/// Keeps the compiler from knowing, folding or dropping a value.
template <typename T>
void opaque(T& value) noexcept {
  asm volatile("" : "+r"(value) : : "memory");
}

/// Runs `body(offset of the sample)` for each iteration. A task goes on where the worker's last one ended, so that the
/// working set stays the whole scratch however few iterations a task has, and whichever tasks the worker executes.
template <typename Body>
void for_samples(const KernelSpec& spec, std::int64_t iterations, Scratch& scratch, Body body) {
  const auto samples = static_cast<std::uint64_t>(spec.samples);
  std::uint64_t sample = scratch.first_sample(static_cast<std::uint64_t>(iterations), samples);
  for (std::int64_t n = 0; n < iterations; ++n) {
    body(sample * spec.sample_bytes());
    if (++sample == samples) sample = 0;
  }
}

void busy_wait_loop(std::int64_t iterations) noexcept {
  std::int64_t value = 113;
  opaque(value);
  for (std::int64_t n = 0; n < iterations; ++n) value = value * 139 % 2147483647;
  opaque(value);
}
KernelLoop busy_wait(Isa) { return busy_wait_loop; }

Work compute_bound_work(const KernelSpec&) { return {.flops = 128}; }

/// Iterations scaled by 1 + (u - 0.5) * imbalance.
std::int64_t imbalanced(const KernelSpec& spec, const TaskId& task, std::uint64_t seed) {
  const double u = spec.persistent ? uniform(seed, std::array<std::int64_t, 2>{task.graph, task.point})
                                   : uniform(seed, std::array<std::int64_t, 3>{task.graph, task.step, task.point});
  return std::llround((1 + (u - 0.5) * spec.imbalance) * static_cast<double>(spec.iterations));
}

/// Half of a sample is read, the other half written.
Work memory_bound_work(const KernelSpec& spec) { return {.bytes = static_cast<double>(spec.sample_bytes() / 2 * 2)}; }
void memory_bound(const KernelSpec& spec, std::int64_t iterations, const TaskId&, Scratch& scratch) {
  std::byte* memory = scratch.memory(spec.scratch_bytes);
  const std::size_t half = spec.sample_bytes() / 2;
  for_samples(spec, iterations, scratch, [&](std::size_t offset) {
    std::memcpy(memory + offset + half, memory + offset, half);
    opaque(memory);
  });
}

/// Three matrices of n × n fill the scratch.
int dgemm_size(const KernelSpec& spec) {
  return static_cast<int>(std::sqrt(static_cast<double>(spec.scratch_bytes / (3 * sizeof(double)))));
}
void check_dgemm(const KernelSpec& spec) {
  if (dgemm_size(spec) < 1)
    throw InvalidSpec("scratch_bytes", std::to_string(spec.scratch_bytes), "at least 24, three matrices of one double");
}
Work dgemm_work(const KernelSpec& spec) { return {.flops = 2 * std::pow(dgemm_size(spec), 3)}; }
void compute_dgemm(const KernelSpec& spec, std::int64_t iterations, const TaskId&, Scratch& scratch) {
  const int n = dgemm_size(spec);
  const std::size_t matrix = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  auto* a = reinterpret_cast<double*>(scratch.memory(spec.scratch_bytes));
  for (std::int64_t k = 0; k < iterations; ++k) blas::dgemm(n, 1e-3, a, a + matrix, 0.5, a + 2 * matrix);
}

/// A sample is x and y.
std::size_t daxpy_size(const KernelSpec& spec) { return spec.sample_bytes() / (2 * sizeof(double)); }
void check_daxpy(const KernelSpec& spec) {
  if (daxpy_size(spec) > std::numeric_limits<int>::max())
    throw InvalidSpec("scratch_bytes", std::to_string(spec.scratch_bytes),
                      "less than 2^35 for each sample (BLAS counts in int)");
}
/// x is read, y read and written.
Work daxpy_work(const KernelSpec& spec) {
  const auto n = static_cast<double>(daxpy_size(spec));
  return {.flops = 2 * n, .bytes = 24 * n};
}
void memory_daxpy(const KernelSpec& spec, std::int64_t iterations, const TaskId&, Scratch& scratch) {
  std::byte* memory = scratch.memory(spec.scratch_bytes);
  const std::size_t n = daxpy_size(spec);
  for_samples(spec, iterations, scratch, [&](std::size_t offset) {
    auto* x = reinterpret_cast<double*>(memory + offset);
    blas::daxpy(static_cast<int>(n), 1e-3, x, x + n);
  });
}

void check_io(ssize_t done, std::size_t wanted, const char* what) {
  if (done != static_cast<ssize_t>(wanted))
    throw std::system_error(done < 0 ? errno : EIO, std::generic_category(), std::string("io_bound: ") + what);
}
Work io_bound_work(const KernelSpec& spec) { return {.bytes = 2 * static_cast<double>(spec.sample_bytes())}; }
void io_bound(const KernelSpec& spec, std::int64_t iterations, const TaskId&, Scratch& scratch) {
  std::byte* memory = scratch.memory(spec.scratch_bytes);
  const int file = scratch.file(spec.scratch_bytes);
  const std::size_t bytes = spec.sample_bytes();
  for_samples(spec, iterations, scratch, [&](std::size_t offset) {
    check_io(pwrite(file, memory + offset, bytes, static_cast<off_t>(offset)), bytes, "write");
    check_io(pread(file, memory + offset, bytes, static_cast<off_t>(offset)), bytes, "read");
  });
}

constexpr std::size_t mebibyte = std::size_t{1} << 20;

constexpr KernelEntry table[] = {
    {.name = "empty", .device = DeviceWork::nothing},
    {.name = "busy_wait", .loop = busy_wait, .device = DeviceWork::chain},
    {.name = "compute_bound", .work = compute_bound_work, .loop = compute_bound, .device = DeviceWork::fma},
    {.name = "memory_bound",
     .work = memory_bound_work,
     .run = memory_bound,
     .scratch_bytes = 16 * mebibyte,
     .uses_samples = true,
     .device = DeviceWork::copy},
    {.name = "load_imbalance",
     .work = compute_bound_work,
     .loop = compute_bound,
     .iterations = imbalanced,
     .device = DeviceWork::fma},
    {.name = "compute_dgemm",
     .work = dgemm_work,
     .run = compute_dgemm,
     .scratch_bytes = std::size_t{3} * 64 * 64 * sizeof(double),
     .uses_blas = true,
     .check = check_dgemm},
    {.name = "memory_daxpy",
     .work = daxpy_work,
     .run = memory_daxpy,
     .scratch_bytes = 16 * mebibyte,
     .uses_samples = true,
     .uses_blas = true,
     .check = check_daxpy,
     .device = DeviceWork::axpy},
    {.name = "io_bound", .work = io_bound_work, .run = io_bound, .scratch_bytes = mebibyte, .uses_samples = true},
};

}  // namespace

std::span<const KernelEntry> kernels() noexcept { return table; }

const KernelEntry& kernel_from_name(std::string_view name) {
  std::string names;
  for (const KernelEntry& kernel : table) {
    if (kernel.name == name) return kernel;
    names += (names.empty() ? "" : ", ") + std::string(kernel.name);
  }
  throw InvalidSpec("kernel", std::string(name), names);
}

}  // namespace taskgrain
