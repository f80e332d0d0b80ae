/// A parametrised task graph across ranks, after TaskTorrent: tasks of one rank fulfill each other; to another rank
/// goes an active message, with the output if a task there reads it. A large output is not copied on the way: the
/// task that writes over it comes after those that read it, on all ranks.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "taskgrain/process_system.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/rt/mpi.hpp"
#include "taskgrain/task_table.hpp"

namespace {

using namespace taskgrain;

struct Task {
  std::uint32_t step, point;
};
using Arrive = rt::ActiveMessage<std::uint32_t, Task, rt::view<std::byte>>;
using ArriveLarge = rt::LargeActiveMessage<std::byte, std::uint32_t, Task>;
constexpr std::size_t large_bytes = 8192;

/// The tasks of one graph. Each rank has memory for all outputs; those of other ranks come in messages.
struct Tasks {
  static constexpr std::size_t at_once = 16;

  Execution* execution;
  std::uint32_t g;
  std::size_t width;
  int rank, workers;
  TaskTable table;
  std::vector<ThreadContext*> contexts;
  const Arrive* arrive;
  const ArriveLarge* arrive_large;

  int rank_of(std::int64_t point) const { return table.owner(point) / workers; }
  bool is_here(int core) const { return rank * workers <= core && core < (rank + 1) * workers; }
  int worker(Task task) const { return table.owner(task.point) - rank * workers; }  // \pre it is of this rank
  std::size_t number(Task task) const { return task.step * width + task.point; }
  int indegree(Task task) const {
    return static_cast<int>(table(task.step, task.point).before.size() +
                            table(task.step, task.point).far_before.size());
  }
  void run(Task task) const {
    const TaskTable::Task& found = table(task.step, task.point);
    execution->execute_point(*contexts[static_cast<std::size_t>(rt::this_worker())], g, task.step, task.point,
                             found.output, found.inputs);
    send(task, found.output);
  }
  void send(Task task, std::byte* output) const {
    // Cores that own what comes after a task ascend: first those of the next step.
    int told = rank;
    table.each_after_by_core(task.step, task.point, [&](int core, std::int64_t step, auto) {
      if (is_here(core)) return;
      const int to = core / workers;
      const bool is_next = step == task.step + 1;
      if (to == told || (!is_next && comes_next(task, to))) return;
      told = to;
      const std::size_t bytes = is_next && reads(task, to) ? table.graph().output_bytes() : 0;
      if (bytes < large_bytes)
        arrive->send(to, g, task, {output, bytes});
      else
        arrive_large->send(to, {output, bytes}, g, task);
    });
  }
  /// Whether a rank is told of the task already because of what comes next.
  bool comes_next(Task task, int of) const {
    return std::ranges::any_of(table.after(task.step, task.point), [&](auto point) { return rank_of(point) == of; });
  }
  /// Whether a rank reads the output. It must not get it otherwise: nothing there keeps a late one from lying over what
  /// the point has put out since. Where nothing is far, what comes next may only have to wait.
  bool reads(Task task, int of) const {
    if (table.far() > 0) return true;
    for (const Interval readers : table.graph().reverse_deps(task.step, task.point))
      for (std::int64_t point = readers.first; point <= readers.last; ++point)
        if (rank_of(point) == of) return true;
    return false;
  }
  void after(Task task, auto notify) const {
    table.each_after_by_core(task.step, task.point, [&](int core, std::int64_t step, auto points) {
      if (is_here(core))
        notify(core - rank * workers, points, [=](std::int64_t point) { return task_of(step, point); });
    });
  }
  static Task task_of(std::int64_t step, std::int64_t point) {
    return {static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(point)};
  }
};

class TaskgrainPtgRanks final : public ProcessSystem {
 public:
  TaskgrainPtgRanks() : ProcessSystem(MPI_THREAD_FUNNELED) {}

  std::string name() const override { return "taskgrain_ptg"; }
  std::string version() const override { return std::string(rt::version) + ", " + ProcessSystem::version(); }
  int cores() const override { return ranks() * runtime_.workers(); }

  std::vector<std::vector<int>> binding() override {
    return gather_binding(runtime_.on_each_worker([](int) { return binding_of_this_thread(); }));
  }

  void prepare(Execution& run) override {
    if (ranks() > 1) run.distribute();
    flows_.clear();
    for (std::uint32_t g = 0; const Graph& graph : run.graphs()) {
      if (std::max(graph.width(), graph.steps()) > UINT32_MAX)
        throw Unsupported("steps and points are numbered up to 2^32 - 1");
      flows_.emplace_back(runtime_,
                          Tasks{&run, g++, static_cast<std::size_t>(graph.width()), rank(), runtime_.workers(),
                                TaskTable(graph, cores()), run.contexts(runtime_.workers()), &arrive_, &arrive_large_});
    }
  }

  void execute(Execution&) override {
    for (auto& flow : flows_)
      for (const auto& [step, point] : flow.tasks().table.roots())
        if (flow.tasks().rank_of(point) == rank()) flow.fulfill(Tasks::task_of(step, point));
    runtime_.wait();
  }

 private:
  /// Another rank has run a task.
  void take(std::uint32_t g, Task task, rt::view<std::byte> output) {
    if (!output.empty()) std::memcpy(place(g, task), output.data(), output.size());
    flows_[g].fulfill_after(task);
  }
  std::byte* place(std::uint32_t g, Task task) { return flows_[g].tasks().table(task.step, task.point).output; }
  rt::MpiCommunicator comm_{MPI_COMM_WORLD};
  rt::Runtime runtime_{{.cores = own_processors(), .order = rt::Order::oldest, .communicator = &comm_}};
  rt::Pinned pinned_{runtime_.cores()[0]};  // else `wait` does and undoes it each time
  Arrive arrive_ = comm_.active_message(
      [this](std::uint32_t g, Task task, rt::view<std::byte> output) { take(g, task, output); }, "arrive");
  ArriveLarge arrive_large_ = comm_.large_active_message(
      [this](std::uint32_t g, Task task, std::size_t) { return place(g, task); },
      [this](std::uint32_t g, Task task) { flows_[g].fulfill_after(task); }, [](std::uint32_t, Task) {}, "arrive");
  std::deque<rt::Taskflow<Task, Tasks>> flows_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TaskgrainPtgRanks>(argc, argv); }
