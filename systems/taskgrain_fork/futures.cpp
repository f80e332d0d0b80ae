/// Futures: a task for each point, which follows those of the points that it depends on. No step waits for another.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/rt.hpp"

namespace {

using namespace taskgrain;
using Output = rt::SharedFuture<std::vector<std::byte>>;

class TaskgrainFutures final : public System {
 public:
  std::string name() const override { return "taskgrain_fork"; }
  std::string version() const override { return rt::version; }
  int cores() const override { return runtime_.workers(); }

  std::vector<std::vector<int>> binding() override {
    return runtime_.on_each_worker([](int) { return binding_of_this_thread(); });
  }

  void prepare(Execution& run) override { contexts_ = run.contexts(cores()); }

  void execute(Execution& run) override {
    rt::fork_join(runtime_, [&] {
      for (std::size_t g = 0; g < run.graphs().size(); ++g) give(run, g);
    });
    runtime_.wait();
    for (const Output& end : std::exchange(ends_, {})) end.get();  // throws what a task has thrown
  }

 private:
  void give(Execution& run, std::size_t g) {
    const Graph& graph = run.graphs()[g];
    std::map<std::int64_t, Output> last, next;
    for (std::int64_t step = 0; step < graph.steps(); ++step, last.swap(next), next.clear())
      for (std::int64_t point = graph.points(step).first; point <= graph.points(step).last; ++point) {
        std::vector<Output> inputs;
        for (const Interval deps : graph.deps(step, point))
          for (std::int64_t dep = deps.first; dep <= deps.last; ++dep) inputs.push_back(last.at(dep));
        const auto task = [this, &run, &graph, g, step, point](const std::vector<Output>& of) {
          std::vector<std::byte> output(graph.output_bytes());
          thread_local std::vector<const std::byte*> space;
          space.clear();
          for (const Output& input : of) space.push_back(input.get().data());
          run.execute_point(*contexts_[static_cast<std::size_t>(rt::this_worker())], g, step, point, output.data(),
                            space);
          return output;
        };
        next.emplace(point, inputs.empty() ? rt::async(runtime_, [task] { return task({}); })
                                           : rt::when_all(std::move(inputs)).then(task));
      }
    for (const auto& [point, output] : last) ends_.push_back(output);
  }

  rt::Runtime runtime_{{.cores = taskgrain::cores()}};
  std::vector<ThreadContext*> contexts_;
  std::vector<Output> ends_;  // of the last steps
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TaskgrainFutures>(argc, argv); }
