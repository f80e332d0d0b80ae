/// Sequential task flow: one task for each point, submitted in program order; StarPU infers their dependences from the
/// data that they read and write.

#include <deque>
#include <string>
#include <vector>

#include "flow.hpp"
#include "taskgrain/driver.hpp"
#include "workers.hpp"

namespace {

using namespace taskgrain;

class Starpu final : public System {
 public:
  std::string name() const override { return "starpu"; }
  std::string version() const override { return starpu_version(); }
  int cores() const override { return workers_.number(); }
  std::vector<std::vector<int>> binding() override { return workers_.binding(); }

  void prepare(Execution& run) override {
    flows_.clear();
    for (std::size_t g = 0; g < run.graphs().size(); ++g)
      flows_.emplace_back(run, g, Interval{0, run.graphs()[g].width() - 1}, workers_, workers_.ahead());
  }

  void execute(Execution& run) override {
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step)
      for (Flow& flow : flows_) flow.submit(step);
    workers_.work_until(0);
  }

  void barrier() override { workers_.wake(); }
  std::optional<Violation> gather(const Execution& run, Accounts& accounts) override {
    workers_.rest();
    return System::gather(run, accounts);
  }

 private:
  StarpuWorkers workers_{taskgrain::cores()};
  std::deque<Flow> flows_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Starpu>(argc, argv); }
