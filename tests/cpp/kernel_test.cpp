/// Kernels: what they compute, what they count, and what they refuse.

#include "taskgrain/kernel.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <set>
#include <system_error>

#include "compute_bound_values.hpp"
#include "siphash_reference.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/kernel_entry.hpp"
#include "taskgrain/simulation.hpp"

namespace taskgrain {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Lt;

/// Of this thread: what else runs on the machine does not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The fastest of several runs.
template <typename Body>
double fastest_of(int repeats, Body body) {
  double seconds = 1e9;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const double start = cpu_seconds();
    body();
    seconds = std::min(seconds, cpu_seconds() - start);
  }
  return seconds;
}

std::vector<Isa> available_isas() {
  std::vector<Isa> found;
  for (const Isa isa : {Isa::avx512, Isa::avx2, Isa::neon, Isa::portable}) {
    try {
      compute_bound(isa);
      found.push_back(isa);
    } catch (const Unsupported&) {
    }
  }
  return found;
}

bool has_blas() {
  try {
    const Kernel kernel({.name = "compute_dgemm"}, Isa::portable);
    return true;
  } catch (const Unsupported&) {
    return false;
  }
}

class EveryKernel : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (entry().uses_blas && !has_blas()) GTEST_SKIP() << "this build has no BLAS";
  }
  static const KernelEntry& entry() { return kernel_from_name(GetParam()); }
  static std::string name() { return std::string(GetParam()); }
};

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  for (const KernelEntry& kernel : kernels()) all.push_back(kernel.name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, EveryKernel, testing::ValuesIn(names()),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(EveryKernel, RunsAndCountsItsIterations) {
  const std::int64_t per_task = entry().does_nothing() ? 0 : 5;
  const Kernel kernel({.name = name(), .iterations = 5, .scratch_bytes = 1 << 16}, Isa::automatic);
  Scratch scratch;
  for (std::int64_t step = 0; step < 20; ++step) EXPECT_EQ(kernel({0, step, 3}, scratch), per_task);
}

TEST_P(EveryKernel, RunsWithoutIterations) {
  const Kernel kernel({.name = name(), .scratch_bytes = 1 << 16}, Isa::automatic);
  Scratch scratch;
  EXPECT_EQ(kernel({0, 0, 0}, scratch), 0);
}

TEST_P(EveryKernel, HasItsNameBack) {
  EXPECT_EQ(entry().name, GetParam());
  EXPECT_EQ(&Kernel({.name = name()}, Isa::portable).entry(), &entry());
}

TEST_P(EveryKernel, FillsInTheDefaultScratch) {
  EXPECT_EQ(Kernel({.name = name()}, Isa::portable).spec().scratch_bytes, entry().scratch_bytes);
}

TEST_P(EveryKernel, KeepsTheScratchThatIsAskedFor) {
  EXPECT_EQ(Kernel({.name = name(), .scratch_bytes = 12345}, Isa::portable).spec().scratch_bytes, 12345U);
}

TEST_P(EveryKernel, WorkIsBytesElseFlopElseIterations) {
  const Kernel kernel({.name = name()}, Isa::portable);
  const auto [unit, work] = [&]() -> std::pair<WorkUnit, double> {
    if (kernel.bytes_per_iteration() > 0) return {WorkUnit::byte, kernel.bytes_per_iteration()};
    if (kernel.flops_per_iteration() > 0) return {WorkUnit::flop, kernel.flops_per_iteration()};
    return {WorkUnit::iteration, 1.0};
  }();
  EXPECT_EQ(kernel.work_unit(), unit);
  EXPECT_EQ(kernel.work_per_iteration(), work);
}

/// A longer task takes longer: the iterations are really done, not dropped by the compiler.
TEST_P(EveryKernel, TakesTimeInProportionToItsIterations) {
  if (entry().does_nothing()) GTEST_SKIP() << "it has none";
  const auto fastest = [](std::int64_t iterations) {
    const Kernel kernel({.name = name(), .iterations = iterations, .scratch_bytes = 1 << 16}, Isa::automatic);
    Scratch scratch;
    return fastest_of(7, [&] { kernel({0, 0, 0}, scratch); });
  };
  const std::int64_t many = name() == "io_bound" || name() == "compute_dgemm" ? 400 : 40'000;
  fastest(many);  // warms up
  EXPECT_THAT(fastest(many) / fastest(many / 8), AllOf(testing::Gt(4), Lt(16)));
}

TEST(Kernels, CostsPerIteration) {
  const auto costs = [](const KernelSpec& spec) {
    const Kernel kernel(spec, Isa::portable);
    return std::pair(kernel.flops_per_iteration(), kernel.bytes_per_iteration());
  };
  EXPECT_EQ(costs({.name = "empty"}), std::pair(0.0, 0.0));
  EXPECT_EQ(costs({.name = "busy_wait"}), std::pair(0.0, 0.0));
  EXPECT_EQ(costs({.name = "compute_bound"}), std::pair(128.0, 0.0));
  EXPECT_EQ(costs({.name = "load_imbalance"}), std::pair(128.0, 0.0));
  // Half of a sample is read, the other half written.
  EXPECT_EQ(costs({.name = "memory_bound", .scratch_bytes = 16384, .samples = 4}), std::pair(0.0, 4096.0));
  EXPECT_EQ(costs({.name = "io_bound", .scratch_bytes = 16384, .samples = 4}), std::pair(0.0, 8192.0));
  if (!has_blas()) GTEST_SKIP() << "this build has no BLAS";
  // Three matrices of 64 x 64; 256 elements of x and y, of which x is read, y read and written.
  EXPECT_EQ(costs({.name = "compute_dgemm"}), std::pair(2.0 * 64 * 64 * 64, 0.0));
  EXPECT_EQ(costs({.name = "memory_daxpy", .scratch_bytes = 16384, .samples = 4}), std::pair(512.0, 6144.0));
}

TEST(Kernels, MemoryWorkingSetIsTheWholeScratchHoweverShortTheTasks) {
  // 16 samples, one iteration a task: 16 tasks must touch them all. Each copies its first half over the second.
  const KernelSpec spec{.name = "memory_bound", .iterations = 1, .scratch_bytes = 16 * 1024};
  const Kernel kernel(spec, Isa::portable);
  Scratch scratch;
  std::byte* memory = scratch.memory(spec.scratch_bytes);
  for (std::size_t sample = 0; sample < 16; ++sample) memory[sample * 1024] = std::byte{42};
  for (std::int64_t task = 0; task < 16; ++task) kernel({0, task / 8, task % 8}, scratch);
  for (std::size_t sample = 0; sample < 16; ++sample)
    EXPECT_EQ(memory[sample * 1024 + 512], std::byte{42}) << "sample " << sample;
}

TEST(Kernels, DaxpyAddsXToY) {
  if (!has_blas()) GTEST_SKIP() << "this build has no BLAS";
  const KernelSpec spec{.name = "memory_daxpy", .iterations = 1, .scratch_bytes = 1024, .samples = 1};
  const Kernel kernel(spec, Isa::portable);
  Scratch scratch;
  auto* values = reinterpret_cast<double*>(scratch.memory(spec.scratch_bytes));
  kernel({0, 0, 0}, scratch);
  EXPECT_THAT(std::span(values, 64), Each(0.5));
  EXPECT_THAT(std::span(values + 64, 64), Each(testing::AllOf(testing::Gt(0.5), Lt(0.51))));
}

TEST(Kernels, DgemmStaysFinite) {
  if (!has_blas()) GTEST_SKIP() << "this build has no BLAS";
  const Kernel kernel({.name = "compute_dgemm", .iterations = 5000, .scratch_bytes = 3 * 8 * 64}, Isa::portable);
  Scratch scratch;
  kernel({0, 0, 0}, scratch);
  const auto* values = reinterpret_cast<const double*>(scratch.memory(1));
  for (int k = 0; k < 3 * 64; ++k) ASSERT_TRUE(std::isnormal(values[k])) << k << ": " << values[k];
}

// ---- compute_bound

using Values = std::array<double, accumulators>;

struct Block {
  Isa isa;
  void (*write_values)(std::int64_t iterations, double* values);

  Values values(std::int64_t iterations) const {
    Values values{};
    write_values(iterations, values.data());
    return values;
  }
};

/// The blocks that this processor can run.
std::vector<Block> blocks() {
  std::vector<Block> found;
  for (const Isa isa : available_isas()) {
    if (isa == Isa::portable) found.push_back({isa, portable_values});
#if defined(__x86_64__)
    if (isa == Isa::avx2) found.push_back({isa, avx2_values});
    if (isa == Isa::avx512) found.push_back({isa, avx512_values});
#elif defined(__aarch64__)
    if (isa == Isa::neon) found.push_back({isa, neon_values});
#endif
  }
  return found;
}

TEST(ComputeBound, StartsFromDifferentValuesBetweenMinusOneAndZero) {
  const std::set<double> values(std::begin(compute_start.values), std::end(compute_start.values));
  EXPECT_EQ(values.size(), 64U);
  EXPECT_THAT(values, Each(AllOf(testing::Gt(-1), Lt(0))));
}

TEST(ComputeBound, EachIterationIsOneFmaOnEachOf64Doubles) {
  for (const Block& block : blocks()) {
    SCOPED_TRACE(name(block.isa));
    Values expected{};
    std::ranges::copy(compute_start.values, expected.begin());
    for (int n = 0; n < 100; ++n)
      for (double& x : expected) x = std::fma(x, x, x);
    const Values found = block.values(100);
    for (std::size_t k = 0; k < 64; ++k) EXPECT_NEAR(found[k], expected[k], 1e-14) << k;
  }
}

/// Values that overflow or become denormal would make iterations slower the longer they run.
TEST(ComputeBound, ValuesStayFiniteAndNormal) {
  for (const Block& block : blocks()) {
    SCOPED_TRACE(name(block.isa));
    for (const std::int64_t iterations : {0, 1, 1000, 10'000'000}) {
      for (const double x : block.values(iterations)) {
        ASSERT_TRUE(std::isnormal(x)) << x;
        ASSERT_GT(x, -1);
        ASSERT_LT(x, 0);
      }
    }
  }
}

// ---- instruction sets

TEST(Isas, PortableIsAlwaysThere) { EXPECT_THAT(available_isas(), testing::Contains(Isa::portable)); }

TEST(Isas, EachAvailableOneIsAKernelOfItsOwn) {
  std::set<KernelLoop> kernels;
  for (const Isa isa : available_isas()) kernels.insert(compute_bound(isa));
  EXPECT_EQ(kernels.size(), available_isas().size());
}

TEST(Isas, TheBestIsTheFirstAvailable) { EXPECT_EQ(best_isa(), available_isas().front()); }

#if defined(__x86_64__)
TEST(Isas, FollowTheProcessor) {
  EXPECT_EQ(testing::Matches(testing::Contains(Isa::avx512))(available_isas()), __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(testing::Matches(testing::Contains(Isa::avx2))(available_isas()),
            __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0);
}
#endif

TEST(Isas, OneThatIsNotThereIsUnsupportedByName) {
#if defined(__aarch64__)
  const Isa missing = Isa::avx2;
#else
  const Isa missing = Isa::neon;
#endif
  EXPECT_THAT([&] { const Kernel kernel({.name = "compute_bound"}, missing); },
              testing::ThrowsMessage<Unsupported>(HasSubstr(std::string(name(missing)))));
}

TEST(Isas, HaveTheirNamesBack) {
  for (const Isa isa : {Isa::automatic, Isa::avx512, Isa::avx2, Isa::neon, Isa::portable})
    EXPECT_EQ(isa_from_name(name(isa)), isa);
  EXPECT_THROW(isa_from_name("sse2"), InvalidSpec);
}

// ---- imbalance

std::int64_t imbalanced(const KernelSpec& spec, TaskId task, std::uint64_t seed = 0) {
  Scratch scratch;
  return Kernel(spec, Isa::automatic, seed)(task, scratch);
}

TEST(LoadImbalance, IsTheFormula) {
  const KernelSpec spec{.name = "load_imbalance", .iterations = 1000, .imbalance = 0.7};
  for (std::int64_t graph = 0; graph < 3; ++graph) {
    for (std::int64_t step = 0; step < 10; ++step) {
      for (std::int64_t point = 0; point < 10; ++point) {
        const double u = reference::uniform(9, {graph, step, point});
        ASSERT_EQ(imbalanced(spec, {graph, step, point}, 9), std::llround((1 + (u - 0.5) * 0.7) * 1000));
      }
    }
  }
}

TEST(LoadImbalance, PersistentOneIsAPointsOwn) {
  const KernelSpec spec{.name = "load_imbalance", .iterations = 1000, .imbalance = 1, .persistent = true};
  std::set<std::int64_t> different;
  for (std::int64_t point = 0; point < 20; ++point) {
    const std::int64_t own = std::llround((0.5 + reference::uniform(0, {1, point})) * 1000);
    for (std::int64_t step = 0; step < 5; ++step) ASSERT_EQ(imbalanced(spec, {1, step, point}), own);
    different.insert(own);
  }
  EXPECT_GT(different.size(), 15U);
}

// ---- scratch

TEST(ScratchMemory, IsAlignedAndHoldsFiniteDoubles) {
  Scratch scratch;
  const std::byte* memory = scratch.memory(1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
  EXPECT_THAT(std::span(reinterpret_cast<const double*>(memory), 125), Each(0.5));
}

TEST(ScratchMemory, GrowsAndStays) {
  Scratch scratch;
  scratch.memory(100);
  std::byte* large = scratch.memory(100'000);
  large[99'999] = std::byte{1};
  EXPECT_EQ(scratch.memory(100), large);
  EXPECT_EQ(scratch.memory(100'000), large);
}

TEST(ScratchMemory, MovesWithItsOwner) {
  Scratch scratch;
  const std::byte* memory = scratch.memory(100);
  Scratch other(std::move(scratch));
  EXPECT_EQ(other.memory(100), memory);
  Scratch third;
  third = std::move(other);
  EXPECT_EQ(third.memory(100), memory);
}

/// Sets TMPDIR while it lives.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const char* path) : before_(std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "") {
    setenv("TMPDIR", path, 1);
  }
  ~TemporaryFolder() { before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST(ScratchFile, IsLargeEnoughAndHasNoName) {
  Scratch scratch;
  const int file = scratch.file(5000);
  EXPECT_EQ(lseek(file, 0, SEEK_END), 5000);
  EXPECT_EQ(scratch.file(9000), file);
  EXPECT_EQ(lseek(file, 0, SEEK_END), 9000);
  EXPECT_EQ(scratch.file(10), file);
  EXPECT_EQ(lseek(file, 0, SEEK_END), 9000);
}

TEST(ScratchFile, IsClosedWithItsOwner) {
  int file = -1;
  {
    Scratch scratch;
    file = scratch.file(10);
  }
  EXPECT_EQ(lseek(file, 0, SEEK_END), -1);
}

TEST(IoBound, SaysWhereItCannotWrite) {
  const TemporaryFolder folder("/proc/nowhere");
  const Kernel kernel({.name = "io_bound", .iterations = 1}, Isa::portable);
  Scratch scratch;
  EXPECT_THAT([&] { kernel({0, 0, 0}, scratch); },
              testing::ThrowsMessage<std::system_error>(
                  AllOf(HasSubstr("io_bound"), HasSubstr("/proc/nowhere"), HasSubstr("No such file"))));
}

TEST(IoBound, LeavesTheContentsAsTheyAre) {
  const KernelSpec spec{.name = "io_bound", .iterations = 3, .scratch_bytes = 1024, .samples = 4};
  const Kernel kernel(spec, Isa::portable);
  Scratch scratch;
  std::byte* memory = scratch.memory(spec.scratch_bytes);
  for (std::size_t k = 0; k < 1024; ++k) memory[k] = static_cast<std::byte>(k % 251);
  for (std::int64_t step = 0; step < 4; ++step) kernel({0, step, 0}, scratch);
  std::array<std::byte, 1024> of_file{};
  ASSERT_EQ(pread(scratch.file(1024), of_file.data(), 1024, 0), 1024);
  EXPECT_TRUE(std::ranges::equal(of_file, std::span(memory, 1024)));
}

// ---- bad specifications

struct InvalidKernel {
  const char* field;
  KernelSpec spec;
  const char* value;
};
void PrintTo(const InvalidKernel& invalid, std::ostream* out) { *out << invalid.field << " = " << invalid.value; }
class InvalidKernels : public testing::TestWithParam<InvalidKernel> {};

TEST_P(InvalidKernels, AreRefusedNamingFieldAndValue) {
  EXPECT_THAT([&] { const Kernel kernel(GetParam().spec, Isa::portable); },
              testing::ThrowsMessage<InvalidSpec>(
                  testing::StartsWith(std::string(GetParam().field) + ": '" + GetParam().value)));
}

INSTANTIATE_TEST_SUITE_P(
    All, InvalidKernels,
    testing::Values(InvalidKernel{"iterations", {.iterations = -1}, "-1"},
                    InvalidKernel{"imbalance", {.imbalance = -0.5}, "-0.5"},
                    InvalidKernel{"imbalance", {.imbalance = 2.5}, "2.5"},
                    InvalidKernel{"imbalance", {.imbalance = std::nan("")}, "nan"},
                    InvalidKernel{"samples", {.name = "memory_bound", .samples = 0}, "0"},
                    InvalidKernel{"samples", {.samples = -4}, "-4"},
                    InvalidKernel{"scratch_bytes", {.name = "memory_bound", .scratch_bytes = 511}, "511"},
                    InvalidKernel{"scratch_bytes", {.name = "io_bound", .scratch_bytes = 100}, "100"},
                    InvalidKernel{"scratch_bytes",
                                  {.name = "memory_bound", .scratch_bytes = std::size_t{1} << 41},
                                  "2199023255552"}));

std::vector<std::pair<double, std::size_t>> simulated;
constexpr Simulation simulator{
    .now = [] { return 0.0; },
    .execute = [](double flops, std::size_t bytes) { simulated.emplace_back(flops, bytes); }};

TEST(Simulated, KernelsTellTheirWorkAndDoNone) {
  simulated.clear();
  simulation = &simulator;
  Scratch scratch;
  const Kernel compute({.name = "compute_bound", .iterations = 1'000'000'000'000}, Isa::automatic, 0, 16);
  const Kernel empty({.name = "empty", .iterations = 3}, Isa::automatic, 0, 8);
  EXPECT_EQ(compute({0, 0, 0}, scratch), 1'000'000'000'000);
  EXPECT_EQ(empty({0, 0, 0}, scratch), 0);
  EXPECT_THROW(Kernel({.name = "busy_wait"}, Isa::automatic), Unsupported);
  EXPECT_THROW(Kernel({.name = "memory_bound"}, Isa::automatic), Unsupported);
  simulation = nullptr;
  EXPECT_THAT(simulated, testing::ElementsAre(std::pair{128e12, 16U}, std::pair{0.0, 8U}));
}

TEST(InvalidKernels, UnknownNameSaysAllNames) {
  for (const auto known : names())
    EXPECT_THAT([] { kernel_from_name("fma"); }, testing::ThrowsMessage<InvalidSpec>(HasSubstr(std::string(known))));
}

TEST(InvalidKernels, WorkingSetsThatBlasCannotTake) {
  if (!has_blas()) GTEST_SKIP() << "this build has no BLAS";
  EXPECT_THROW(Kernel({.name = "compute_dgemm", .scratch_bytes = 23}, Isa::portable), InvalidSpec);
  const KernelSpec huge{.name = "memory_daxpy", .scratch_bytes = std::size_t{1} << 36, .samples = 1};
  EXPECT_THROW(Kernel(huge, Isa::portable), InvalidSpec);
}

}  // namespace
}  // namespace taskgrain
