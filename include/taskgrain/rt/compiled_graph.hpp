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

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
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
  std::size_t edges = 0;     ///< as given
  std::size_t implied = 0;   ///< edges left out: given twice, or implied by others
  std::size_t local = 0;     ///< edges within a worker
  std::size_t crossing = 0;  ///< edges between workers
  std::size_t messages = 0;  ///< stores or messages between workers in an iteration
  double seconds = 0;        ///< that it took
};

namespace detail {
class GraphActors;
}

class CompiledGraph {
 public:
  /// \throws UsageError  a worker that does not exist; a cycle, with the names of tasks in it
  CompiledGraph(Runtime& runtime, TaskGraph graph, Policy policy = Policy::in_order);
  /// Waits for all launches.
  ~CompiledGraph();
  CompiledGraph(const CompiledGraph&) = delete;
  CompiledGraph& operator=(const CompiledGraph&) = delete;

  struct LaunchOptions {
    /// How often the graph runs. Iterations follow each other by carried edges, without a barrier.
    std::int64_t iterations = 1;
    /// Events that the launch comes after.
    std::vector<Event> after{};
    /// One for each precondition of the graph.
    std::vector<Event> preconditions{};
  };
  struct Launch {
    Event done;
    std::vector<Event> postconditions;
  };
  /// Starts the graph as soon as its earlier launches and the events before it allow, and returns at once. From any
  /// thread; one that is no worker holds the runtime (Runtime::hold) if another may be in `wait`. After a run has
  /// failed the events of its launches are never set.
  /// \throws UsageError  iterations below 0, or another number of preconditions than the graph has
  Launch launch(LaunchOptions options);
  Launch launch() { return launch({}); }

  const CompileStatistics& statistics() const noexcept { return statistics_; }

 private:
  CompileStatistics statistics_;
  std::unique_ptr<detail::GraphActors> actors_;
};

}  // namespace taskgrain::rt
