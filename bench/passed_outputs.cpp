/// What it costs that outputs are passed on from step to step: a graph of `taskgrain graph --from … --output`, with
/// its points that pass outputs on, and with edges that skip steps instead.
///
///     passed-outputs FILE MICROSECONDS
///
/// The tasks take so long on average, each with its weight. OpenMP tasks and a compiled graph run both in turn; a task
/// of the compiled graph belongs to the same worker in both.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "core/dag.hpp"
#include "taskgrain/graph.hpp"
#include "taskgrain/rt.hpp"

namespace {

using namespace taskgrain;
using Clock = std::chrono::steady_clock;

struct Task {
  double weight;
  std::int64_t point;
  std::vector<std::size_t> before;
};

/// The points of a graph, each after those that it depends on; without those that pass outputs on if edges `skip`.
std::vector<Task> tasks_of(const Graph& graph, bool skip) {
  std::vector<Task> tasks;
  std::vector<std::vector<std::size_t>> at(static_cast<std::size_t>(graph.steps()));
  for (std::int64_t step = 0; step < graph.steps(); ++step) {
    const Interval points = graph.points(step);
    for (std::int64_t i = points.first; i <= points.last; ++i) {
      Task task{graph.dag().weight(step, i), i, {}};
      for (const Interval deps : graph.deps(step, i))
        for (std::int64_t j = deps.first; j <= deps.last; ++j)
          task.before.push_back(
              at[static_cast<std::size_t>(step) - 1][static_cast<std::size_t>(j - graph.points(step - 1).first)]);
      const bool passes = task.weight == 0 && task.before.size() == 1;
      at[static_cast<std::size_t>(step)].push_back(skip && passes ? task.before[0] : tasks.size());
      if (!skip || !passes) tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

double seconds_of(const std::function<void()>& run) {
  const auto begin = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: passed-outputs FILE MICROSECONDS\n"), 2;
  const Graph graph({.pattern = "dag", .dag = argv[1], .kernel = {}});
  const KernelLoop loop = compute_bound(Isa::automatic);
  constexpr std::int64_t calibrated = 1'000'000;
  loop(calibrated);
  const double iteration = seconds_of([&] { loop(calibrated); }) / calibrated;
  const double work = std::atof(argv[2]) * 1e-6 * static_cast<double>(tasks_of(graph, true).size());
  const double mean = work / iteration / static_cast<double>(graph.tasks());

  rt::Runtime runtime;
  struct Form {
    std::vector<Task> tasks;
    std::vector<char> outputs;
    std::optional<rt::CompiledGraph> compiled;
    std::vector<double> openmp, rt;
  };
  std::vector<Form> forms(2);
  for (std::size_t k = 0; k < 2; ++k) {
    Form& form = forms[k];
    form.tasks = tasks_of(graph, k == 1);
    form.outputs.resize(form.tasks.size());
    rt::TaskGraph body("body");
    std::vector<rt::TaskGraph::Node> nodes;
    for (const Task& task : form.tasks) {
      nodes.push_back(body.task(static_cast<int>(task.point * runtime.workers() / graph.width()),
                                [&, n = std::llround(task.weight * mean)](const rt::Turn&) { loop(n); }));
      for (const std::size_t one : task.before) body.edge(nodes[one], nodes.back());
    }
    form.compiled.emplace(runtime, std::move(body));
  }
  const auto openmp = [&](Form& form) {
    [[maybe_unused]] char* outputs = form.outputs.data();
#pragma omp parallel num_threads(runtime.workers())
#pragma omp single
    for (std::size_t t = 0; t < form.tasks.size(); ++t) {
      const std::int64_t iterations = std::llround(form.tasks[t].weight * mean);
      const std::size_t* before = form.tasks[t].before.data();
      const auto number = static_cast<std::int64_t>(form.tasks[t].before.size());
#pragma omp task firstprivate(iterations) depend(iterator(k = 0 : number), in : outputs[before[k]]) \
    depend(out : outputs[t])
      loop(iterations);
    }
  };
  for (int repeat = 0; repeat < 30; ++repeat)
    for (Form& form : forms) {
      form.rt.push_back(seconds_of([&] {
        form.compiled->launch();
        runtime.wait();
      }));
      form.openmp.push_back(seconds_of([&] { openmp(form); }));
    }
  std::printf("%zu tasks, %zu points with those that pass outputs on\n", forms[1].tasks.size(), forms[0].tasks.size());
  for (const auto& [name, times] : {std::pair{"compiled graph", &Form::rt}, std::pair{"OpenMP tasks", &Form::openmp}}) {
    const double with = median(forms[0].*times), without = median(forms[1].*times);
    std::printf("%s: %.1f us with them, %.1f us without, %.3f times as long\n", name, with * 1e6, without * 1e6,
                with / without);
  }
}
