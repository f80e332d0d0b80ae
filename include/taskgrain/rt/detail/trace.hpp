#pragma once

/// A trace: which task ran on which worker and when, in the trace-event format that chrome://tracing and
/// ui.perfetto.dev read, and what it comes after.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <ostream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/scope_exit.hpp"

namespace taskgrain::rt::detail {

/// The tasks of one worker, written by its thread.
class TraceLane {
 public:
  using Clock = std::chrono::steady_clock;

  void record(std::string task, Clock::time_point begin, Clock::time_point end, TracedTask of = {},
              Clock::duration away = {}) {
    spans_.push_back({std::move(task), begin, end, of, away});
  }
  /// Runs a task, and records it unless it throws.
  template <typename Call>
  void run(std::string task, const TracedTask& of, const Call& call) {
    const ScopedValue inside(running_, of);
    const ScopedValue not_away(away_, Clock::duration{});
    const auto begin = Clock::now();
    call();
    record(std::move(task), begin, Clock::now(), of, away_);
  }
  /// Runs a part of the task that runs, which has a name of its own.
  template <typename Call>
  auto run_inside(std::string part, const Call& call) {
    const auto begin = Clock::now();
    const auto result = call();
    record(std::move(part), begin, Clock::now());
    return result;
  }
  /// The task that runs.
  const TracedTask& running() const noexcept { return running_; }

  /// While it lives, the worker waits in the middle of its task, or does what other ranks ask for: the time is not that
  /// task's, and what is fulfilled does not come after it.
  class Away {
   public:
    /// \param lane  null: there is no trace
    explicit Away(TraceLane* lane) : lane_(lane), task_(lane == nullptr ? TracedTask() : lane->running_) {
      if (task_.number == 0) return;  // no task runs, or it is away already
      lane_->running_ = {};
      begin_ = Clock::now();
    }
    ~Away() {
      if (task_.number == 0) return;
      lane_->away_ += Clock::now() - begin_;
      lane_->running_ = task_;
    }
    Away(const Away&) = delete;
    Away& operator=(const Away&) = delete;

   private:
    TraceLane* lane_;
    TracedTask task_;
    Clock::time_point begin_;
  };

 private:
  friend class Trace;
  struct Span {
    std::string task;
    Clock::time_point begin, end;
    TracedTask of;
    Clock::duration away;
  };
  std::vector<Span> spans_;
  TracedTask running_;
  Clock::duration away_{};  // of the task that runs
};

class Trace {
 public:
  explicit Trace(std::size_t workers) : lanes_(workers) {}
  ~Trace();

  TraceLane& lane(std::size_t worker) noexcept { return lanes_[worker]; }

  // -- from any thread

  /// An edge to a node of a graph.
  struct Edge {
    std::uint32_t from, to;
    bool carried;  ///< from the iteration before
  };
  /// \returns the first of the numbers of a sequence or a flow
  std::uint64_t add();
  /// \returns the first of the numbers of a graph: node n of iteration i has i · nodes + n more
  std::uint64_t add(std::size_t nodes, const std::vector<Edge>& edges);
  /// A task of a sequence is given.
  void order(std::uint64_t task, const std::vector<std::uint64_t>& before);
  /// A task of a flow is fulfilled, by another that has a number, or none. It has its own from then on until it runs.
  void fulfilled(std::uint64_t first_of_flow, const std::string& task, const TracedTask& by);
  TracedTask begun(std::uint64_t first_of_flow, const std::string& task);
  /// The tasks of a flow that waited were dropped.
  void forget(std::uint64_t first_of_flow);
  /// A launch of a graph is given, which begins with this iteration.
  void given(std::uint64_t first_of_graph, std::int64_t begin);
  /// The next launch that is given of a graph is a task, which ends with it.
  void launched(std::uint64_t task, std::uint64_t first_of_graph);
  /// A thread has waited: what is given from now on comes after what has ended.
  void waited();

  /// Begins the file, and keeps other runtimes, also of other processes, from writing it meanwhile.
  /// \param rank, ranks  of the runtime's communicator; 0 and 1 without one
  /// \throws UsageError  if another one writes it
  /// \throws std::system_error  if it cannot be written
  void keep(const std::string& file, int rank, int ranks);
  /// \throws std::system_error  if the file cannot be written
  void write(const std::string& file) const;

 private:
  /// A task of a sequence or a flow, as it was given.
  struct Given {
    std::vector<TracedTask> before;
    std::size_t waits;  // there were until then
  };
  struct Flow {
    std::uint64_t given = 0;  // numbers
    std::unordered_map<std::string, std::uint64_t> waiting;
  };
  struct Launch {
    std::uint64_t task;  // that it is, or none
    std::size_t waits;   // there were until it was given
  };
  struct Graph {
    std::vector<std::vector<Edge>> before;    // each node
    std::map<std::int64_t, Launch> launches;  // by their begin
    std::uint64_t next = 0;                   // the task that is the next launch, or none
  };

  std::vector<TracedTask> before(const TracedTask& task) const;
  std::size_t waits_before(const TracedTask& task) const;
  void write_order(std::ostream& out, const TraceLane::Span& span,
                   const std::unordered_map<std::uint64_t, std::size_t>& places) const;

  TraceLane::Clock::time_point begin_ = TraceLane::Clock::now();
  std::vector<TraceLane> lanes_;
  int kept_ = -1;  // the file, if it is kept from others
  int rank_ = 0, ranks_ = 1;

  mutable std::mutex mutex_;  // protects the members below
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Flow> flows_;             // by the first number, too
  std::map<std::uint64_t, Graph> graphs_;           // by the first number
  std::unordered_map<std::uint64_t, Given> given_;  // tasks of sequences and flows
  std::vector<TraceLane::Clock::time_point> waits_;
};

}  // namespace taskgrain::rt::detail
