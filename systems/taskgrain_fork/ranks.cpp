/// Loops over global arrays: in each step all ranks run their tasks of all graphs, and read the outputs of others
/// wherever they are. Two arrays for each graph take turns.

#include <deque>
#include <ranges>
#include <vector>

#include "taskgrain/process_system.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/rt/mpi.hpp"

namespace {

using namespace taskgrain;

/// The outputs of one graph, of this step and of the one before.
struct Outputs {
  Outputs(rt::GlobalMemory& memory, const Graph& of)
      : graph(of), stride((of.output_bytes() + 127) / 128 * 128), ranks(static_cast<std::size_t>(memory.ranks())),
        points((static_cast<std::size_t>(of.width()) + ranks - 1) / ranks), even(memory, bytes(), {points * stride}),
        odd(memory, bytes(), {points * stride}) {}

  std::size_t bytes() const { return static_cast<std::size_t>(graph.width()) * stride; }
  const rt::GlobalArray<std::byte>& of(std::int64_t step) const { return step % 2 == 0 ? even : odd; }
  std::size_t at(std::int64_t point) const { return static_cast<std::size_t>(point) * stride; }
  rt::Checkout<const std::byte> read(std::int64_t step, std::int64_t first, std::int64_t last) const {
    return of(step).read(at(first), at(last + 1 - first));
  }
  /// Outputs of other hosts, so that they are there when the first task reads them.
  void prefetch(std::int64_t step, std::int64_t first, std::int64_t last) const {
    of(step).prefetch(at(first), at(last + 1 - first));
  }
  /// The tasks of a rank in a step.
  Interval tasks(std::int64_t step, int rank) const {
    const auto number = static_cast<std::int64_t>(points), first = rank * number;
    const Interval all = graph.points(step);
    return {std::max(all.first, first), std::min(all.last, first + number - 1)};
  }

  const Graph& graph;
  std::size_t stride, ranks, points;
  rt::GlobalArray<std::byte> even, odd;
};

class TaskgrainForkRanks final : public ProcessSystem {
 public:
  TaskgrainForkRanks() : ProcessSystem(MPI_THREAD_MULTIPLE) {}  // any worker waits for what it reads

  std::string name() const override { return "taskgrain_fork"; }
  std::string version() const override { return std::string(rt::version) + ", " + ProcessSystem::version(); }
  int cores() const override { return ranks() * runtime_.workers(); }

  std::vector<std::vector<int>> binding() override {
    return gather_binding(runtime_.on_each_worker([](int) { return binding_of_this_thread(); }));
  }

  void prepare(Execution& run) override {
    if (ranks() > 1) run.distribute();
    contexts_ = run.contexts(runtime_.workers());
    outputs_.clear();
    for (const Graph& graph : run.graphs()) outputs_.emplace_back(memory_, graph);
  }

  void execute(Execution& run) override {
    struct Task {
      std::size_t graph;
      std::int64_t point;
    };
    std::vector<Task> tasks;
    rt::fork_join(runtime_, [&] {
      for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step) {
        tasks.clear();
        for (std::size_t g = 0; g < outputs_.size(); ++g)
          for (auto [point, last] = outputs_[g].tasks(step, rank()); point <= last; ++point)
            tasks.push_back({g, point});
        for (const auto [g, point] : tasks)
          for (const auto [first, last] : outputs_[g].graph.deps(step, point))
            outputs_[g].prefetch(step - 1, first, last);
        rt::parallel_for(memory_, tasks, [&](Task task) {
          const Outputs& outputs = outputs_[task.graph];
          thread_local std::vector<rt::Checkout<const std::byte>> held;
          thread_local std::vector<const std::byte*> inputs;
          const struct Ended {
            ~Ended() { held.clear(); }
          } ended;
          inputs.clear();
          for (const auto [first, last] : outputs.graph.deps(step, task.point)) {
            held.push_back(outputs.read(step - 1, first, last));
            for (std::int64_t point = first; point <= last; ++point)
              inputs.push_back(held.back().data() + outputs.at(point - first));
          }
          const auto output = outputs.of(step).write(outputs.at(task.point), outputs.stride);
          run.execute_point(*contexts_[static_cast<std::size_t>(rt::this_worker())], task.graph, step, task.point,
                            output.data(), inputs);
        });
      }
    });
  }

 private:
  rt::MpiCommunicator comm_{MPI_COMM_WORLD};
  rt::Runtime runtime_{{.cores = own_processors(), .communicator = &comm_}};
  rt::Pinned pinned_{runtime_.cores()[0]};  // else `fork_join` does and undoes it each time
  rt::GlobalMemory memory_{runtime_};
  std::vector<ThreadContext*> contexts_;
  std::deque<Outputs> outputs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TaskgrainForkRanks>(argc, argv); }
