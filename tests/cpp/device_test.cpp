/// Tasks on a device, executed lane by lane on the host: their arithmetic, what they check and write, and what is
/// booked of them.

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "../../systems/cuda_graph/plan.hpp"
#include "booking.hpp"
#include "specs.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

/// Takes the place of a device: few lanes, one after another, in blocks.
class Device {
 public:
  static constexpr unsigned blocks = 2;
  static constexpr std::int64_t lanes_of_block = 3, lanes = blocks * lanes_of_block;

  Device(Execution& run, std::size_t g)
      : run_(run), g_(g), books_(run.graphs()[g]), scratch_(device::scratch_of(run.kernel(g))), plan_(run.graphs()[g]) {
  }

  const Plan& plan() const { return plan_; }
  device::Books& books() { return books_; }
  const std::vector<double>& scratch() const { return scratch_; }

  void execute(const Plan::Node& node, unsigned of_blocks = blocks) {
    auto* memory = reinterpret_cast<std::byte*>(scratch_.data());
    const device::Shared shared{books_.finished.data(), &books_.wrong, &books_.sink, memory, blocks, false};
    const device::Task task =
        device::task_of(run_, g_, node.step, node.point, node.output, plan_.inputs().data() + node.first_input,
                        static_cast<std::int64_t>(node.inputs_number), shared);
    for (unsigned block = 0; block < of_blocks; ++block) {
      for (std::int64_t lane = 0; lane < lanes_of_block; ++lane)
        device::execute(task, block * lanes_of_block + lane, lanes);
      ++books_.finished[static_cast<std::size_t>(node.point * task.steps + node.step)];
    }
  }

  /// All nodes, one that comes after none left drawn at random each time.
  void execute_in_any_order(std::mt19937& random) {
    const std::vector<Plan::Node>& nodes = plan_.nodes();
    std::vector<std::size_t> waits(nodes.size()), ready;
    std::vector<std::vector<std::size_t>> followers(nodes.size());
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      waits[k] = nodes[k].after.size();
      for (const std::size_t other : nodes[k].after) followers[other].push_back(k);
      if (waits[k] == 0) ready.push_back(k);
    }
    std::size_t executed = 0;
    for (; !ready.empty(); ++executed) {
      std::swap(ready[std::uniform_int_distribution<std::size_t>(0, ready.size() - 1)(random)], ready.back());
      const std::size_t k = ready.back();
      ready.pop_back();
      execute(nodes[k]);
      for (const std::size_t follower : followers[k])
        if (--waits[follower] == 0) ready.push_back(follower);
    }
    EXPECT_EQ(executed, nodes.size());
  }

  std::optional<Violation> settle() {
    device::settle(run_, run_.context(0), g_, books_, blocks);
    return run_.verify();
  }

 private:
  Execution& run_;
  std::size_t g_;
  device::Books books_;
  std::vector<double> scratch_;
  Plan plan_;
};

class DevicePattern : public EveryPattern {};

TEST_P(DevicePattern, RunsInAnyOrderThatTheEdgesAllow) {
  std::mt19937 random(7);
  for (GraphSpec spec : specs(GetParam())) {
    if (spec.width > 17 || spec.steps > 9) continue;
    SCOPED_TRACE(described(spec));
    spec.output_bytes = 40;
    spec.kernel = {.name = "compute_bound", .iterations = 1};
    Execution run({spec}, Validation::full, Isa::automatic);
    Device device(run, 0);
    device.execute_in_any_order(random);
    const auto violation = device.settle();
    ASSERT_FALSE(violation) << violation->text();
    ASSERT_EQ(run.accounts().executed, run.tasks());
    ASSERT_EQ(run.accounts().flops, 128.0 * static_cast<double>(run.tasks()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, DevicePattern, testing::ValuesIn(pattern_names()), name_of_pattern);

GraphSpec stencil(std::size_t output_bytes = 16) {
  return {.pattern = "stencil_1d", .steps = 5, .width = 4, .output_bytes = output_bytes};
}

/// Executes a stencil, with something else `instead` of one of its tasks. \returns what is found wrong
std::string found(Validation validation, std::size_t bytes, std::pair<std::int64_t, std::int64_t> task,
                  const std::function<void(Device&, const Plan::Node&)>& instead) {
  Execution run({stencil(bytes)}, validation, Isa::automatic);
  Device device(run, 0);
  for (const Plan::Node& node : device.plan().nodes()) {
    if (std::pair(node.step, node.point) == task)
      instead(device, node);
    else
      device.execute(node);
  }
  const auto violation = device.settle();
  return violation ? violation->text() : "";
}

/// Flips bits of the output at a byte.
auto flipping(std::size_t at, std::byte bits) {
  return [=](Device& device, const Plan::Node& node) {
    device.execute(node);
    node.output[at] ^= bits;
  };
}

class DeviceMutation : public testing::TestWithParam<std::tuple<Validation, std::size_t>> {};

TEST_P(DeviceMutation, IsFound) {
  const auto [validation, bytes] = GetParam();
  const struct {
    std::pair<std::int64_t, std::int64_t> task;
    std::function<void(Device&, const Plan::Node&)> instead;
    const char* violation;
  } cases[] = {
      {{2, 1}, [](auto&, auto&) {}, "early: graph 0, step 3, point 0, input 1: expected (2, 1)"},
      {{4, 3}, [](auto&, auto&) {}, "skipped: graph 0, step 4, point 3"},
      {{4, 3},
       [](Device& device, const Plan::Node& node) {
         device.execute(node);
         device.execute(node);
       },
       "repeated: graph 0, step 4, point 3"},
      {{1, 2},
       [](Device& device, const Plan::Node& node) { device.execute(node, 1); },  // by one block only
       "early: graph 0, step 2, point 1, input 2: expected (1, 2)"},
      {{1, 3},
       [](Device& device, const Plan::Node& node) {
         device.execute(node);
         std::fill_n(node.output, 16, std::byte{0});
       },
       "wrong_bytes: graph 0, step 2, point 2, input 2: expected (1, 3)"},
      {{3, 0}, flipping(0, std::byte{0x80}), "wrong_bytes: graph 0, step 4, point 0, input 0"},
      {{3, 0}, flipping(15, std::byte{0x80}), "wrong_bytes: graph 0, step 4, point 0, input 0"},
      {{3, 0}, flipping(bytes - 1, std::byte{0x80}), "wrong_bytes: graph 0, step 4, point 0, input 0"},
  };
  for (const auto& [task, instead, violation] : cases)
    EXPECT_THAT(found(validation, bytes, task, instead), testing::StartsWith(violation));
}

INSTANTIATE_TEST_SUITE_P(All, DeviceMutation,
                         testing::Combine(testing::Values(Validation::sample, Validation::full),
                                          testing::Values(std::size_t{16}, std::size_t{24}, std::size_t{61},
                                                          std::size_t{4096})));

TEST(Device, FindsThatStepsAreOutOfOrder) {
  Execution run({stencil()}, Validation::sample, Isa::automatic);
  Device device(run, 0);
  const auto& nodes = device.plan().nodes();
  for (std::size_t k = nodes.size(); k-- > 0;) device.execute(nodes[k]);
  const auto violation = device.settle();
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->kind, ViolationKind::early);
}

TEST(Device, EveryByteOfALongInputIsChecked) {
  for (std::size_t at = 0; at < 203; ++at)
    ASSERT_NE(found(Validation::full, 203, {3, 0}, flipping(at, std::byte{1})), "") << at;
}

TEST(Device, AnOutputIsFilledAsOnACoreWhereverItLies) {
  for (const std::size_t bytes : {16, 17, 31, 32, 100})
    for (const std::size_t offset : {0, 1, 4, 8}) {
      alignas(16) std::byte memory[128];
      device::Task task{};
      task.output = memory + offset;
      task.output_bytes = static_cast<std::int64_t>(bytes);
      const Cell cell = Cell::of(2, 0x123456789, 77);
      task.cell[0] = cell.graph_and_step;
      task.cell[1] = cell.point;
      for (std::int64_t lane = 0; lane < 5; ++lane) device::fill(task, lane, 5);
      for (std::size_t k = 0; k < bytes; ++k)
        ASSERT_EQ(task.output[k], reinterpret_cast<const std::byte*>(&cell)[k % 16])
            << bytes << ' ' << offset << ' ' << k;
    }
}

TEST(Device, AllLanesTogetherDoTheWorkOfTheIterations) {
  for (const std::int64_t lanes : {1, 3, 64, 132 * 1024})
    for (const std::int64_t iterations : {0, 1, 7, 16896, 1'000'003}) {
      std::int64_t fmas = 0;
      for (std::int64_t lane = 0; lane < lanes; ++lane)
        fmas += device::rounds_of(iterations, lane, lanes) * device::chains;
      EXPECT_EQ(fmas, 64 * iterations);
    }
}

TEST(Device, ValuesStayFiniteAndNegative) {
  for (std::int64_t lane = 0; lane < 64; ++lane) {
    for (const std::int64_t rounds : {0, 1, 100, 200'000}) {
      const double sum = device::fma_chains(rounds, lane);
      EXPECT_TRUE(std::isnormal(sum));
      EXPECT_LT(sum, 0);
      EXPECT_GT(sum, -device::chains);
    }
  }
  EXPECT_LT(device::busy_wait(1000), 0);
}

TEST(Device, ARunOfACoreAndOfADeviceAreBookedAlike) {
  GraphSpec spec = stencil();
  spec.kernel = {.name = "load_imbalance", .iterations = 100, .imbalance = 1.0};
  Execution there({spec}, Validation::sample, Isa::automatic), here({spec}, Validation::sample, Isa::automatic);
  Device device(there, 0);
  for (const Plan::Node& node : device.plan().nodes()) device.execute(node);
  ASSERT_FALSE(device.settle());
  const Plan plan(here.graphs()[0]);
  for (const Plan::Node& node : plan.nodes()) {
    std::vector<const std::byte*> inputs;
    for (std::size_t k = 0; k < node.inputs_number; ++k) inputs.push_back(plan.inputs()[node.first_input + k].data);
    here.execute_point(here.context(0), 0, node.step, node.point, node.output, inputs);
  }
  ASSERT_FALSE(here.verify());
  EXPECT_EQ(there.accounts().executed, here.accounts().executed);
  EXPECT_EQ(there.accounts().dependencies, here.accounts().dependencies);
  EXPECT_EQ(there.accounts().flops, here.accounts().flops);
  EXPECT_EQ(there.accounts().work, here.accounts().work);
}

TEST(Device, RunsEveryKernelThatHasADeviceSide) {
  for (const KernelEntry& kernel : kernels()) {
    if (kernel.device == DeviceWork::absent) continue;
    SCOPED_TRACE(kernel.name);
    GraphSpec spec = stencil();
    spec.kernel = {.name = std::string(kernel.name), .iterations = 5, .scratch_bytes = 8 * 96, .samples = 8};
    try {
      Execution run({spec}, Validation::full, Isa::automatic);
      device::check_kernel(run.kernel(0), "it");
      Device device(run, 0);
      for (const Plan::Node& node : device.plan().nodes()) device.execute(node);
      EXPECT_FALSE(device.settle());
      const std::int64_t iterations = kernel.does_nothing() ? 0 : 5 * run.tasks();
      EXPECT_EQ(run.accounts().work, static_cast<double>(iterations) * run.kernel(0).work_per_iteration());
    } catch (const Unsupported& no_blas) {
      EXPECT_THAT(no_blas.what(), testing::HasSubstr("BLAS"));
    }
  }
}

TEST(Device, MemoryKernelsVisitTheirSamples) {
  for (const std::string kernel : {"memory_bound", "memory_daxpy"}) {
    GraphSpec spec{.pattern = "trivial", .steps = 2, .width = 1};
    spec.kernel = {.name = kernel, .iterations = 5, .scratch_bytes = 8 * 96, .samples = 8};
    try {
      Execution run({spec}, Validation::sample, Isa::automatic);
      Device device(run, 0);
      for (const Plan::Node& node : device.plan().nodes()) device.execute(node);
      EXPECT_FALSE(device.settle());
      if (kernel == "memory_bound") {
        EXPECT_THAT(device.scratch(), testing::Each(0.5));
      } else {  // ten iterations, each on the second half of a sample of twelve
        EXPECT_NEAR(std::accumulate(device.scratch().begin(), device.scratch().end(), 0.0), 96 * 0.5 + 10 * 6 * 0.5e-3,
                    1e-9);
      }
    } catch (const Unsupported& no_blas) {
      EXPECT_THAT(no_blas.what(), testing::HasSubstr("BLAS"));
    }
  }
}

TEST(Device, WhatIsNoNumberIsAFailure) {
  Execution run({stencil()}, Validation::sample, Isa::automatic);
  Device device(run, 0);
  for (const Plan::Node& node : device.plan().nodes()) device.execute(node);
  device.books().sink = std::nan("");
  EXPECT_FALSE(device.settle());
  EXPECT_TRUE(run.failure());
}

TEST(Device, RefusesWhatItCannot) {
  EXPECT_THROW(device::check_kernel(Kernel({.name = "io_bound", .iterations = 1}, Isa::automatic), "it"), Unsupported);
  EXPECT_NO_THROW(device::check_kernel(Kernel({.name = "empty"}, Isa::automatic), "it"));
  EXPECT_THROW(Plan(Graph({.pattern = "trivial", .steps = Plan::most_nodes, .width = 2})), Unsupported);
  EXPECT_THROW(device::Books(Graph({.pattern = "trivial", .steps = device::most_tasks, .width = 2})), Unsupported);
  const Graph graph(stencil());
  std::vector<device::Input> inputs;
  EXPECT_THROW(device::append_inputs(graph, 1, 1, {}, inputs), std::logic_error);
}

}  // namespace
}  // namespace taskgrain
