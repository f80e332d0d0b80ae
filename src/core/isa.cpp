#include <array>
#include <string>

#include "compute_bound.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/kernel.hpp"

namespace taskgrain {
namespace {

constexpr std::array<std::string_view, 5> names{"auto", "avx512", "avx2", "neon", "portable"};

/// The loop for `isa`, or null where the processor or the build lacks it.
KernelLoop available(Isa isa) noexcept {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::avx512:
      return __builtin_cpu_supports("avx512f") ? compute_bound_avx512 : nullptr;
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? compute_bound_avx2 : nullptr;
#elif defined(__aarch64__)
    case Isa::neon:
      return compute_bound_neon;
#endif
    case Isa::portable:
      return compute_bound_portable;
    default:
      return nullptr;
  }
}

}  // namespace

std::string_view name(Isa isa) noexcept { return names[static_cast<std::size_t>(isa)]; }

Isa isa_from_name(std::string_view wanted) {
  for (std::size_t k = 0; k < names.size(); ++k)
    if (names[k] == wanted) return static_cast<Isa>(k);
  throw InvalidSpec("isa", std::string(wanted), "auto, avx512, avx2, neon, portable");
}

Isa best_isa() noexcept {
  for (const Isa isa : {Isa::avx512, Isa::avx2, Isa::neon})
    if (available(isa) != nullptr) return isa;
  return Isa::portable;
}

KernelLoop compute_bound(Isa isa) {
  if (KernelLoop loop = available(isa == Isa::automatic ? best_isa() : isa)) return loop;
  throw Unsupported("instruction set " + std::string(name(isa)) + " is not available on this processor");
}

}  // namespace taskgrain
