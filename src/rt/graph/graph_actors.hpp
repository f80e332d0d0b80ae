#pragma once

/// The actors of a compiled graph: one for each worker that has tasks. Here is what they share: launches one after
/// another.

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "graph_compiler.hpp"
#include "taskgrain/rt/detail/engine.hpp"

namespace taskgrain::rt::detail {

class GraphActors : public Handler {
 public:
  GraphActors(Runtime& runtime, const Compiler& compiler);
  ~GraphActors() override;

  CompiledGraph::Launch launch(CompiledGraph::LaunchOptions options);

  void abandon() noexcept final;

 protected:
  /// Sends a message to a worker, from any thread.
  void send(int worker, const Payload& message, std::size_t words = 3);
  /// Tells the actors to run iterations begin … end - 1, counted over all launches.
  virtual void start(std::int64_t begin, std::int64_t end) = 0;
  /// Precondition k of the running launch is met.
  virtual void meet(std::size_t k, std::int64_t begin, std::int64_t end) = 0;
  /// Forgets what is unfinished: as after compiling.
  virtual void reset() noexcept = 0;
  /// An actor has run all iterations of the launch. \returns whether it was the last
  void finished();
  void set_postcondition(std::size_t k) noexcept { running_.postconditions[k].set(); }
  /// Appends a launch that waits for an event. \returns 1 if there is one, else 0
  std::size_t launches_waiting(std::vector<StuckTask>& tasks, std::size_t most) const;

  Runtime& runtime_;
  Engine& engine_;
  std::vector<int> members_;  ///< workers that have tasks

 private:
  struct Queued {
    CompiledGraph::LaunchOptions options;
    CompiledGraph::Launch launch;
  };
  /// What the events before a launch know of it; they may be set when this graph is gone.
  struct Shared {
    std::mutex mutex;              // of the queue
    std::uint64_t generation = 0;  // of what was abandoned
  };
  /// A call that does nothing once the launches of now are abandoned.
  template <typename F>
  std::function<void()> unless_abandoned(std::uint64_t generation, F call);
  bool start_next();
  void complete();

  const std::string name_;
  const std::size_t preconditions_, postconditions_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::deque<Queued> queue_;
  bool busy_ = false;            // a launch runs, or waits for its events
  std::int64_t iterations_ = 0;  // of all launches so far
  CompiledGraph::Launch running_;
  std::atomic<int> left_{0};  // actors that have not finished; and one for the launch itself while it starts
};

std::unique_ptr<GraphActors> in_order_actors(Runtime& runtime, Compiler compiler, CompileStatistics& statistics);
std::unique_ptr<GraphActors> queued_actors(Runtime& runtime, Compiler compiler, bool stealing,
                                           CompileStatistics& statistics);

}  // namespace taskgrain::rt::detail
