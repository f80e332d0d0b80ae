/// Dynamic task discovery over several ranks, each of which inserts the tasks of its own columns and those of others
/// that these exchange outputs with. Where all ranks insert all tasks, each looks at every task.

#include <mpi.h>
#include <parsec/data_dist/matrix/matrix.h>
#include <parsec/interfaces/dtd/insert_function_internal.h>

#include <climits>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../parsec_dtd/insertion.hpp"
#include "taskgrain/process_system.hpp"
#include "taskgrain/step_classes.hpp"

namespace {

using namespace taskgrain;

/// The tasks of a graph that a rank inserts.
class Part {
 public:
  /// \param first  number of the graph's first point among the points of all graphs
  Part(Execution& run, std::size_t g, int cores, ParsecRanks ranks, std::int64_t first)
      : first_(first), data_(run, g, cores, std::move(ranks)), classes_(data_.graph) {
    for (const std::int64_t step : classes_.representatives()) points_.push_back(points(step));
  }

  ParsecPart& data() { return data_; }

  /// \param row  number of the step's first point among those of all steps and graphs
  void insert(ParsecInsertion& insertion, std::int64_t step, std::int64_t row) {
    if (step >= data_.graph.steps()) return;
    for (const std::int64_t point : points_[classes_[step]]) {
      inputs_.clear();
      // Of what a task of another rank reads, this one has to know what it sends.
      for (const Interval deps : data_.graph.deps(step, point))
        for (std::int64_t dep = deps.first; dep <= deps.last; ++dep)
          if (data_.owns(point) || data_.owns(dep)) inputs_.push_back(data_.output(step - 1, dep));
      number_next(insertion, row + first_ + point);
      insertion.insert(data_, step, point, inputs_);
    }
  }

  /// PaRSEC numbers tasks as they are inserted and tells messages apart by these numbers, so they must be the same on
  /// all ranks.
  static void number_next(ParsecInsertion& insertion, std::int64_t number) {
    reinterpret_cast<parsec_dtd_taskpool_t*>(insertion.pool())->task_id = static_cast<int>(number);
  }

 private:
  std::set<std::int64_t> points(std::int64_t step) const {
    const Graph& graph = data_.graph;
    std::set<std::int64_t> found;
    const auto add = [&](const Points& points) {
      points.for_each([&](Interval interval) {
        for (std::int64_t j = interval.first; j <= interval.last; ++j) found.insert(j);
      });
    };
    for (std::int64_t point = 0; point < graph.width(); ++point) {
      if (!data_.owns(point)) continue;
      if (graph.contains(step, point)) found.insert(point);
      if (graph.contains(step - 1, point)) add(graph.reverse_deps(step - 1, point));
      if (graph.contains(step + 1, point)) add(graph.deps(step + 1, point));
    }
    return found;
  }

  const std::int64_t first_;
  ParsecPart data_;
  StepClasses classes_;
  std::vector<std::set<std::int64_t>> points_;  ///< by class of steps
  std::vector<parsec_dtd_tile_t*> inputs_;
};

class ParsecShard final : public ProcessSystem {
 public:
  /// PaRSEC's thread for messages uses MPI as well as this one.
  ParsecShard() : ProcessSystem(MPI_THREAD_MULTIPLE) {}
  ~ParsecShard() override {
    parts_.clear();
    for (const auto& [bytes, region] : regions_) parsec_dtd_free_arena_datatype(context_.get(), region);
  }

  std::string name() const override { return "parsec_shard"; }
  std::string version() const override { return ParsecContext::version() + ", " + ProcessSystem::version(); }
  int cores() const override { return context_.cores() * ranks(); }
  std::vector<std::vector<int>> binding() override { return gather_binding(context_.binding()); }

  void prepare(Execution& run) override {
    if (ranks() > 1) run.distribute();
    parts_.clear();
    width_ = 0;
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      const Graph& graph = run.graphs()[g];
      ParsecInsertion::check(graph);
      if (graph.output_bytes() > INT_MAX) throw Unsupported("output_bytes above 2^31 - 1, the most that PaRSEC sends");
      std::vector<int> owners;
      for (int r = 0; r < ranks(); ++r)
        owners.insert(owners.end(), static_cast<std::size_t>(columns(graph, r).size()), r);
      parts_.emplace_back(run, g, context_.cores(), ParsecRanks{rank(), ranks(), owners, region(graph.output_bytes())},
                          width_);
      width_ += graph.width();
    }
    if (run.most_steps() > INT_MAX / width_ - ParsecPart::depth)
      throw Unsupported(std::to_string(run.most_steps()) + " steps of " + std::to_string(width_) +
                        " points, more than PaRSEC counts");
  }

  void execute(Execution& run) override {
    const std::int64_t steps = run.most_steps();
    for (std::int64_t step = 0; step < steps; ++step)
      for (Part& part : parts_) part.insert(insertion_, step, step * width_);
    Part::number_next(insertion_, steps * width_);
    for (Part& part : parts_) insertion_.flush(part.data());
    insertion_.wait();
  }

  void barrier() override { context_.start(), ProcessSystem::barrier(); }
  std::optional<Violation> gather(const Execution& run, Accounts& accounts) override {
    context_.rest();
    return ProcessSystem::gather(run, accounts);
  }

 private:
  /// PaRSEC has 2^16 of these, and never uses one again.
  int region(std::size_t bytes) {
    const auto [entry, fresh] = regions_.try_emplace(bytes, 0);
    if (fresh) {
      const auto count = static_cast<unsigned>(bytes);
      parsec_arena_datatype_t* type = parsec_matrix_adt_new_rect(parsec_datatype_int8_t, count, 1, count);
      if (parsec_dtd_attach_arena_datatype(context_.get(), type, &entry->second) != PARSEC_SUCCESS)
        throw std::runtime_error("PaRSEC has no room for one more size of outputs");
    }
    return entry->second;
  }

  ParsecContext context_{own_processors()};
  ParsecInsertion insertion_{context_.get()};
  std::map<std::size_t, int> regions_;
  std::deque<Part> parts_;
  std::int64_t width_ = 1;  ///< of all graphs together
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<ParsecShard>(argc, argv); }
