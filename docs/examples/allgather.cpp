/// A driver of several processes: every rank runs a block of columns and then tells all others what it has computed.

#include <vector>

#include "taskgrain/process_system.hpp"

namespace {

using namespace taskgrain;

class AllGather final : public ProcessSystem {
 public:
  AllGather() : ProcessSystem(MPI_THREAD_SINGLE) { pin_this_thread(own_processors()[0]); }

  std::string name() const override { return "allgather"; }
  int cores() const override { return ranks(); }
  std::vector<std::vector<int>> binding() override { return gather_binding({binding_of_this_thread()}); }

  void prepare(Execution& run) override {
    if (ranks() > 1) run.distribute();
  }

  void execute(Execution& run) override {
    for (std::size_t g = 0; g < run.graphs().size(); ++g) execute_graph(run, g);
  }

 private:
  void execute_graph(Execution& run, std::size_t g) {
    const Graph& graph = run.graphs()[g];
    const std::size_t bytes = graph.output_bytes();
    const auto at = [&](auto& outputs, std::int64_t point) {
      return outputs.data() + static_cast<std::size_t>(point) * bytes;
    };
    std::vector<std::byte> before(static_cast<std::size_t>(graph.width()) * bytes), now = before;
    std::vector<int> lengths, starts;
    for (int r = 0; r < ranks(); ++r) {
      lengths.push_back(static_cast<int>(columns(graph, r).size()) * static_cast<int>(bytes));
      starts.push_back(static_cast<int>(columns(graph, r).first) * static_cast<int>(bytes));
    }
    const Interval own = columns(graph, rank());
    std::vector<const std::byte*> inputs;
    for (std::int64_t step = 0; step < graph.steps(); ++step) {
      const Interval points = graph.points(step);
      for (std::int64_t point = std::max(own.first, points.first); point <= std::min(own.last, points.last); ++point) {
        inputs.clear();
        for (const Interval deps : graph.deps(step, point))
          for (std::int64_t dep = deps.first; dep <= deps.last; ++dep) inputs.push_back(at(before, dep));
        run.execute_point(run.context(0), g, step, point, at(now, point), inputs);
      }
      MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, now.data(), lengths.data(), starts.data(), MPI_BYTE, MPI_COMM_WORLD);
      std::swap(before, now);
    }
  }
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<AllGather>(argc, argv); }
