#include "taskgrain/kernel.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>

#include "siphash.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/fields.hpp"

#ifdef TASKGRAIN_BLAS
extern "C" {
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
void cblas_daxpy(int, double, const double*, int, double*, int);
void openblas_set_num_threads(int);
}
#endif

namespace taskgrain {
namespace {

constexpr std::array<std::string_view, 8> names{"empty",          "busy_wait",     "compute_bound", "memory_bound",
                                                "load_imbalance", "compute_dgemm", "memory_daxpy",  "io_bound"};

/// Keeps the compiler from knowing, folding or dropping a value.
template <typename T>
void opaque(T& value) noexcept {
  asm volatile("" : "+r"(value) : : "memory");
}

void busy_wait(std::int64_t iterations) noexcept {
  std::int64_t value = 113;
  opaque(value);
  for (std::int64_t n = 0; n < iterations; ++n) value = value * 139 % 2147483647;
  opaque(value);
}

std::size_t sample_bytes(const KernelSpec& spec) {
  return spec.scratch_bytes / static_cast<std::size_t>(spec.samples) / 16 * 16;
}

int dgemm_size(const KernelSpec& spec) {
  return static_cast<int>(std::sqrt(static_cast<double>(spec.scratch_bytes / (3 * sizeof(double)))));
}

/// Runs `body(offset of the sample)` for each iteration; the samples rotate from task to task, so that the working set stays
/// the whole scratch however few iterations a task has.
template <typename Body>
void for_samples(const KernelSpec& spec, const TaskId& task, Body body) {
  const auto samples = static_cast<std::uint64_t>(spec.samples);
  std::uint64_t sample = static_cast<std::uint64_t>(task.step) * static_cast<std::uint64_t>(spec.iterations) % samples;
  for (std::int64_t n = 0; n < spec.iterations; ++n) {
    body(sample * sample_bytes(spec));
    if (++sample == samples) sample = 0;
  }
}

void memory_bound(const KernelSpec& spec, const TaskId& task, Scratch& scratch) {
  std::byte* memory = scratch.memory(spec.scratch_bytes);
  const std::size_t half = sample_bytes(spec) / 2;
  for_samples(spec, task, [&](std::size_t offset) {
    std::memcpy(memory + offset + half, memory + offset, half);
    opaque(memory);
  });
}

void check_io(ssize_t done, std::size_t wanted, const char* what) {
  if (done != static_cast<ssize_t>(wanted))
    throw std::system_error(done < 0 ? errno : EIO, std::generic_category(), std::string("io_bound: ") + what);
}

void io_bound(const KernelSpec& spec, const TaskId& task, Scratch& scratch) {
  std::byte* memory = scratch.memory(spec.scratch_bytes);
  const int file = scratch.file(spec.scratch_bytes);
  const std::size_t bytes = sample_bytes(spec);
  for_samples(spec, task, [&](std::size_t offset) {
    check_io(pwrite(file, memory + offset, bytes, static_cast<off_t>(offset)), bytes, "write");
    check_io(pread(file, memory + offset, bytes, static_cast<off_t>(offset)), bytes, "read");
  });
}

#ifdef TASKGRAIN_BLAS
constexpr int col_major = 102, no_trans = 111;

void compute_dgemm(const KernelSpec& spec, Scratch& scratch) {
  const int n = dgemm_size(spec);
  const std::size_t matrix = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  auto* a = reinterpret_cast<double*>(scratch.memory(spec.scratch_bytes));
  for (std::int64_t k = 0; k < spec.iterations; ++k)
    cblas_dgemm(col_major, no_trans, no_trans, n, n, n, 1e-3, a, n, a + matrix, n, 0.5, a + 2 * matrix, n);
}

void memory_daxpy(const KernelSpec& spec, const TaskId& task, Scratch& scratch) {
  std::byte* memory = scratch.memory(spec.scratch_bytes);
  const std::size_t n = sample_bytes(spec) / (2 * sizeof(double));
  for_samples(spec, task, [&](std::size_t offset) {
    auto* x = reinterpret_cast<double*>(memory + offset);
    cblas_daxpy(static_cast<int>(n), 1e-3, x, 1, x + n, 1);
  });
}
void prepare_blas() { openblas_set_num_threads(1); }
constexpr bool has_blas = true;
#else
void prepare_blas() {}
void compute_dgemm(const KernelSpec&, Scratch&) {}
void memory_daxpy(const KernelSpec&, const TaskId&, Scratch&) {}
constexpr bool has_blas = false;
#endif

bool uses_samples(KernelKind kind) {
  return kind == KernelKind::memory_bound || kind == KernelKind::memory_daxpy || kind == KernelKind::io_bound;
}

void check(const KernelSpec& spec) {
  check_fields({.kernel = spec});
  const bool blas = spec.kind == KernelKind::compute_dgemm || spec.kind == KernelKind::memory_daxpy;
  if (blas && !has_blas)
    throw Unsupported("kernel " + std::string(name(spec.kind)) +
                      " needs BLAS; this build has none (install libopenblas-serial-dev and build again)");
  if (blas) prepare_blas();
  if (uses_samples(spec.kind) && sample_bytes(spec) < 32)
    throw InvalidSpec("scratch_bytes", std::to_string(spec.scratch_bytes),
                      "at least 32 bytes for each of the " + std::to_string(spec.samples) + " samples");
  if (spec.kind == KernelKind::memory_daxpy && sample_bytes(spec) / (2 * sizeof(double)) > std::numeric_limits<int>::max())
    throw InvalidSpec("scratch_bytes", std::to_string(spec.scratch_bytes), "less than 2^35 for each sample (BLAS counts in int)");
  if (spec.kind == KernelKind::compute_dgemm && dgemm_size(spec) < 1)
    throw InvalidSpec("scratch_bytes", std::to_string(spec.scratch_bytes), "at least 24, three matrices of one double");
}

KernelSpec with_defaults(KernelSpec spec) {
  if (spec.scratch_bytes == 0) spec.scratch_bytes = default_scratch_bytes(spec.kind);
  return spec;
}

}  // namespace

std::string_view name(KernelKind kind) noexcept { return names[static_cast<std::size_t>(kind)]; }
std::span<const std::string_view> kernel_names() noexcept { return names; }

std::string_view name(WorkUnit unit) noexcept {
  constexpr std::array<std::string_view, 3> units{"flop", "byte", "iteration"};
  return units[static_cast<std::size_t>(unit)];
}

KernelKind kernel_from_name(std::string_view wanted) {
  const auto* found = std::ranges::find(names, wanted);
  if (found != names.end()) return static_cast<KernelKind>(found - names.begin());
  std::string all;
  for (const auto each : names) all += (all.empty() ? "" : ", ") + std::string(each);
  throw InvalidSpec("kernel", std::string(wanted), all);
}

std::size_t default_scratch_bytes(KernelKind kind) noexcept {
  switch (kind) {
    case KernelKind::memory_bound:
    case KernelKind::memory_daxpy:
      return std::size_t{16} << 20;
    case KernelKind::compute_dgemm:
      return std::size_t{3} * 64 * 64 * sizeof(double);
    case KernelKind::io_bound:
      return std::size_t{1} << 20;
    default:
      return 0;
  }
}

Kernel::Kernel(const KernelSpec& spec, Isa isa, std::uint64_t seed)
    : spec_(with_defaults(spec)), compute_bound_(taskgrain::compute_bound(isa)), seed_(seed) {
  check(spec_);
  switch (spec_.kind) {
    case KernelKind::compute_bound:
    case KernelKind::load_imbalance:
      flops_per_iteration_ = 128;
      break;
    case KernelKind::compute_dgemm:
      flops_per_iteration_ = 2 * std::pow(dgemm_size(spec_), 3);
      break;
    case KernelKind::memory_bound:
      bytes_per_iteration_ = static_cast<double>(sample_bytes(spec_) / 2 * 2);
      break;
    case KernelKind::memory_daxpy: {
      const auto n = static_cast<double>(sample_bytes(spec_) / 16);
      flops_per_iteration_ = 2 * n;
      bytes_per_iteration_ = 24 * n;
      break;
    }
    case KernelKind::io_bound:
      bytes_per_iteration_ = 2 * static_cast<double>(sample_bytes(spec_));
      break;
    default:
      break;
  }
}

WorkUnit Kernel::work_unit() const noexcept {
  if (bytes_per_iteration_ > 0) return WorkUnit::byte;
  return flops_per_iteration_ > 0 ? WorkUnit::flop : WorkUnit::iteration;
}

double Kernel::work_per_iteration() const noexcept {
  if (bytes_per_iteration_ > 0) return bytes_per_iteration_;
  return flops_per_iteration_ > 0 ? flops_per_iteration_ : 1.0;
}

std::int64_t Kernel::iterations_of(const TaskId& task) const noexcept {
  if (spec_.kind == KernelKind::empty) return 0;
  if (spec_.kind != KernelKind::load_imbalance) return spec_.iterations;
  const double u = spec_.persistent ? uniform(seed_, std::array<std::int64_t, 2>{task.graph, task.point})
                                    : uniform(seed_, std::array<std::int64_t, 3>{task.graph, task.step, task.point});
  return std::llround((1 + (u - 0.5) * spec_.imbalance) * static_cast<double>(spec_.iterations));
}

std::int64_t Kernel::run(const TaskId& task, Scratch& scratch) const {
  switch (spec_.kind) {
    case KernelKind::empty:
      return 0;
    case KernelKind::busy_wait:
      busy_wait(spec_.iterations);
      break;
    case KernelKind::compute_bound:
      compute_bound_(spec_.iterations);
      break;
    case KernelKind::load_imbalance: {
      const std::int64_t iterations = iterations_of(task);
      compute_bound_(iterations);
      return iterations;
    }
    case KernelKind::memory_bound:
      memory_bound(spec_, task, scratch);
      break;
    case KernelKind::compute_dgemm:
      compute_dgemm(spec_, scratch);
      break;
    case KernelKind::memory_daxpy:
      memory_daxpy(spec_, task, scratch);
      break;
    case KernelKind::io_bound:
      io_bound(spec_, task, scratch);
      break;
  }
  return spec_.iterations;
}

}  // namespace taskgrain
