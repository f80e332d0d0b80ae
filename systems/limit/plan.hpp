#pragma once

/// A known graph, compiled into one linear program for each core.
///
/// Invariant: done[j] = t ⇒ all steps before t of column j are complete and visible. Before task (t, i) its core waits
/// for done[j] >= t on the columns j of other cores
///   - that (t, i) reads: j ∈ D(t, i);
///   - that have read what (t, i) overwrites: outputs are kept for two steps, so (t, i) writes over (t-2, i), and the readers
///     are the tasks (t-1, j) with i ∈ D(t-1, j). Where there is no (t-2, i), it is (t-4, i), …
/// Columns of its own core are in order by construction. done[j] is written by the owner of column j alone.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "taskgrain/graph.hpp"
#include "taskgrain/outputs.hpp"
#include "taskgrain/step_classes.hpp"

/// Steps of a column that are complete; on cache lines of its own.
struct alignas(128) Flag {
  std::atomic<std::int64_t> done{0};
};

/// What a core does for one column in one step.
struct Item {
  std::int64_t point;
  bool exists;  ///< whether there is a task, or only a flag to advance
  std::byte* output;
  Flag* flag;  ///< null: no other core ever waits for this column
  std::span<const std::byte* const> inputs;
  std::span<Flag* const> waits;
};

class Plan {
 public:
  Plan(const taskgrain::Graph& graph, int cores)
      : graph_(graph), cores_(cores), classes_(graph), outputs_(graph), flags_(new Flag[width()]) {
    for (const std::int64_t step : classes_.representatives()) programs_.push_back(compile(step));
    drop_unwatched_flags();
  }

  const taskgrain::Graph& graph() const { return graph_; }
  std::span<const Item> program(std::int64_t step, int core) const {
    return programs_[classes_[step]].items[static_cast<std::size_t>(core)];
  }
  void reset() {
    for (std::size_t k = 0; k < width(); ++k) flags_[k].done.store(0, std::memory_order_relaxed);
  }

 private:
  struct Program {
    std::vector<std::vector<Item>> items;  ///< by core
    std::vector<std::unique_ptr<const std::byte*[]>> inputs;
    std::vector<std::unique_ptr<Flag*[]>> waits;
  };

  std::size_t width() const { return static_cast<std::size_t>(graph_.width()); }
  taskgrain::Interval columns(int core) const {
    return {graph_.width() * core / cores_, graph_.width() * (core + 1) / cores_ - 1};
  }

  Program compile(std::int64_t step) {
    Program program;
    for (int core = 0; core < cores_; ++core) {
      auto& items = program.items.emplace_back();
      for (std::int64_t point = columns(core).first; point <= columns(core).last; ++point)
        items.push_back(item(program, core, step, point));
    }
    return program;
  }

  Item item(Program& program, int core, std::int64_t step, std::int64_t point) {
    Item item{
        point, graph_.contains(step, point), outputs_.at(step, point), &flags_[static_cast<std::size_t>(point)], {},
        {}};
    if (!item.exists) return item;
    std::vector<const std::byte*> inputs;
    outputs_.inputs(step, point, inputs);
    std::vector<Flag*> waits;
    const auto wait_for = [&](taskgrain::Points points) {
      for (const auto interval : points)
        for (std::int64_t j = interval.first; j <= interval.last; ++j)
          if (!columns(core).contains(j)) waits.push_back(&flags_[static_cast<std::size_t>(j)]);
    };
    wait_for(graph_.deps(step, point));
    std::int64_t before = step - 2;
    while (before >= 0 && !graph_.contains(before, point)) before -= 2;
    if (before >= 0) wait_for(graph_.reverse_deps(before, point));
    std::ranges::sort(waits);
    waits.erase(std::ranges::unique(waits).begin(), waits.end());
    item.inputs = keep(program.inputs, inputs);
    item.waits = keep(program.waits, waits);
    return item;
  }

  template <typename T>
  static std::span<T const> keep(std::vector<std::unique_ptr<T[]>>& memory, const std::vector<T>& values) {
    if (values.empty()) return {};
    T* copy = memory.emplace_back(new T[values.size()]).get();
    std::ranges::copy(values, copy);
    return {copy, values.size()};
  }

  /// Columns for which other cores wait come first in each step, so that what they hand over is on its way while the
  /// rest of the step is computed; columns for which nobody waits raise no flag, and without a task are no item at all.
  void drop_unwatched_flags() {
    std::vector<bool> watched(width(), false);
    for (const auto& program : programs_)
      for (const auto& waits : all_waits(program)) watched[static_cast<std::size_t>(waits - flags_.get())] = true;
    for (auto& program : programs_) {
      for (auto& items : program.items) {
        std::ranges::stable_partition(items,
                                      [&](const Item& item) { return watched[static_cast<std::size_t>(item.point)]; });
        for (Item& item : items)
          if (!watched[static_cast<std::size_t>(item.point)]) item.flag = nullptr;
        std::erase_if(items, [](const Item& item) { return !item.exists && item.flag == nullptr; });
      }
    }
  }
  static std::vector<Flag*> all_waits(const Program& program) {
    std::vector<Flag*> all;
    for (const auto& items : program.items)
      for (const Item& item : items) all.insert(all.end(), item.waits.begin(), item.waits.end());
    return all;
  }

  const taskgrain::Graph& graph_;
  int cores_;
  taskgrain::StepClasses classes_;
  taskgrain::Outputs outputs_;
  std::unique_ptr<Flag[]> flags_;
  std::vector<Program> programs_;
};
