#include "fma_peak.hpp"

#if defined(__x86_64__)

#define FMA_(r, n) "vfmadd213pd %%" r #n ", %%" r #n ", %%" r #n "\n"
#define TWELVE_(r) \
  FMA_(r, 0)       \
  FMA_(r, 1)       \
  FMA_(r, 2) FMA_(r, 3) FMA_(r, 4) FMA_(r, 5) FMA_(r, 6) FMA_(r, 7) FMA_(r, 8) FMA_(r, 9) FMA_(r, 10) FMA_(r, 11)
#define ZERO_(r, n) "vpxor %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n"
#define ZEROS_                                                                                            \
  ZERO_("", 0)                                                                                            \
  ZERO_("", 1)                                                                                            \
  ZERO_("", 2) ZERO_("", 3) ZERO_("", 4) ZERO_("", 5) ZERO_("", 6) ZERO_("", 7) ZERO_("", 8) ZERO_("", 9) \
      ZERO_("", 10) ZERO_("", 11)
#define CLOBBERS_ "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11"

// 48 FMAs on 12 registers a round; on zeros, which cost what other normal numbers cost.
#define LOOP_(r)                                                                             \
  asm volatile(ZEROS_ "1:\n" TWELVE_(r) TWELVE_(r) TWELVE_(r) TWELVE_(r) "dec %0\n jnz 1b\n" \
               : "+r"(iterations)                                                            \
               :                                                                             \
               : CLOBBERS_, "cc")

std::optional<double> fma_peak_flops(std::string_view isa, std::int64_t iterations) {
  const auto rounds = static_cast<double>(iterations);
  if (isa == "avx2") {
    LOOP_("ymm");
    return rounds * 48 * 4 * 2;
  }
  if (isa == "avx512") {
    LOOP_("zmm");
    return rounds * 48 * 8 * 2;
  }
  return std::nullopt;
}

#else

std::optional<double> fma_peak_flops(std::string_view, std::int64_t) { return std::nullopt; }

#endif
