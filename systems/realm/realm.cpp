/// Tasks wait for the events of the tasks before them. Each processor spawns the tasks of its own columns, some steps
/// ahead of those that run.

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "machine.hpp"
#include "partition.hpp"
#include "taskgrain/driver.hpp"

namespace {

using namespace taskgrain;
using Realm::Barrier, Realm::Event, Realm::Processor;

enum : Processor::TaskFuncID { spawn_task = RealmMachine::first_free_task, point_task };

constexpr std::int64_t tasks_ahead = 128;  // that a processor spawns at a time

std::size_t at(std::int64_t point) { return static_cast<std::size_t>(point); }

struct PointArguments {
  const Part* part;
  ThreadContext* context;
  std::int64_t step, point;
  Barrier reached;
};

void execute_point(const void* data, std::size_t, const void*, std::size_t, Processor) {
  const auto& [part, context, step, point, reached] = *static_cast<const PointArguments*>(data);
  const TaskTable::Task& task = part->table(step, point);
  part->run.execute_point(*context, part->g, step, point, task.output, task.inputs);
  if (reached.exists()) reached.arrive();
}

/// What one processor spawns.
class Shard {
 public:
  Shard(Processor processor, ThreadContext& context, const std::vector<Columns>& columns)
      : processor_(processor), context_(&context) {
    for (const Columns& one : columns) {
      spawners_.push_back({one});
      width_ += one.last - one.first + 1;
      steps_ = std::max(steps_, one.part->graph().steps());
    }
  }

  /// The event of all its tasks.
  Event start() {
    for (Spawner& spawner : spawners_) {
      const std::vector<Phases*>& barriers = spawner.columns.part->barriers;
      spawner.before.assign(spawner.columns.size(), Event::NO_EVENT);
      spawner.now = spawner.before;
      spawner.phases.resize(barriers.size());
      for (const std::int64_t j : spawner.columns.shared) spawner.phases[at(j)] = barriers[at(j)]->next;
    }
    step_ = 0;
    spawned_ = Event::NO_EVENT;
    done_ = Realm::UserEvent::create_user_event();
    spawn_steps_after(Event::NO_EVENT);
    return done_;
  }

  /// Keeps what is left of its barriers for the next run.
  void keep_barriers() {
    for (const auto& [columns, phases, before, now] : spawners_)
      for (const std::int64_t j : columns.shared)
        if (columns.contains(j)) columns.part->barriers[at(j)]->next = phases[at(j)];
  }

  static void spawn_steps(const void* data, std::size_t, const void*, std::size_t, Processor) {
    (*static_cast<Shard* const*>(data))->spawn_steps();
  }

 private:
  struct Spawner {
    Columns columns;
    std::vector<Barrier> phases = {};          // by column: of the current step
    std::vector<Event> before = {}, now = {};  // completion of the tasks of the step before and of this one
  };

  void spawn_steps_after(Event event) {
    Shard* self = this;
    processor_.spawn(spawn_task, &self, sizeof self, event, 1);
  }

  /// Spawns some steps, and a task that spawns the next ones when those before these are done.
  void spawn_steps() {
    events_.clear();
    const std::int64_t end =
        std::min(steps_, step_ + std::max<std::int64_t>(1, tasks_ahead / std::max<std::int64_t>(1, width_)));
    for (; step_ < end; ++step_)
      for (Spawner& spawner : spawners_)
        if (step_ < spawner.columns.part->graph().steps()) spawn_step(spawner);
    const Event before = std::exchange(spawned_, Event::merge_events(events_));
    if (step_ < steps_)
      spawn_steps_after(before);
    else
      done_.trigger(Event::merge_events(before, spawned_));
  }

  void spawn_step(Spawner& spawner) {
    auto& [columns, phases, before, now] = spawner;
    for (std::int64_t point = columns.first; point <= columns.last; ++point) {
      const Barrier reached = columns.part->barriers[at(point)] != nullptr ? phases[at(point)] : Barrier::NO_BARRIER;
      if (!columns.part->graph().contains(step_, point)) {
        if (reached.exists()) reached.arrive();
        continue;
      }
      preconditions_.clear();
      for (const std::int64_t other : columns.part->table(step_, point).before)
        preconditions_.push_back(columns.contains(other) ? before[at(other - columns.first)]
                                                         : phases[at(other)].get_previous_phase());
      const PointArguments arguments{columns.part, context_, step_, point, reached};
      const Event done =
          processor_.spawn(point_task, &arguments, sizeof arguments, Event::merge_events(preconditions_));
      now[at(point - columns.first)] = done;
      events_.push_back(done);
    }
    before.swap(now);
    for (const std::int64_t j : columns.shared) phases[at(j)] = phases[at(j)].advance_barrier();
  }

  Processor processor_;
  ThreadContext* context_;
  std::vector<Spawner> spawners_;  // by graph
  std::int64_t width_ = 0, steps_ = 0, step_ = 0;
  std::vector<Event> preconditions_, events_;
  Event spawned_;  // all tasks of the steps spawned last
  Realm::UserEvent done_;
};

class RealmSystem final : public System {
 public:
  RealmSystem() {
    machine_.add_task(spawn_task, Shard::spawn_steps);
    machine_.add_task(point_task, execute_point);
  }

  std::string name() const override { return "realm"; }
  std::string version() const override { return machine_.version(); }
  int cores() const override { return machine_.size(); }
  std::vector<std::vector<int>> binding() override { return machine_.binding(); }

  void prepare(Execution& run) override {
    shards_.clear();
    partition_.make(run, machine_.processors().size());
    for (std::size_t k = 0; k < machine_.processors().size(); ++k)
      shards_.emplace_back(machine_.processors()[k], run.context(k), partition_.columns(k));
    steps_ = run.most_steps();
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

int main(int argc, char** argv) { return taskgrain::drive<RealmSystem>(argc, argv); }
