/// Each processor has a subgraph: the tasks of its columns for some steps, made ahead and instantiated again and again.
/// External pre- and postconditions link an instance to the one before and to the columns of other processors.

#include <realm/subgraph.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "../realm/machine.hpp"
#include "../realm/partition.hpp"
#include "taskgrain/driver.hpp"

namespace {

using namespace taskgrain;
using Realm::Barrier, Realm::Event, Realm::Processor, Realm::SubgraphDefinition;

enum : Processor::TaskFuncID { instantiate_task = RealmMachine::first_free_task, point_task };

constexpr std::int64_t tasks_ahead = 128, most_tasks = 1 << 20;  // of a subgraph

std::size_t at(std::int64_t point) { return static_cast<std::size_t>(point); }

/// The first and the last field are set in each instance.
struct PointArguments {
  std::int64_t first_step;
  const Part* part;
  ThreadContext* context;
  std::int64_t offset, later, point;  // the step within the instance, and one of the next whose tasks are alike
  Barrier reached = Barrier::NO_BARRIER;
};

void execute_point(const void* data, std::size_t, const void*, std::size_t, Processor) {
  const auto& [first_step, part, context, offset, later, point, reached] = *static_cast<const PointArguments*>(data);
  const std::int64_t step = first_step + offset;
  if (part->graph().contains(step, point)) {
    const TaskTable::Task& task = part->table(later, point);
    const auto inputs = step == 0 ? std::span<const std::byte* const>() : task.inputs;
    part->run.execute_point(*context, part->g, step, point, task.output, inputs);
  }
  if (reached.exists()) reached.arrive();
}

/// The subgraph of one processor.
class Shard {
 public:
  Shard(Processor processor, ThreadContext& context, const std::vector<Columns>& columns, std::int64_t length,
        std::int64_t instances)
      : processor_(processor), context_(&context), length_(length), instances_(instances) {
    arguments_.resize(sizeof(std::int64_t));
    for (const Columns& one : columns) define(one);
    if (definition_.tasks.empty()) return;  // Realm makes no empty subgraph
    definition_.concurrency_mode = SubgraphDefinition::INSTANTIATION_ORDER;
    Realm::Subgraph::create_subgraph(subgraph_, definition_, Realm::ProfilingRequestSet()).external_wait();
  }
  ~Shard() {
    if (subgraph_.exists()) subgraph_.destroy();
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  /// The event of all its tasks.
  Event start() {
    if (!subgraph_.exists()) return Event::NO_EVENT;
    for (Column& column : watched_) column.phase = (*column.barrier)->next;
    postconditions_.assign(postconditions_.size(), Event::NO_EVENT);
    instance_ = 0;
    instantiated_ = Event::NO_EVENT;
    done_ = Realm::UserEvent::create_user_event();
    instantiate_after(Event::NO_EVENT);
    return done_;
  }

  /// Keeps what is left of its barriers for the next run.
  void keep_barriers() {
    for (const Column& column : watched_)
      if (column.own) (*column.barrier)->next = column.phase;
  }

  static void instantiate(const void* data, std::size_t, const void*, std::size_t, Processor) {
    (*static_cast<Shard* const*>(data))->instantiate();
  }

 private:
  /// A column with a barrier, which is in the phase of the instance's first step.
  struct Column {
    Phases* const* barrier;
    bool own;
    Barrier phase = Barrier::NO_BARRIER;
    std::vector<std::pair<std::int64_t, std::size_t>> preconditions = {};  // steps that are waited for, and where
    std::vector<std::pair<std::int64_t, std::size_t>> arrivals = {};       // steps, and where in the arguments
  };

  void define(const Columns& columns) {
    const Part& part = *columns.part;
    const bool repeats = instances_ > 1;
    std::map<std::int64_t, std::size_t> watched;  // of column
    for (const std::int64_t j : columns.shared) {
      watched[j] = watched_.size();
      watched_.push_back({&part.barriers[at(j)], columns.contains(j)});
    }
    std::map<std::pair<std::int64_t, std::int64_t>, unsigned> known;  // precondition, of step and column
    const std::size_t first_postcondition = postconditions_.size();
    postconditions_.resize(first_postcondition + columns.size());
    std::vector<unsigned> before(columns.size()), now(columns.size());
    for (std::int64_t offset = 0; offset < length_; ++offset) {
      for (std::int64_t point = columns.first; point <= columns.last; ++point) {
        const bool reaches = part.barriers[at(point)] != nullptr;
        const bool exists = part.graph().contains(offset, point);
        if (!exists && !reaches && !repeats) continue;
        const std::int64_t later = repeats && offset + length_ < part.graph().steps() ? offset + length_ : offset;
        Column* const reached = reaches ? &watched_[watched.at(point)] : nullptr;
        const unsigned task = add_task({0, &part, context_, offset, later, point}, reached);
        now[at(point - columns.first)] = task;
        if (offset == length_ - 1 && repeats)
          depend(SubgraphDefinition::OPKIND_TASK, task, SubgraphDefinition::OPKIND_EXT_POSTCOND,
                 static_cast<unsigned>(first_postcondition + at(point - columns.first)));
        if (!exists) continue;
        for (const std::int64_t other : part.table(later, point).before) {
          if (columns.contains(other) && offset > 0) {
            depend(SubgraphDefinition::OPKIND_TASK, before[at(other - columns.first)], SubgraphDefinition::OPKIND_TASK,
                   task);
            continue;
          }
          const auto [entry, fresh] = known.try_emplace({offset, other}, static_cast<unsigned>(preconditions_.size()));
          if (fresh) {
            preconditions_.push_back(Event::NO_EVENT);
            if (columns.contains(other))
              carried_.emplace_back(entry->second, first_postcondition + at(other - columns.first));
            else
              watched_[watched.at(other)].preconditions.emplace_back(offset - 1, entry->second);
          }
          depend(SubgraphDefinition::OPKIND_EXT_PRECOND, entry->second, SubgraphDefinition::OPKIND_TASK, task);
        }
      }
      before.swap(now);
    }
  }

  unsigned add_task(const PointArguments& arguments, Column* reached) {
    const auto index = static_cast<unsigned>(definition_.tasks.size());
    auto& task = definition_.tasks.emplace_back();
    task.proc = processor_;
    task.task_id = point_task;
    task.args.set(&arguments, sizeof arguments);
    interpolate(0, sizeof(std::int64_t), index, 0);
    if (reached != nullptr) {
      reached->arrivals.emplace_back(arguments.offset, arguments_.size());
      interpolate(arguments_.size(), sizeof(Barrier), index, sizeof(PointArguments) - sizeof(Barrier));
      arguments_.resize(arguments_.size() + sizeof(Barrier));
    }
    return index;
  }

  void interpolate(std::size_t from, std::size_t bytes, unsigned task, std::size_t to) {
    auto& one = definition_.interpolations.emplace_back();
    one.offset = from;
    one.bytes = bytes;
    one.target_kind = SubgraphDefinition::Interpolation::TARGET_TASK_ARGS;
    one.target_index = task;
    one.target_offset = to;
    one.redop_id = 0;
  }

  void depend(SubgraphDefinition::OpKind from, unsigned source, SubgraphDefinition::OpKind to, unsigned target) {
    auto& one = definition_.dependencies.emplace_back();
    one.src_op_kind = from;
    one.src_op_index = source;
    one.tgt_op_kind = to;
    one.tgt_op_index = target;
  }

  void instantiate_after(Event event) {
    Shard* self = this;
    processor_.spawn(instantiate_task, &self, sizeof self, event, 1);
  }

  /// Instantiates the subgraph, and spawns a task that does so again when the instance before this one is done.
  void instantiate() {
    const std::int64_t first_step = instance_ * length_;
    std::copy_n(reinterpret_cast<const std::byte*>(&first_step), sizeof first_step, arguments_.data());
    for (const auto& [precondition, postcondition] : carried_)
      preconditions_[precondition] = postconditions_[postcondition];
    for (Column& column : watched_) {
      phases_.assign(1, column.phase);
      for (std::int64_t offset = 0; offset < length_; ++offset) phases_.push_back(phases_.back().advance_barrier());
      for (const auto& [offset, where] : column.preconditions)
        preconditions_[where] = offset < 0 ? column.phase.get_previous_phase() : phases_[at(offset)];
      for (const auto& [offset, where] : column.arrivals)
        std::copy_n(reinterpret_cast<const std::byte*>(&phases_[at(offset)]), sizeof(Barrier),
                    arguments_.data() + where);
      column.phase = phases_.back();
    }
    const Event all = subgraph_.instantiate(arguments_.data(), arguments_.size(), Realm::ProfilingRequestSet(),
                                            preconditions_, postconditions_);
    const Event before = std::exchange(instantiated_, all);
    if (++instance_ < instances_)
      instantiate_after(before);
    else
      done_.trigger(Event::merge_events(before, all));
  }

  Processor processor_;
  ThreadContext* context_;
  std::int64_t length_, instances_, instance_ = 0;
  SubgraphDefinition definition_;
  Realm::Subgraph subgraph_ = Realm::Subgraph::NO_SUBGRAPH;
  std::vector<std::byte> arguments_;  // of an instance: its first step, and the barriers its tasks arrive at
  std::vector<Event> preconditions_, postconditions_;
  std::vector<std::pair<std::size_t, std::size_t>>
      carried_;  // preconditions that are postconditions of the instance before
  std::deque<Column> watched_;
  std::vector<Barrier> phases_;
  Event instantiated_;
  Realm::UserEvent done_;
};

class RealmSubgraph final : public System {
 public:
  RealmSubgraph() {
    machine_.add_task(instantiate_task, Shard::instantiate);
    machine_.add_task(point_task, execute_point);
  }

  std::string name() const override { return "realm_subgraph"; }
  std::string version() const override { return machine_.version(); }
  int cores() const override { return machine_.size(); }
  std::vector<std::vector<int>> binding() override { return machine_.binding(); }

  void prepare(Execution& run) override {
    shards_.clear();
    partition_.make(run, machine_.processors().size());
    std::int64_t width = 0, length = 1;
    for (const Part& part : partition_.parts()) {
      width += part.graph().width();
      length = std::min(run.most_steps(),
                        std::lcm(length, part.table.period() == 0 ? run.most_steps() : part.table.period()));
    }
    const std::int64_t wanted = tasks_ahead * cores() / width;
    if (length < wanted) length = std::min(run.most_steps(), wanted / length * length);
    if (length > most_tasks / width)
      throw Unsupported("a subgraph of " + std::to_string(length) + " steps is too large");
    const std::int64_t instances = (run.most_steps() + length - 1) / length;
    steps_ = instances * length;
    for (std::size_t k = 0; k < machine_.processors().size(); ++k)
      shards_.emplace_back(machine_.processors()[k], run.context(k), partition_.columns(k), length, instances);
  }

  void execute(Execution&) override {
    partition_.renew_barriers(steps_);
    std::vector<Event> done;
    for (Shard& shard : shards_) done.push_back(shard.start());
    Event::merge_events(done).external_wait();
    for (Shard& shard : shards_) shard.keep_barriers();
  }

 private:
  RealmMachine machine_;
  Partition partition_;
  std::deque<Shard> shards_;  // by processor
  std::int64_t steps_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<RealmSubgraph>(argc, argv); }
