#pragma once

/// Graphs compiled into one actor for each worker, after Yadav et al., "On the Duality of Task and Actor Programming
/// Models", section 4: contiguous records of tasks, at most one message for an edge that crosses workers, no central
/// structure; launched as one operation, as often as one likes.
///
///     rt::TaskGraph graph;
///     auto a = graph.task(0, [&] { … }), b = graph.task(1, [&] { … });
///     graph.edge(a, b);
///     rt::CompiledGraph compiled(runtime, std::move(graph));
///     compiled.launch();
///     runtime.wait();

#include "taskgrain/rt/detail/cxx20.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "taskgrain/rt/event.hpp"
#include "taskgrain/rt/runtime.hpp"
#include "taskgrain/rt/task_graph.hpp"

namespace taskgrain::rt {

enum class Policy : std::uint8_t {
  in_order,     ///< each worker runs its tasks in one order, found when compiling, and waits only for other workers
  ready_queue,  ///< each worker runs those of its tasks that are ready
  stealing,     ///< and those of others, when it has none
};

inline constexpr const char* policy_names = "in_order, ready_queue, stealing";
/// Null if there is no policy of this name.
std::optional<Policy> policy_from_name(std::string_view name) noexcept;

struct CompileStatistics {
  std::size_t tasks = 0;
  std::size_t edges = 0;      ///< edges as given
  std::size_t implied = 0;    ///< edges left out: given twice, or implied by others
  std::size_t local = 0;      ///< edges within a worker
  std::size_t crossing = 0;   ///< edges between workers
  std::size_t on_device = 0;  ///< local and crossing edges between asynchronous tasks for which the host does not wait
  std::size_t messages = 0;   ///< stores or messages between workers in an iteration
  double seconds = 0;         ///< the time to compile
};

namespace detail {
class CompiledBody;
class GraphActors;
}  // namespace detail

class CompiledGraph {
 public:
  /// \throws UsageError  a worker or a node of an edge that does not exist; a cycle, with the names of tasks in it; an
  ///   edge into a precondition or out of a postcondition
  CompiledGraph(Runtime& runtime, TaskGraph graph, Policy policy = Policy::in_order);
  /// Waits for all launches of this graph. Called by a task or in a callback it does not wait: the runtime keeps the
  /// tasks until they have run. It prints an exception that nobody has waited for.
  ~CompiledGraph();
  CompiledGraph(const CompiledGraph&) = delete;
  CompiledGraph& operator=(const CompiledGraph&) = delete;

  struct LaunchOptions {
    /// The number of times that the graph runs. Iterations follow each other by carried edges, without a barrier.
    std::int64_t iterations = 1;
    /// Events that the launch comes after.
    std::vector<Event> after{};
    /// The event that each precondition of the graph waits for, in any order.
    std::vector<std::pair<TaskGraph::Node, Event>> preconditions{};
  };
  class Launch {
   public:
    Event done;
    /// The event of a postcondition of the graph.
    /// \throws UsageError  the node is none
    const Event& postcondition(TaskGraph::Node node) const;

   private:
    friend class detail::GraphActors;
    std::uint32_t graph_ = 0;
    std::vector<std::pair<std::uint32_t, Event>> postconditions_;  // by node, ascending
  };
  /// Starts the graph as soon as its earlier launches and the events before it allow, and returns at once. From any
  /// thread; one that is no worker holds the runtime (Runtime::hold) if another may be in `wait`.
  ///
  /// If a task throws, or an event before the launch fails, the launch fails: its tasks that have not started are
  /// dropped, and so are the launches that are queued behind it. The events of these launches fail with the exception.
  /// \throws UsageError  iterations below 0 or too many; a precondition that has no event, or two; a node that is none;
  ///   a graph across ranks was cancelled
  /// \throws RankFailed  of a graph across ranks, whose communicator has failed
  Launch launch(LaunchOptions options);
  Launch launch() { return launch({}); }
  /// Returns the bytes of a `receive`, for a task that comes after it. From any thread.
  /// \param turn  of that task; only `overall` counts
  /// \param back  1 for a task that comes after it by a carried edge, and so reads those of the iteration before
  /// \throws UsageError  the node is no `receive`; `back` is neither 0 nor 1
  std::span<const std::byte> received(TaskGraph::Node receive, const Turn& turn, int back = 0) const;
  /// Ends the launches that have not ended: tasks that have not started are dropped, events fail with Cancelled. From
  /// any thread; tasks may call it. A graph across ranks must be cancelled by all of them, and is not launched again.
  void cancel() noexcept;

  const CompileStatistics& statistics() const noexcept { return statistics_; }

 private:
  friend class detail::CompiledBody;  // changes the functions

  detail::Engine& engine_;
  CompileStatistics statistics_;
  const std::shared_ptr<detail::GraphActors> actors_;
};

}  // namespace taskgrain::rt
