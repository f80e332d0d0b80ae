/// Each rank submits the tasks of its own columns, and the messages that they need and cause: explicit, where in a
/// sequential task flow over all ranks each would look at every task.
///
/// StarPU wants one rank for each node, or for each of its parts, and a core for the thread that sees to the messages:
/// the last core of a rank executes no tasks. A rank of one core has to share it.

#include <starpu_mpi.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <deque>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../starpu/flow.hpp"
#include "../starpu/workers.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/process_system.hpp"
#include "taskgrain/step_classes.hpp"

namespace {

using namespace taskgrain;

/// An output of the step before that goes from one rank to another.
struct Crossing {
  std::int64_t point;
  int rank;  ///< the other

  auto operator<=>(const Crossing&) const = default;
};

/// The tasks and messages of a rank in one graph.
class Part {
 public:
  /// \param ahead      the same on all ranks, as the tags depend on it
  /// \param owners     rank of each point
  /// \param first_tag  of the graph's messages
  Part(Execution& run, std::size_t g, Interval own, StarpuWorkers& workers, int ahead, const std::vector<int>& owners,
       std::size_t first_tag)
      : graph_(run.graphs()[g]), first_tag_(first_tag), flow_(run, g, own, workers, ahead), classes_(graph_) {
    const auto of_others = [&](const Points& points, auto body) {
      points.for_each([&](Interval interval) {
        for (std::int64_t j = interval.first; j <= interval.last; ++j)
          if (!own.contains(j)) body(j, owners[static_cast<std::size_t>(j)]);
      });
    };
    for (const std::int64_t step : classes_.representatives()) {
      auto& [leave, arrive] = crossings_.emplace_back();
      for (std::int64_t i = own.first; i <= own.last; ++i) {
        if (graph_.contains(step - 1, i))
          of_others(graph_.reverse_deps(step - 1, i), [&](std::int64_t, int rank) { leave.insert({i, rank}); });
        if (graph_.contains(step, i))
          of_others(graph_.deps(step, i), [&](std::int64_t j, int rank) { arrive.insert({j, rank}); });
      }
      for (const Crossing& crossing : arrive) flow_.add_remote(crossing.point);
    }
  }

  std::size_t tags() const { return flow_.places(); }

  void submit(std::int64_t step) {
    if (step >= graph_.steps()) return;
    const Crossings& crossings = crossings_[classes_[step]];
    // A tag for each place of data, as StarPU wants it: it keeps the reads and writes of each in order, and never
    // forgets a tag.
    const auto tag = [&](std::int64_t point) {
      return static_cast<starpu_mpi_tag_t>(first_tag_ + flow_.place(step - 1, point));
    };
    for (const auto [point, rank] : crossings.leave)
      starpu_mpi_isend_detached(flow_.handle(step - 1, point), rank, tag(point), MPI_COMM_WORLD, nullptr, nullptr);
    for (const auto [point, rank] : crossings.arrive)
      starpu_mpi_irecv_detached(flow_.handle(step - 1, point), rank, tag(point), MPI_COMM_WORLD, nullptr, nullptr);
    flow_.submit(step);
  }

 private:
  struct Crossings {
    std::set<Crossing> leave, arrive;
  };

  const Graph& graph_;
  const std::size_t first_tag_;
  Flow flow_;
  StepClasses classes_;
  std::vector<Crossings> crossings_;  ///< by class of the step that reads
};

class StarpuMpi final : public ProcessSystem {
 public:
  /// StarPU's thread uses MPI as well as this one.
  StarpuMpi() : ProcessSystem(MPI_THREAD_MULTIPLE) {
    // StarPU's thread for messages starts where this one is, and stays there.
    setenv("STARPU_MPI_NOBIND", "1", 1);
    pin_this_thread(processors_.back());
    if (starpu_mpi_init_comm(nullptr, nullptr, 0, MPI_COMM_WORLD) != 0)
      throw std::runtime_error("StarPU-MPI does not start");
    pin_this_thread(processors_.front());
    const int ahead = workers_.ahead();
    MPI_Allreduce(&ahead, &ahead_, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  ~StarpuMpi() override {
    workers_.wake();
    parts_.clear();
    starpu_mpi_shutdown();
  }

  std::string name() const override { return "starpu_mpi"; }
  std::string version() const override { return starpu_version() + ", " + ProcessSystem::version(); }
  int cores() const override { return ranks() * (workers_.number() + (processors_.size() > 1 ? 1 : 0)); }
  std::vector<std::vector<int>> binding() override {
    std::vector<std::vector<int>> own = workers_.binding();
    if (processors_.size() > 1) own.push_back(messenger_binding());
    return gather_binding(own);
  }

  void prepare(Execution& run) override {
    if (ranks() > 1) run.distribute();
    parts_.clear();
    std::size_t tag = 0;
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      const Graph& graph = run.graphs()[g];
      if (graph.output_bytes() > INT_MAX)
        throw Unsupported("starpu_mpi: output_bytes above 2^31 - 1, the most that one message counts");
      std::vector<int> owners;
      for (int r = 0; r < ranks(); ++r)
        owners.insert(owners.end(), static_cast<std::size_t>(columns(graph, r).size()), r);
      parts_.emplace_back(run, g, columns(graph, rank()), workers_, ahead_, owners, tag);
      tag += parts_.back().tags();
    }
  }

  void execute(Execution& run) override {
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step)
      for (Part& part : parts_) part.submit(step);
    workers_.work_until(0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
  }

  void barrier() override { workers_.wake(), ProcessSystem::barrier(); }
  std::optional<Violation> gather(const Execution& run, Accounts& accounts) override {
    workers_.rest();
    return ProcessSystem::gather(run, accounts);
  }

 private:
  static std::vector<int> without_messenger(std::vector<int> processors) {
    if (processors.size() > 1) processors.pop_back();
    return processors;
  }
  /// The processors that StarPU's thread for messages may run on, observed by itself when a message to this rank
  /// arrives.
  std::vector<int> messenger_binding() const {
    struct {
      std::vector<int> processors;
      std::atomic<bool> there{false};
    } seen;
    std::array<int, 2> content{};
    std::array<starpu_data_handle_t, 2> data;
    for (std::size_t k = 0; k < 2; ++k)
      starpu_variable_data_register(&data[k], STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(&content[k]),
                                    sizeof(int));
    const auto observe = [](void* at) {
      auto& own = *static_cast<decltype(seen)*>(at);
      own.processors = binding_of_this_thread();
      own.there.store(true, std::memory_order_release);
    };
    starpu_mpi_isend_detached(data[0], rank(), 0, MPI_COMM_WORLD, nullptr, nullptr);
    starpu_mpi_irecv_detached(data[1], rank(), 0, MPI_COMM_WORLD, observe, &seen);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    // StarPU counts the message as received before it has called `observe`.
    while (!seen.there.load(std::memory_order_acquire)) std::this_thread::yield();
    for (const starpu_data_handle_t one : data) starpu_data_unregister(one);
    return seen.processors;
  }

  const std::vector<int> processors_ = own_processors();
  StarpuWorkers workers_{without_messenger(processors_)};
  int ahead_ = 0;
  std::deque<Part> parts_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<StarpuMpi>(argc, argv); }
