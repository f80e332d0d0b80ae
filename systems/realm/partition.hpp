#pragma once

/// Who spawns what: each processor the tasks of its own columns. A column that another processor waits for has a
/// barrier: Realm's event for iterations, whose phases are known before their events are. Its tasks arrive at it, one
/// phase for each step.

#include <realm.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "taskgrain/error.hpp"
#include "taskgrain/execution.hpp"
#include "taskgrain/task_table.hpp"

/// The phases that a barrier still has. Realm has no way to destroy a barrier: they are kept for the next run.
struct Phases {
  static constexpr std::int64_t most = 1'000'000;  // of a barrier, somewhat less than it has

  Realm::Barrier next = Realm::Barrier::NO_BARRIER;
  std::int64_t left = 0;
};

/// A graph of the run.
struct Part {
  taskgrain::Execution& run;
  std::size_t g;
  taskgrain::TaskTable table;
  std::vector<Phases*> barriers = {};  // by column; null where no other processor waits for it

  const taskgrain::Graph& graph() const { return table.graph(); }
};

/// The columns of a graph that a processor spawns.
struct Columns {
  const Part* part;
  std::int64_t first, last;
  std::vector<std::int64_t> shared;  // columns with barriers that it arrives or waits at

  bool contains(std::int64_t point) const { return first <= point && point <= last; }
  std::size_t size() const { return static_cast<std::size_t>(last - first + 1); }
};

class Partition {
 public:
  /// \throws Unsupported
  void make(taskgrain::Execution& run, std::size_t processors) {
    parts_.clear();
    columns_.assign(processors, {});
    barriers_used_ = 0;
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      if (run.graphs()[g].steps() > Phases::most / 2)
        throw taskgrain::Unsupported("steps: a barrier of Realm has no more than " + std::to_string(Phases::most) +
                                     " phases");
      distribute(parts_.emplace_back(Part{run, g, taskgrain::TaskTable(run.graphs()[g])}));
    }
  }

  std::deque<Part>& parts() { return parts_; }
  const std::vector<Columns>& columns(std::size_t processor) const { return columns_[processor]; }

  /// Sees to it that each barrier has `steps` phases left, for a run that uses them up.
  void renew_barriers(std::int64_t steps) {
    for (std::size_t k = 0; k < barriers_used_; ++k) {
      if (barriers_[k].left < steps) barriers_[k] = {Realm::Barrier::create_barrier(1), Phases::most};
      barriers_[k].left -= steps;
    }
  }

 private:
  void distribute(Part& part) {
    const taskgrain::Graph& graph = part.graph();
    const std::int64_t width = graph.width(), processors = std::ssize(columns_);
    std::vector<std::vector<bool>> shared(columns_.size(), std::vector<bool>(static_cast<std::size_t>(width)));
    const auto owner = [&](std::int64_t point) { return static_cast<std::size_t>(point * processors / width); };
    part.barriers.resize(static_cast<std::size_t>(width));
    const taskgrain::StepClasses classes(graph);
    for (const std::int64_t step : classes.representatives())
      for (std::int64_t point = graph.points(step).first; point <= graph.points(step).last; ++point)
        for (const std::int64_t other : part.table(step, point).before)
          if (const auto j = static_cast<std::size_t>(other); owner(other) != owner(point)) {
            shared[owner(point)][j] = shared[owner(other)][j] = true;
            if (part.barriers[j] == nullptr) part.barriers[j] = unused_barrier();
          }
    for (std::int64_t first = 0, end = 0; first < width; first = end) {
      while (end < width && owner(end) == owner(first)) ++end;
      Columns& columns = columns_[owner(first)].emplace_back(Columns{&part, first, end - 1, {}});
      for (std::int64_t j = 0; j < width; ++j)
        if (shared[owner(first)][static_cast<std::size_t>(j)]) columns.shared.push_back(j);
    }
  }

  Phases* unused_barrier() {
    if (barriers_used_ == barriers_.size()) barriers_.emplace_back();
    return &barriers_[barriers_used_++];
  }

  std::deque<Part> parts_;
  std::vector<std::vector<Columns>> columns_;  // by processor
  std::deque<Phases> barriers_;
  std::size_t barriers_used_ = 0;
};
