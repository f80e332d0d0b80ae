/// Dynamic task discovery over several ranks, each of which inserts the tasks of its own columns and those of others
/// that these exchange outputs with. PaRSEC's plain way has every rank insert the tasks of all.

#include <mpi.h>
#include <parsec/data_dist/matrix/matrix.h>
#include <parsec/interfaces/dtd/insert_function_internal.h>

#include <climits>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
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
  Part(Execution& run, std::size_t g, int cores, ParsecShare share, std::int64_t first)
      : first_(first), data_(run, g, cores, std::move(share)), classes_(data_.graph) {
    for (std::int64_t step = 0; step < data_.graph.steps(); ++step) {
      const auto [entry, fresh] = points_.try_emplace(kind(step));
      if (fresh) entry->second = points(step);
    }
  }

  ParsecPart& data() { return data_; }

  /// \param row  number of the step's first point among those of all steps and graphs
  void insert(ParsecInsertion& insertion, std::int64_t step, std::int64_t row) {
    if (step >= data_.graph.steps()) return;
    for (const std::int64_t point : points_.find(kind(step))->second) {
      inputs_.clear();
      // Of what a task of another rank reads, this one has to know what it sends. PaRSEC does not mind that the task
      // has more inputs there: a message says which output of which task it is.
      for (const Interval deps : data_.graph.deps(step, point))
        for (std::int64_t dep = deps.first; dep <= deps.last; ++dep)
          if (data_.owns(point) || data_.owns(dep)) inputs_.push_back(data_.output(step - 1, dep));
      number_next(insertion, row + first_ + point);
      insertion.insert(data_, step, point, inputs_);
    }
  }

  /// PaRSEC numbers tasks as they are inserted and tells messages apart by these numbers, so they must be the same on
  /// all ranks. Those that flush data need not: each rank flushes what it wrote, and sends nothing.
  static void number_next(ParsecInsertion& insertion, std::int64_t number) {
    reinterpret_cast<parsec_dtd_taskpool_t*>(insertion.pool())->task_id = static_cast<int>(number);
  }

 private:
  /// Steps of one kind read alike, and are read alike.
  std::pair<std::size_t, std::size_t> kind(std::int64_t step) const {
    return {classes_[step], step + 1 < data_.graph.steps() ? classes_[step + 1] : SIZE_MAX};
  }

  std::vector<std::int64_t> points(std::int64_t step) const {
    const Graph& graph = data_.graph;
    std::set<std::int64_t> found;
    const auto add = [&](const Points& points) {
      points.for_each([&](Interval interval) {
        for (std::int64_t j = interval.first; j <= interval.last; ++j) found.insert(j);
      });
    };
    for (std::int64_t point = data_.columns().first; point <= data_.columns().last; ++point) {
      if (graph.contains(step, point)) found.insert(point);
      if (graph.contains(step - 1, point)) add(graph.reverse_deps(step - 1, point));
      if (graph.contains(step + 1, point)) add(graph.deps(step + 1, point));
    }
    return {found.begin(), found.end()};
  }

  const std::int64_t first_;
  ParsecPart data_;
  StepClasses classes_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::int64_t>> points_;  ///< by kind of step
  std::vector<parsec_dtd_tile_t*> inputs_;
};

class ParsecShard final : public ProcessSystem {
 public:
  /// PaRSEC's thread for messages uses MPI as well as this one.
  ParsecShard() : ProcessSystem(MPI_THREAD_MULTIPLE) {}
  ~ParsecShard() override {
    parts_.clear();
    for (const auto& [bytes, type] : datatypes_) parsec_dtd_free_arena_datatype(context_.get(), type);
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
      ParsecShare share{rank(), {}, datatype(graph.output_bytes())};
      for (int r = 0; r < ranks(); ++r) share.columns.push_back(columns(graph, r));
      parts_.emplace_back(run, g, context_.cores(), std::move(share), width_);
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
  /// PaRSEC never uses such a number again.
  int datatype(std::size_t bytes) {
    if (const auto known = datatypes_.find(bytes); known != datatypes_.end()) return known->second;
    if (datatypes_.size() > INT16_MAX)
      throw Unsupported("more sizes of outputs than PaRSEC counts; this one is of " + std::to_string(bytes) + " bytes");
    const auto count = static_cast<unsigned>(bytes);
    int made = 0;
    if (parsec_dtd_attach_arena_datatype(context_.get(),
                                         parsec_matrix_adt_new_rect(parsec_datatype_int8_t, count, 1, count),
                                         &made) != PARSEC_SUCCESS)
      throw std::runtime_error("PaRSEC makes no datatype of " + std::to_string(bytes) + " bytes");
    return datatypes_.emplace(bytes, made).first->second;
  }

  ParsecContext context_{own_processors()};
  ParsecInsertion insertion_{context_.get()};
  std::map<std::size_t, int> datatypes_;  ///< by bytes
  std::deque<Part> parts_;
  std::int64_t width_ = 0;  ///< of all graphs together
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<ParsecShard>(argc, argv); }
