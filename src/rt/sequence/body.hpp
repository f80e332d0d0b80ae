#pragma once

/// The body of a loop or a trace: its tasks, and the graph that they become.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sequence/holders.hpp"
#include "sequence/registry.hpp"
#include "taskgrain/rt/compiled_graph.hpp"
#include "taskgrain/rt/detail/task_function.hpp"

namespace taskgrain::rt::detail {

struct Body {
  struct Task {
    TaskFunction function;
    std::uint32_t accesses;              // where they end; they begin where those of the task before end
    int worker, given_worker, priority;  // given_worker: by its options
    std::string name;
    const EventType* event;  // of an asynchronous task; else null
    int rank = 0;
  };

  std::vector<Task> tasks;
  std::vector<Access> accesses;               // of all tasks
  std::vector<std::uint64_t> results;         // ids of the data that its tasks make, ascending
  std::vector<std::uintptr_t> places;         // of that data
  std::vector<std::shared_ptr<void>> owners;  // of memory that another rank may need when nothing else does

  std::span<const Access> accesses_of(std::size_t k) const noexcept {
    const std::size_t begin = k == 0 ? 0 : tasks[k - 1].accesses;
    return std::span(accesses).subspan(begin, tasks[k].accesses - begin);
  }
  /// The place of the data among the results; -1: it is none.
  std::ptrdiff_t result(std::uint64_t id) const noexcept {
    const auto at = std::ranges::lower_bound(results, id);
    return at != results.end() && *at == id ? at - results.begin() : -1;
  }
  /// True if the tasks of the other use the same, so that they come after each other in the same way.
  /// \param workers  whether these count, too: not across ranks, which have numbers of their own and must find the same
  bool alike(const Body& other, bool workers) const noexcept;
  /// A copy of the body without the functions.
  Body shape() const;
};

/// A body as a graph, which may repeat itself. It is launched with other bodies that are like it.
class CompiledBody {
 public:
  /// \param ranks      whose graph it is; null: of this rank alone
  /// \param transfers  between ranks, before each task
  CompiledBody(Runtime& runtime, std::shared_ptr<DataRegistry> registry, const Body& body, const std::string& name,
               Communicator* ranks = nullptr, const std::vector<std::vector<Transfer>>& transfers = {});

  /// All that a body uses here, once; and a token, so that one launch comes after the other.
  std::vector<Access> accesses(const Body& of) const;
  /// \param bodies  one, which runs so many times; or several, one after the other, once each
  /// \pre the launch before has ended
  CompiledGraph::Launch launch(std::vector<std::shared_ptr<Body>> bodies, std::int64_t iterations);
  /// The exception of the first task that failed; null if none did. \pre the launch has ended
  std::exception_ptr failure() const noexcept { return failure_; }
  /// Its name, and the iteration if there are several.
  const std::string& failed_task() const noexcept { return failed_task_; }
  /// Ends the launch that runs, if one does. From any thread.
  void stop() noexcept { graph_.cancel(); }
  /// The first number of its tasks in the runtime's trace.
  std::uint64_t first_traced() const noexcept;
  /// Destroys the functions of the last launch. \pre it has ended
  void release() noexcept { bodies_.clear(); }

 private:
  /// The function that a record calls where each iteration has its own, or the task is asynchronous.
  struct OfIteration {
    CompiledBody* own;
    std::size_t task;
    void operator()(const Turn& turn) const {
      own->function(task, turn)(Turn{own->iteration(turn), turn.worker, turn.overall});
    }
    static void start(void* of, const Turn& turn, const void* after, std::size_t number, const Done& done,
                      void* event) {
      const auto& [own, task] = *static_cast<OfIteration*>(of);
      const Turn given{own->iteration(turn), turn.worker, turn.overall};
      own->function(task, turn)(StartTurn{given, after, number, done, event});
    }
  };

  static constexpr std::size_t no_task = SIZE_MAX;
  struct Step;
  TaskFunction& function(std::size_t task, const Turn& turn) const noexcept {
    return bodies_[bodies_.size() == 1 ? 0 : static_cast<std::size_t>(turn.iteration)]->tasks[task].function;
  }
  std::int64_t iteration(const Turn& turn) const noexcept { return bodies_.size() == 1 ? turn.iteration : 0; }

  void fail(std::uint32_t node, std::int64_t iteration) noexcept;
  /// Fills `uses_`, `extra_` and `task_of_`.
  TaskGraph graph_of(const Body& body, const std::string& name, const std::vector<std::vector<Transfer>>& transfers);
  TaskGraph::Node node_of(TaskGraph& graph, const Body::Task& task, std::size_t k);
  /// The step of this rank in a transfer.
  Step step_of(TaskGraph& graph, const Body& body, const Transfer& transfer, std::uint64_t tag);
  Access extra(std::span<const Region> regions, const std::string& name, Mode mode);

  Communicator* const ranks_;
  const std::shared_ptr<DataRegistry> registry_;
  struct Extra : std::vector<Access> {
    explicit Extra(DataRegistry& of) : registry(of) {}
    ~Extra() {
      for (const Access& one : *this) registry.release(one.index);
    }
    DataRegistry& registry;
  };
  Extra extra_{*registry_};  // the token, and what goes between ranks
  std::deque<Transfer> transfers_;
  std::deque<std::vector<std::byte>> buffers_;  // for what is sent and does not lie in one place
  struct Move {
    Region* region;  // of a transfer, which in each body lies elsewhere
    std::size_t result, offset;
  };
  std::vector<Move> moves_;
  struct Use {
    std::size_t at;  // of the body's accesses, one of this data
    Mode mode;
  };
  std::vector<Use> uses_;
  std::vector<std::size_t> task_of_;           // by node: its number in the body
  std::vector<std::shared_ptr<Body>> bodies_;  // that run
  std::deque<OfIteration> starts_;             // of asynchronous tasks
  // `launch` clears it before a task runs. The first task that throws sets it, and its worker alone writes the two
  // below. They are read when the launch has ended.
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  std::string failed_task_;
  std::int64_t iterations_ = 0;  // of the launch
  CompiledGraph graph_;
};

/// Calls of a trace that follow each other: those that come before it starts join the launch.
struct TraceLaunch {
  const std::shared_ptr<CompiledBody> compiled;
  std::mutex mutex;                           // protects the members below
  std::vector<std::shared_ptr<Body>> bodies;  // of the calls; empty once it has started
};

/// A body that `loop` or `trace` was given.
struct Traced {
  Body shape;                              // without functions
  std::shared_ptr<CompiledBody> compiled;  // of a trace, when it was given the second time
  bool seen = false;
};

}  // namespace taskgrain::rt::detail
