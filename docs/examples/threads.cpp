/// A driver: one thread a core, and a barrier after every step.

#include <barrier>
#include <thread>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/outputs.hpp"

namespace {

using namespace taskgrain;

class Threads final : public System {
 public:
  std::string name() const override { return "threads"; }
  std::string version() const override { return "1"; }
  int cores() const override { return static_cast<int>(processors_.size()); }
  std::vector<std::vector<int>> binding() override {
    std::vector<std::vector<int>> observed(processors_.size());
    on_every_core([&](std::size_t k) { observed[k] = binding_of_this_thread(); });
    return observed;
  }

  void prepare(Execution& run) override {
    outputs_.clear();
    for (const Graph& graph : run.graphs()) outputs_.emplace_back(graph);
  }

  void execute(Execution& run) override {
    std::barrier step_done(cores());
    on_every_core([&](std::size_t k) {
      ThreadContext& context = run.context(k);
      std::vector<const std::byte*> space;
      for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step) {
        for (std::size_t g = 0; g < outputs_.size(); ++g) {
          const Interval points = run.graphs()[g].points(step);
          for (std::int64_t point = points.first + static_cast<std::int64_t>(k); point <= points.last; point += cores())
            run.execute_point(context, g, step, point, outputs_[g].at(step, point),
                              outputs_[g].inputs(step, point, space));
        }
        step_done.arrive_and_wait();
      }
    });
  }

 private:
  template <typename Body>
  void on_every_core(Body body) const {
    std::vector<std::jthread> threads;
    for (std::size_t k = 0; k < processors_.size(); ++k)
      threads.emplace_back([&, k] {
        pin_this_thread(processors_[k]);
        body(k);
      });
  }

  std::vector<int> processors_ = taskgrain::cores();
  std::vector<Outputs> outputs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Threads>(argc, argv); }
