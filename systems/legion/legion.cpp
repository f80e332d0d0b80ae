/// A region for each graph, whose columns are the points and whose two fields are the outputs of even and of odd steps.
/// A step is an index launch: each task writes its own column and reads a subregion of those it depends on. Legion
/// infers their order, and memoizes it where steps repeat: each block of steps is a trace. Regions and traces are kept
/// for later runs of like graphs, because Legion does not free all of what was made for a run.

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "machine.hpp"
#include "taskgrain/driver.hpp"
#include "taskgrain/outputs.hpp"
#include "taskgrain/step_classes.hpp"

namespace {

using namespace taskgrain;
using Legion::IndexPartition, Legion::IndexSpace, Legion::IndexTaskLauncher, Legion::PhysicalRegion, Legion::Rect;

enum : Legion::TaskID { point_task = LegionMachine::first_free_task };

class Part;

struct Call {
  const Part* part;
  std::int64_t step;
};

/// A graph of the run, and of all later runs with like graphs.
class Part {
 public:
  Part(const LegionMachine& machine, const Graph& graph) : machine_(machine), graph_(&graph), memory_(graph) {
    make_region();
  }
  ~Part() {
    Legion::Runtime& runtime = machine_.runtime();
    const Legion::Context context = machine_.context();
    runtime.detach_external_resource(context, attached_, false).get_void_result(true);
    runtime.destroy_logical_region(context, region_);
    runtime.destroy_field_space(context, fields_);
    for (const IndexSpace space : colors_) runtime.destroy_index_space(context, space);
    runtime.destroy_index_space(context, columns_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  /// To be called at the begin of each run. The graph may have other steps and kernels than that of the run before.
  void use(Execution& run, std::size_t g) {
    run_ = &run, g_ = g, graph_ = &run.graphs()[g];
    classes_.emplace(*graph_);
    contexts_.clear();
    for (int k = 0; k < machine_.size(); ++k) contexts_.push_back(&run.context(static_cast<std::size_t>(k)));
    if (subregions() > most_subregions)
      throw Unsupported("more than " + std::to_string(most_subregions) + " subregions");
    kinds_.clear();
    for (const std::int64_t step : classes_->representatives()) kinds_.push_back(kind_of(step));
    std::ranges::fill(memory_.memory(), std::byte{0xff});  // no task's output: what runs early is caught
  }

  const Graph& graph() const { return *graph_; }
  std::int64_t period() const { return classes_->period(); }
  /// The same for all steps that are launched alike, in this run and in others.
  std::size_t kind(std::int64_t step) const { return kinds_[(*classes_)[step]]; }

  void launch(std::int64_t step) {
    IndexTaskLauncher& launcher = launchers_[kind(step)];
    if (launcher.launch_domain.empty()) return;
    const Call call{this, step};
    launcher.global_arg = {&call, sizeof call};
    machine_.runtime().execute_index_space(machine_.context(), launcher);
  }

  static void execute_point(const Legion::Task* task, const std::vector<PhysicalRegion>& regions, Legion::Context,
                            Legion::Runtime*) {
    const auto& [part, step] = *static_cast<const Call*>(task->args);
    part->execute_point(step, task->index_point[0], regions);
  }

 private:
  using Access =
      Legion::UnsafeFieldAccessor<std::byte, 1, Legion::coord_t, Realm::AffineAccessor<std::byte, 1, Legion::coord_t>>;

  void execute_point(std::int64_t step, std::int64_t point, const std::vector<PhysicalRegion>& regions) const {
    thread_local std::vector<const std::byte*> inputs;
    inputs.clear();
    const Access output(regions[0], field(step));
    Access input = output;
    graph_->deps(step, point).for_each([&](Interval deps) {
      if (deps.size() > 0 && inputs.empty()) input = Access(regions[1], field(step - 1));
      for (std::int64_t dep = deps.first; dep <= deps.last; ++dep) inputs.push_back(input.ptr(dep));
    });
    run_->execute_point(*contexts_[machine_.place()], g_, step, point, output.ptr(point), inputs);
  }

  static constexpr std::size_t line = 64;  // of the cache, that columns are aligned to

  static Legion::FieldID field(std::int64_t step) { return static_cast<Legion::FieldID>(step % 2); }
  static Rect<1> rect(Interval points) { return {points.first, points.last}; }

  void make_region() {
    Legion::Runtime& runtime = machine_.runtime();
    const Legion::Context context = machine_.context();
    columns_ = runtime.create_index_space(context, rect({0, graph_->width() - 1}));
    fields_ = runtime.create_field_space(context);
    const std::size_t column = Outputs::stride_of(*graph_, 0);
    runtime.create_field_allocator(context, fields_).allocate_field(column, field(0));
    runtime.create_field_allocator(context, fields_).allocate_field(column, field(1));
    region_ = runtime.create_logical_region(context, columns_, fields_);
    written_ =
        runtime.get_logical_partition(context, region_, runtime.create_equal_partition(context, columns_, columns_));
    Legion::AttachLauncher attach(LEGION_EXTERNAL_INSTANCE, region_, region_, false, false);
    const std::vector<Legion::FieldID> both = {field(0), field(1)};
    const std::map<Legion::FieldID, std::size_t> alignments = {{field(0), line}, {field(1), line}};
    attach.initialize_constraints(true, true, both, &alignments);
    attach.privilege_fields.insert(both.begin(), both.end());
    const Realm::ExternalMemoryResource memory(memory_.at(0, 0),
                                               2 * column * static_cast<std::size_t>(graph_->width()));
    attach.external_resource = &memory;
    attached_ = runtime.attach_external_resource(context, attach);
  }

  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  Key key(std::int64_t step) const {
    const Interval now = graph_->points(step), before = graph_->points(step - 1);
    return {graph_->dependence_set(step), now.first, now.last, before.first, before.last};
  }

  std::size_t kind_of(std::int64_t step) {
    const auto [entry, fresh] = known_.try_emplace({field(step), key(step)}, launchers_.size());
    if (fresh) launchers_.push_back(launcher(step));
    return entry->second;
  }

  IndexTaskLauncher launcher(std::int64_t step) {
    IndexTaskLauncher launcher(point_task, Legion::Domain(rect(graph_->points(step))));
    launcher.elide_future_return = true;
    launcher.add_region_requirement(
        Legion::RegionRequirement(written_, 0, LEGION_WRITE_DISCARD, LEGION_EXCLUSIVE, region_));
    launcher.add_field(0, field(step));
    if (const Legion::LogicalPartition read = dependences(step); read.exists()) {
      launcher.add_region_requirement(Legion::RegionRequirement(read, 0, LEGION_READ_ONLY, LEGION_EXCLUSIVE, region_));
      launcher.add_field(1, field(step - 1));
    }
    return launcher;
  }

  /// For each point of a step the columns that it depends on; none if none depends on any.
  Legion::LogicalPartition dependences(std::int64_t step) {
    const auto [entry, fresh] = read_.try_emplace(key(step), Legion::LogicalPartition::NO_PART);
    if (!fresh) return entry->second;
    std::map<Legion::Point<1>, Legion::DomainT<1>> domains;
    bool any = false;
    const Interval points = graph_->points(step);
    for (std::int64_t point = points.first; point <= points.last; ++point) {
      std::vector<Rect<1>> rects;
      for (const Interval deps : graph_->deps(step, point)) rects.push_back(rect(deps));
      any = any || !rects.empty();
      domains[point] = rects.size() == 1 ? Legion::DomainT<1>(rects[0]) : Legion::DomainT<1>(rects, true);
    }
    if (!any) return entry->second;
    Legion::Runtime& runtime = machine_.runtime();
    const Legion::Context context = machine_.context();
    const auto colors = runtime.create_index_space(context, rect(points));
    colors_.push_back(colors);
    const IndexPartition partition =
        runtime.create_partition_by_domain(context, columns_, domains, colors, false, LEGION_ALIASED_INCOMPLETE_KIND,
                                           LEGION_AUTO_GENERATE_ID, nullptr, true);
    return entry->second = runtime.get_logical_partition(context, region_, partition);
  }

  std::int64_t subregions() const {
    std::map<Key, std::int64_t> found;
    for (const std::int64_t step : classes_->representatives()) found[key(step)] = graph_->points(step).size();
    std::int64_t sum = graph_->width();
    for (const auto& [key, size] : found) sum += size;
    return sum;
  }
  static constexpr std::int64_t most_subregions = 1 << 20;

  const LegionMachine& machine_;
  Execution* run_ = nullptr;
  std::size_t g_ = 0;
  const Graph* graph_;
  std::optional<StepClasses> classes_;
  const Outputs memory_;  // of the region's only instance; only its addresses are used, as its graph may be gone
  std::vector<ThreadContext*> contexts_;
  Legion::IndexSpaceT<1> columns_;
  Legion::FieldSpace fields_;
  Legion::LogicalRegion region_;
  Legion::LogicalPartition written_;
  PhysicalRegion attached_;
  std::map<Key, Legion::LogicalPartition> read_;
  std::vector<IndexSpace> colors_;
  std::map<std::pair<Legion::FieldID, Key>, std::size_t> known_;  // kinds of steps
  std::vector<std::size_t> kinds_;                                // by class of steps
  std::vector<IndexTaskLauncher> launchers_;                      // by kind
};

class LegionSystem final : public System {
 public:
  std::string name() const override { return "legion"; }
  std::string version() const override { return machine_.version(); }
  int cores() const override { return machine_.size(); }
  std::vector<std::vector<int>> binding() override { return machine_.binding(); }

  void prepare(Execution& run) override {
    std::vector<GraphSpec> graphs;
    for (const Graph& graph : run.graphs()) graphs.push_back(graph.spec());
    // What a run that failed has left may be half made.
    const std::vector<GraphSpec> before = std::exchange(graphs_, {});
    if (!std::ranges::equal(graphs, before, alike) || traces_.size() > most_traces) {
      parts_.clear();
      traces_.clear();
      machine_.renew_context();
      for (const Graph& graph : run.graphs()) parts_.emplace_back(machine_, graph);
    }
    std::int64_t width = 0;
    steps_ = run.most_steps();
    length_ = 2;
    for (std::size_t g = 0; g < parts_.size(); ++g) {
      parts_[g].use(run, g);
      width += parts_[g].graph().width();
      length_ = std::min(steps_, std::lcm(length_, std::max<std::int64_t>(1, parts_[g].period())));
    }
    const std::int64_t wanted = tasks_of_trace / width;
    if (length_ < wanted) length_ = std::min(steps_, wanted / length_ * length_);
    graphs_ = std::move(graphs);
  }

  /// Steps 0 and 1 have nothing to wait for and are like no others.
  void execute(Execution&) override {
    Legion::Runtime& runtime = machine_.runtime();
    for (std::int64_t first = 0, end = 0; first < steps_; first = end) {
      end = std::min(first + (first == 0 ? 2 : length_), steps_);
      const Legion::TraceID trace = trace_of(first, end);
      runtime.begin_trace(machine_.context(), trace);
      for (std::int64_t step = first; step < end; ++step)
        for (Part& part : parts_)
          if (step < part.graph().steps()) part.launch(step);
      runtime.end_trace(machine_.context(), trace);
    }
    runtime.issue_execution_fence(machine_.context()).get_void_result(true);
  }

 private:
  static constexpr std::int64_t tasks_of_trace = 64;
  static constexpr std::size_t most_traces = 256;  // that are kept: runs of other steps bring others

  /// Whether steps of the two with equal keys have equal dependences. A file may have changed.
  static bool alike(const GraphSpec& one, GraphSpec other) {
    other.steps = one.steps;
    other.kernel = one.kernel;
    return one.dag.empty() && one == other;
  }

  /// Blocks of like steps have the same.
  Legion::TraceID trace_of(std::int64_t first, std::int64_t end) {
    kinds_.clear();
    for (std::int64_t step = first; step < end; ++step)
      for (const Part& part : parts_) kinds_.push_back(step < part.graph().steps() ? part.kind(step) + 1 : 0);
    return traces_.try_emplace(kinds_, static_cast<Legion::TraceID>(traces_.size())).first->second;
  }

  static inline const bool registered_ = [] {
    LegionMachine::add_task<Part::execute_point>(point_task, "point");
    return true;
  }();
  LegionMachine machine_;
  std::vector<GraphSpec> graphs_;  // of `parts_`
  std::deque<Part> parts_;
  std::int64_t steps_ = 0, length_ = 2;
  std::vector<std::size_t> kinds_;
  std::map<std::vector<std::size_t>, Legion::TraceID> traces_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<LegionSystem>(argc, argv); }
