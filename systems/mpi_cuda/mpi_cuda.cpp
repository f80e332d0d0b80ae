/// The offload model of the Task Bench paper (section III, "MPI+CUDA"): ranks that exchange messages from host memory;
/// in every step the inputs are copied to the GPU, a kernel is launched for each task, and the outputs are copied back.
/// The GPUs of a node are dealt out to its ranks; several ranks on one GPU give it work side by side.
///
/// Copies are few and large: whatever lies together goes together. A graph has a stream, so that one's copies and
/// messages travel during another's kernels, and is waited for once a step.

#include <exception>
#include <set>
#include <string>
#include <vector>

#include "../mpi/ranks.hpp"
#include "device.hpp"
#include "launch.hpp"
#include "mirror.hpp"

namespace {

using namespace taskgrain;

/// What a rank needs on its device for a graph.
struct Offload {
  /// A class of steps: its tasks, complete but for the step, and what is copied before and after them.
  struct Stage {
    std::set<const Mirror::Piece*> up, down;
    std::vector<std::byte*> outputs;
    std::vector<std::size_t> ends;  ///< of each task's inputs
    device::Memory<device::Input> inputs{0};
  };

  Offload(const Execution& run, std::size_t g, unsigned blocks, bool distributed)
      : account(run, g, blocks, distributed) {}

  void add(const Graph& graph, std::int64_t step, const Program& program, const Mirror& mirror) {
    Stage& stage = stages.emplace_back();
    std::vector<device::Input> inputs;
    std::vector<const std::byte*> there;
    for (const Item& item : program.items) {
      there.clear();
      for (const std::byte* input : item.inputs) {
        const Mirror::Piece& piece = mirror.piece_of(input);
        stage.up.insert(&piece);
        there.push_back(piece.there(input));
      }
      device::append_inputs(graph, step, item.point, there, inputs);
      stage.ends.push_back(inputs.size());
      const Mirror::Piece& piece = mirror.piece_of(item.output);
      stage.down.insert(&piece);
      stage.outputs.push_back(piece.there(item.output));
    }
    stage.inputs = device::Memory<device::Input>(std::span<const device::Input>(inputs));
  }

  void start(const Execution& run, std::size_t g, std::int64_t step, const Program& program, const Stage& stage) const {
    for (const Mirror::Piece* piece : stage.up) piece->up(stream);
    for (std::size_t k = 0; k < program.items.size(); ++k) {
      const std::size_t first = k == 0 ? 0 : stage.ends[k - 1];
      const device::Task task =
          device::task_of(run, g, step, program.items[k].point, stage.outputs[k], stage.inputs.data() + first,
                          static_cast<std::int64_t>(stage.ends[k] - first), account.shared());
      device::check(device::launch(task, stream), "launch");
    }
    for (const Mirror::Piece* piece : stage.down) piece->down(stream);
  }

  device::Account account;
  device::Stream stream;
  std::vector<Stage> stages;  ///< by class of steps
};

/// The mirror is a base because exchanges, which are the other base's, go first.
class MpiCuda final : private Mirror, public RankForEachCore {
 public:
  MpiCuda() {
    together([&] { device::choose(rank_on_node()); });
  }

  std::string name() const override { return "mpi_cuda"; }
  std::string version() const override { return ProcessSystem::version() + ", CUDA " + device::version(); }

  void prepare(Execution& run) override {
    offloads_.clear();
    for (std::size_t g = 0; g < run.graphs().size(); ++g) device::check_kernel(run.kernel(g), name());
    RankForEachCore::prepare(run);
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      offloads_.push_back(std::make_unique<Offload>(run, g, device::blocks(), ranks() > 1));
      for (const std::int64_t step : exchange(g).representatives())
        offloads_[g]->add(run.graphs()[g], step, exchange(g).program(step), *this);
    }
  }

  void execute(Execution& run) override {
    // What fails on one rank must not leave the others waiting: the messages go on.
    const auto guarded = [&](auto body) {
      try {
        body();
      } catch (...) {
        run.book_failure(run.context(0), std::current_exception());
      }
    };
    for_graphs(1, [](std::size_t, Exchange& exchange) { exchange.post(1); });
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step) {
      for_graphs(step, [&](std::size_t g, Exchange& exchange) {
        exchange.wait(step);
        const Offload& offload = *offloads_[g];
        guarded([&] { offload.start(run, g, step, exchange.program(step), offload.stages[exchange.class_of(step)]); });
      });
      for_graphs(step, [&](std::size_t g, Exchange& exchange) {
        guarded([&] { offloads_[g]->stream.wait(); });
        exchange.send(step);
        exchange.post(step + 2);
      });
    }
    finish();
  }

  void settle(Execution& run) override {
    try {
      for (const auto& offload : offloads_) offload->account.settle(run, run.context(0));
    } catch (...) {
      run.book_failure(run.context(0), std::current_exception());
    }
  }

 protected:
  std::pmr::memory_resource* memory() override { return this; }

 private:
  std::vector<std::unique_ptr<Offload>> offloads_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<MpiCuda>(argc, argv); }
