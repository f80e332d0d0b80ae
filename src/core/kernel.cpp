#include "taskgrain/kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "blas.hpp"
#include "dag.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/fields.hpp"
#include "taskgrain/kernel_entry.hpp"
#include "taskgrain/simulation.hpp"

namespace taskgrain {
namespace {

KernelSpec with_defaults(KernelSpec spec, const KernelEntry& entry) {
  if (spec.scratch_bytes == 0) spec.scratch_bytes = entry.scratch_bytes;
  return spec;
}

void check(const KernelSpec& spec, const KernelEntry& entry) {
  check_fields({.kernel = spec});
  if (entry.uses_blas && !blas::available)
    throw Unsupported("kernel " + spec.name +
                      " needs BLAS; this build has none (install libopenblas-serial-dev and build again)");
  if (entry.uses_blas) blas::use_one_thread();
  if (entry.uses_samples && spec.sample_bytes() < 32)
    throw InvalidSpec("scratch_bytes", std::to_string(spec.scratch_bytes),
                      "at least 32 bytes for each of the " + std::to_string(spec.samples) + " samples");
  if (entry.check != nullptr) entry.check(spec);
}

}  // namespace

std::string_view name(WorkUnit unit) noexcept {
  constexpr std::array<std::string_view, 3> units{"flop", "byte", "iteration"};
  return units[static_cast<std::size_t>(unit)];
}

Kernel::Kernel(const KernelSpec& spec, Isa isa, std::uint64_t seed, std::size_t output_bytes,
               std::shared_ptr<const Dag> weights)
    : entry_(&kernel_from_name(spec.name)), seed_(seed), output_bytes_(output_bytes), weights_(std::move(weights)) {
  spec_ = with_defaults(spec, *entry_);
  compute_bound(isa);  // throws if it is not there, whatever the kernel
  loop_ = entry_->loop == nullptr ? nullptr : entry_->loop(isa);
  check(spec_, *entry_);
  const bool alike = entry_->iterations == nullptr && weights_ == nullptr;
  form_ = simulation != nullptr              ? Form::task
          : entry_->does_nothing()           ? Form::nothing
          : entry_->loop != nullptr && alike ? Form::loop
                                             : Form::task;
  if (entry_->work != nullptr) {
    const auto [flops, bytes] = entry_->work(spec_);
    flops_per_iteration_ = flops;
    bytes_per_iteration_ = bytes;
  }
  if (simulation != nullptr && !entry_->does_nothing() && work_unit() != WorkUnit::flop)
    throw Unsupported("kernel " + spec.name + ": a simulation knows how long FLOPs take, and no other work");
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
  if (entry_->does_nothing()) return 0;
  const std::int64_t iterations =
      entry_->iterations == nullptr ? spec_.iterations : entry_->iterations(spec_, task, seed_);
  if (weights_ == nullptr) return iterations;
  return std::llround(std::min(0x1p62, weights_->weight(task.step, task.point) * static_cast<double>(iterations)));
}

std::int64_t Kernel::run(const TaskId& task, Scratch& scratch) const {
  const std::int64_t iterations = iterations_of(task);
  if (simulation != nullptr) {
    simulation->execute(static_cast<double>(iterations) * flops_per_iteration_, output_bytes_);
  } else if (loop_ != nullptr) {
    loop_(iterations);
  } else {
    entry_->run(spec_, iterations, task, scratch);
  }
  return iterations;
}

}  // namespace taskgrain
