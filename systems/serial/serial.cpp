/// One core, step by step, point by point: the reference of correctness.

#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/outputs.hpp"

namespace {

using namespace taskgrain;

class Serial final : public System {
 public:
  Serial() { pin_this_thread(taskgrain::cores().front()); }

  std::string name() const override { return "serial"; }
  std::string version() const override { return "1"; }
  int cores() const override { return 1; }
  std::vector<std::vector<int>> binding() override { return {binding_of_this_thread()}; }

  void prepare(Execution& run) override {
    outputs_.clear();
    for (const Graph& graph : run.graphs()) outputs_.emplace_back(graph);
  }

  void execute(Execution& run) override {
    ThreadContext& context = run.context(0);
    std::vector<const std::byte*> space;
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step) {
      for (std::size_t g = 0; g < run.graphs().size(); ++g) {
        const Interval points = run.graphs()[g].points(step);
        for (std::int64_t point = points.first; point <= points.last; ++point)
          run.execute_point(context, g, step, point, outputs_[g].at(step, point),
                            outputs_[g].inputs(step, point, space));
      }
    }
  }

 private:
  std::vector<Outputs> outputs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Serial>(argc, argv); }
