#pragma once

/// A known graph, compiled into one linear program for each core.
///
/// A core does its columns in the order of `Layout`, step after step. Place k of step t has the number t · W + k, where
/// W is the width of the graph. Outputs are kept for d steps, so (t, i) writes over (t-d, i), or (t-2d, i), …
///
/// Invariant: done[b] = n ⇒ all tasks of core b at numbers below n are complete and visible. Before task (t, i), its
/// core waits, for every other core b,
///   - where b owns a j ∈ D(t, i), for the last column of its chunk:  done[b] > (t-1) · W + chunk_end(j)
///   - where b ever reads column i, for the readers of what (t, i) overwrites, which are tasks of steps up to t-d+1:
///       d > 2:  done[b] >= (t-d+2) · W, for all of these steps; if that is not so, for half of the ring, so that who
///               runs ahead waits seldom:  done[b] >= (t-d/2) · W
///       d = 2:  done[b] > (t-1) · W + place(r) for each column r of b that ever reads i.
/// Waits that an earlier item of the step has had are left out. No wait is for a place of step t or later, and b
/// reports in every step: at chunk_end(j) of every j that others read, or at its last column if there is none, and with
/// d = 2 at every r. So the core that is furthest behind never waits for ever. done[b] is written by core b alone.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "layout.hpp"
#include "taskgrain/graph.hpp"
#include "taskgrain/step_classes.hpp"
#include "team.hpp"

/// Fetches a line from whoever has it.
inline void fetch_to_write(const std::byte* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*line));  // the builtin only reads, unless compiled for a later processor
#else
  __builtin_prefetch(line, 1);
#endif
}

/// Until another core's program is past a place. Numbers count from the first place of this step.
struct Wait {
  std::size_t core;
  std::int64_t places;     ///< it must have done what is before this
  std::int64_t until;      ///< if it has not, wait for this
  const std::byte* input;  ///< what may be read then; null: may be written
  const std::byte* next;   ///< the same line of the next step
};

/// What a core does for one column in one step.
struct Item {
  std::int64_t point;
  std::byte* output;  ///< null: there is no task, only a place to report
  std::int64_t done;  ///< to be reported, from the first place of this step; 0: nobody waits for this column
  std::span<const std::byte* const> inputs;
  std::span<const Wait> waits;
};

class Plan {
 public:
  Plan(const taskgrain::Graph& graph, int cores)
      : graph_(graph), depth_(depth(graph, cores)), classes_(graph, depth_),
        layout_(graph, cores, static_cast<std::size_t>(depth_), classes_.representatives()),
        cores_(static_cast<std::size_t>(cores)) {
    for (Core& core : cores_) core.seen.resize(2 * apart + cores_.size());
    find_reports();
    for (const std::int64_t step : classes_.representatives()) programs_.push_back(compile(step));
  }

  const taskgrain::Graph& graph() const { return graph_; }
  std::span<const Item> program(std::int64_t step, int core) const {
    return programs_[classes_[step]].items[static_cast<std::size_t>(core)];
  }
  void reset() {
    for (Core& core : cores_) {
      core.done.store(0, std::memory_order_relaxed);
      std::ranges::fill(core.seen, 0);
    }
  }

  /// Waits and reports of core `own`, in the step that starts at place `start`.
  void wait(int own, const Wait& wait, std::int64_t start) {
    std::int64_t& seen = cores_[static_cast<std::size_t>(own)].seen[apart + wait.core];
    if (seen < start + wait.places)
      while ((seen = cores_[wait.core].done.load(std::memory_order_acquire)) < start + wait.until) spin_pause();
    // Lines are on their way while other tasks run, those of the next step where the other core is done with them.
    const bool ahead = seen >= start + wait.places + graph_.width();
    if (wait.input != nullptr) __builtin_prefetch(wait.input);
    if (ahead) wait.input != nullptr ? __builtin_prefetch(wait.next) : fetch_to_write(wait.next);
  }
  void report(int own, const Item& item, std::int64_t start) {
    cores_[static_cast<std::size_t>(own)].done.store(start + item.done, std::memory_order_release);
  }

 private:
  static constexpr std::size_t apart = 16;  // numbers of two cores are at least so many apart: on other lines
  struct Core {
    alignas(128) std::atomic<std::int64_t> done{0};
    alignas(128) std::vector<std::int64_t> seen;  ///< of each other's `done`, what this core saw last; its own
  };
  using Waited =
      std::set<std::tuple<std::size_t, std::int64_t, std::int64_t>>;  // core, places, own chunk to be written
  struct Program {
    std::vector<std::vector<Item>> items;  ///< by core
    std::vector<std::unique_ptr<const std::byte*[]>> inputs;
    std::vector<std::unique_ptr<Wait[]>> waits;
  };

  /// Many steps while they and the programs are small: a core may run ahead, and need not wait for those that read.
  static std::int64_t depth(const taskgrain::Graph& graph, std::int64_t cores) {
    constexpr std::size_t most_bytes = std::size_t{1} << 15, most_inputs = std::size_t{1} << 20;
    const auto columns = static_cast<std::size_t>((graph.width() + cores - 1) / cores);
    std::size_t inputs = static_cast<std::size_t>(graph.width());
    if (graph.uniform() && graph.steps() > 1)
      for (std::int64_t i = 0; i < graph.width(); ++i) inputs += static_cast<std::size_t>(graph.deps(1, i).count());
    for (const std::int64_t depth : {16, 8, 4})
      if (Layout::stride(graph) <= most_bytes / columns / static_cast<std::size_t>(depth) &&
          inputs <= most_inputs / static_cast<std::size_t>(depth))
        return depth;
    return 2;
  }

  void find_reports() {
    reports_.resize(static_cast<std::size_t>(graph_.width()));
    std::vector<bool> is_read(cores_.size());
    for (std::int64_t j = 0; j < graph_.width(); ++j)
      if (!layout_.readers(j).empty()) {
        const auto owner = layout_.owner(j);
        is_read[static_cast<std::size_t>(owner)] = true;
        reports_[static_cast<std::size_t>(layout_.order(owner)[static_cast<std::size_t>(layout_.chunk_end(j))])] = true;
      }
    for (std::int64_t j = 0; j < graph_.width(); ++j)
      for (const std::int64_t r : layout_.readers(j))
        if (depth_ == 2)
          reports_[static_cast<std::size_t>(r)] = true;
        else if (!is_read[static_cast<std::size_t>(layout_.owner(r))])
          reports_[static_cast<std::size_t>(layout_.order(layout_.owner(r)).back())] = true;
  }

  Program compile(std::int64_t step) {
    Program program;
    for (std::size_t core = 0; core < cores_.size(); ++core) {
      auto& items = program.items.emplace_back();
      Waited waited;  // in this step
      for (const std::int64_t point : layout_.order(static_cast<Layout::Core>(core)))
        if (graph_.contains(step, point) || reports_[static_cast<std::size_t>(point)])
          items.push_back(item(program, step, point, waited));
    }
    return program;
  }

  Item item(Program& program, std::int64_t step, std::int64_t point, Waited& waited) {
    Item item{point, nullptr, reports_[static_cast<std::size_t>(point)] ? layout_.place(point) + 1 : 0, {}, {}};
    if (!graph_.contains(step, point)) return item;
    item.output = layout_.output(step, point);
    std::vector<const std::byte*> inputs;
    std::vector<Wait> waits;
    const auto wait_for = [&](std::int64_t column, std::int64_t places, std::int64_t until, const std::byte* input,
                              std::int64_t next) {
      const auto core = static_cast<std::size_t>(layout_.owner(column));
      if (waited.emplace(core, places, input == nullptr ? layout_.chunk_end(point) : -1).second)
        waits.push_back({core, places, until, input, layout_.output(next, input == nullptr ? point : column)});
    };
    const std::int64_t width = graph_.width();
    for (const auto interval : graph_.deps(step, point))
      for (std::int64_t j = interval.first; j <= interval.last; ++j) {
        inputs.push_back(layout_.output(step - 1, j));
        const std::int64_t places = layout_.chunk_end(j) + 1 - width;
        if (layout_.owner(j) != layout_.owner(point)) wait_for(j, places, places, inputs.back(), step);
      }
    for (const std::int64_t r : layout_.readers(point)) {
      const std::int64_t places = depth_ == 2 ? layout_.place(r) + 1 - width : (2 - depth_) * width;
      wait_for(r, places, depth_ == 2 ? places : -depth_ / 2 * width, nullptr, step + 1);
    }
    // The latest place first: what is before it has then been seen.
    std::ranges::sort(waits, [](const Wait& a, const Wait& b) {
      return std::tuple(a.core, -a.places) < std::tuple(b.core, -b.places);
    });
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

  const taskgrain::Graph& graph_;
  std::int64_t depth_;
  taskgrain::StepClasses classes_;
  Layout layout_;
  std::vector<Core> cores_;
  std::vector<bool> reports_;  // by column: whether its core reports when it is past it
  std::vector<Program> programs_;
};
