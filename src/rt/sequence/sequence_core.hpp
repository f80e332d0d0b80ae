#pragma once

/// The engine of a Sequence: infers what comes after what, and runs the tasks as those of a flow.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "graph/issue.hpp"
#include "sequence/across_ranks.hpp"
#include "sequence/body.hpp"
#include "sequence/dependences.hpp"
#include "sequence/registry.hpp"
#include "sequence/repeats.hpp"
#include "sequence/window_task.hpp"
#include "taskgrain/rt/sequence.hpp"
#include "taskgrain/rt/taskflow.hpp"

namespace taskgrain::rt::detail {

class SequenceCore final : AsyncOwner {
 public:
  /// \param communicator  of a sequence of its ranks; null: of this rank alone
  SequenceCore(Runtime& runtime, Communicator* communicator, SequenceOptions&& options);
  ~SequenceCore();

  const std::shared_ptr<DataRegistry>& registry() const noexcept { return registry_; }
  std::uint32_t add_data(std::span<const Region> regions, std::span<const Region> objects, const DataOptions& options,
                         bool travels);
  std::uint32_t add_token(const DataOptions& options);
  /// For the result of a task.
  std::uint32_t add_result(const std::shared_ptr<void>& owner, const Region& region, bool travels);
  void add_part(const Access& data, const std::shared_ptr<void>& owner, const Region& region, bool travels);
  TaskFunction& begin(std::span<const Access> accesses, const Access* also, TaskOptions&& options,
                      const EventType* event = nullptr);
  void end();
  using Fold = void (*)(void* sum);
  std::shared_ptr<void> joined_reduction(const Access& data, Fold kind, const void* target);
  void open_reduction(const Access& data, Fold kind, const void* target, std::shared_ptr<void> sum);
  void keep(const Access& data, const std::shared_ptr<void>& sum);
  void loop(std::int64_t iterations, const std::function<void()>& body, const std::string& name);
  void trace(std::uint64_t id, const std::function<void()>& body, const std::string& name);
  void wait();
  void wait(const Access& data);

  Sequence::TraceStatistics statistics;

 private:
  /// A task of the flow: the node, and which of its tasks, each time that it is queued.
  struct Key {
    WindowTask* node;
    std::uint64_t number, attempt;

    bool operator==(const Key&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const Key& key) {
      return key.node->name.empty() ? out << "task " << key.number : out << key.node->name;
    }
  };
  struct Tasks {
    SequenceCore* core;

    int indegree(Key) const noexcept { return 1; }
    int worker(Key key) const noexcept { return key.node->worker; }
    int priority(Key key) const noexcept { return key.node->priority; }
    void run(Key key) const { core->run(*key.node); }
  };
  struct OpenReduction {
    Fold fold;  // also its kind
    const void* target;
    std::shared_ptr<void> sum;
    std::uint64_t opened;         // how many were opened until then
    std::vector<Access> parts{};  // across ranks
  };

  static Key key_of(const WindowTask& node) noexcept {
    return {const_cast<WindowTask*>(&node), node.number, node.attempt};
  }
  WindowTask& task_of(std::uint64_t number) noexcept { return window_[number & mask_]; }
  bool has_ended(std::uint64_t number) noexcept { return task_of(number).number != number || task_of(number).ended(); }

  std::string name_of(std::uint32_t index) const { return "'" + (*registry_)[index].name + "'"; }
  std::string described(const TaskOptions& options) const;
  /// Fills `accesses_`: each piece of data once.
  void check(std::span<const Access> accesses, const Access* also, const TaskOptions& options);
  int home_of_written() const noexcept;
  int next_home() noexcept { return std::exchange(next_home_, (next_home_ + 1) % runtime_.workers()); }
  void check_rank(const std::string& what, int rank) const;
  /// Across ranks: the rank of a task, and of its result.
  int place(const Access* also, int rank);
  /// Gives what brings bytes to a rank. Keeps `accesses_`.
  void give(const std::vector<Transfer>& transfers, const std::vector<std::shared_ptr<void>>& owners);
  /// Of the memory of `accesses_`.
  std::vector<std::shared_ptr<void>> owners() const;
  /// A task of this rank that uses `accesses_`.
  TaskFunction& begin_here(int worker, TaskOptions&& options, const EventType* event = nullptr);
  void wait_for_room();
  /// The same for a body of so many tasks: two may be there at once, or as many as have the tasks of a window.
  void wait_for_room(std::size_t tasks);
  /// Waits until `done()`. \throws as Sequence::wait
  void wait_until(const std::function<bool()>& done);
  void check_not_recording(const char* what) const;
  void wait_for_flow();
  /// Drops what was given and has not started. \throws what is being handled
  [[noreturn]] void drop_all_and_throw();
  /// Whether what was being given at that time was dropped since, with all else. A body that is recorded stays.
  bool dropped_since(std::uint64_t drops) const noexcept { return drops_ != drops && !recording_; }
  template <typename Each>
  void each_shape(const Each& each) {
    std::ranges::for_each(loops_, each);
    for (auto& [id, known] : traces_) std::ranges::for_each(known.shapes, each);
    std::ranges::for_each(automatic_traces_, each);
  }
  void stop_launches() noexcept;
  /// By the thread that gives tasks.
  bool all_ended() noexcept;
  void check_no_task() const;
  void forget_all() noexcept;

  /// What a task uses that is not a part of the sum.
  void close_used(std::span<const Access> accesses, const Access* also);
  void close_reduction(std::uint32_t index);
  /// In the order in which they were opened: all ranks have this order, but indices and addresses of their own.
  template <typename Chosen>
  void close_if(const Chosen& chosen);
  void close_overlapping(std::uint32_t index, bool itself);
  void close_reductions();

  void run(WindowTask& node);
  void issue(WindowTask& node);
  void device_done(std::uint32_t place, std::int64_t number) override;
  void fail(std::uint32_t place, std::int64_t number) noexcept override;
  void started_or_done(WindowTask& node);
  void over(WindowTask& node);
  bool lock(WindowTask& node);
  void unlock(WindowTask& node);
  void ready(const WindowTask& node) { flow_.fulfill(key_of(node)); }

  /// \param of_next  what the task uses that is given next
  void reclaim(std::span<const Access> of_next = {});
  void drop_unfinished();
  /// \param accesses  where its accesses end
  TaskFunction& record_task(std::uint32_t accesses, int worker, int rank, TaskOptions&& options,
                            const EventType* event);
  bool is_expected(std::span<const Access> accesses, const Access* also, const TaskOptions& options,
                   const EventType* event) const noexcept;
  void expect_no_more();
  /// Where traces are automatic: a task is given. It may begin a body, or end one that it does not belong to.
  /// \param task  its hash
  void follow(std::uint64_t task);
  void begin_body(const std::vector<Traced>& known);
  std::shared_ptr<Body> end_body();
  void discard_body() noexcept;
  /// Gives or launches the body of an automatic trace, if there is one. Sums that are open stay so.
  /// \param expected  no task was given that does not belong to it
  void end_automatic(bool expected);
  /// \param known  the last of these is expected
  std::shared_ptr<Body> record(const std::vector<Traced>& known, const std::function<void()>& body);
  /// Gives a recorded body, task by task.
  void give(Body& body);
  void give(Body& body, std::size_t k);
  void trace(std::vector<Traced>& shapes, const std::shared_ptr<Body>& body, const std::string& name);
  std::vector<Traced>& shapes_of(std::uint64_t id);
  /// The one that is like the body that was recorded last; if there is none, a new one, in place of the one that was
  /// not used for longest where there are many. From then on it is the last.
  Traced& known(std::vector<Traced>& shapes, const Body& body);
  /// Whether it joins the launch that was given last. Not across ranks, which would differ in what joins.
  bool join(const std::shared_ptr<CompiledBody>& compiled, const std::shared_ptr<Body>& body);
  /// Compiles a body, if it is not, and gives one task that launches it.
  void launch(std::shared_ptr<CompiledBody>& compiled, std::shared_ptr<Body> body, std::int64_t iterations,
              const std::string& name);

  Runtime& runtime_;
  Engine& engine_;
  const std::string name_;
  const std::shared_ptr<DataRegistry> registry_ = std::make_shared<DataRegistry>();
  Dependences dependences_{*registry_};
  std::vector<WindowTask> window_;
  const std::size_t mask_;
  const std::size_t most_traces_;
  std::uint64_t submitted_ = 0;
  std::uint64_t oldest_ = 1;  // all tasks before it have ended
  int next_home_ = 0;
  std::uint64_t drops_ = 0;       // how often all was dropped
  std::atomic<int> launched_{0};  // graphs and operations that have not ended: by tasks, and by what ends these
  std::atomic<std::size_t> in_bodies_{0};  // tasks of bodies that have not ended; added by the thread that gives tasks
  std::atomic<bool> waits_{false};         // the thread that gives tasks, for some of them to end; by that thread
  // Of the task that is given:
  std::vector<Access> accesses_;
  struct Mark {
    std::uint64_t check;  // in which the data was seen last
    std::size_t at;       // in accesses_
  };
  std::vector<Mark> marks_;  // by the index of the data
  std::uint64_t checks_ = 0;
  std::vector<WindowTask*> before_;
  WindowTask* next_ = nullptr;  // null: another rank's
  TaskFunction dropped_;        // of another rank

  std::map<std::uint32_t, OpenReduction> reductions_;  // by the index of their data
  std::uint64_t opened_ = 0;
  std::vector<std::shared_ptr<void>> dropped_sums_;  // until the tasks that write their parts have ended
  bool gives_body_ = false;                          // task by task: it has results that no task uses yet
  std::map<std::uint32_t, CommuteLock> locks_;

  std::unique_ptr<AcrossRanks> ranks_;        // null: of this rank alone
  std::deque<std::byte> tokens_;              // a byte of each, so that tokens are parts of what is together
  std::uint64_t made_ = 0;                    // data, across ranks
  std::vector<InFlightPool::Pointer> pools_;  // by worker, which makes its own
  std::shared_ptr<Body> recording_;           // null: no body is recorded
  std::size_t recorded_ = 0;                  // tasks of it that have their functions
  int next_home_after_ = 0;                   // of what comes after it
  std::optional<Repeats> repeats_;            // of automatic traces
  std::size_t automatic_ = 0;                 // how many tasks the body is to have that is recorded by itself; 0: none
  bool follows_ = true;                       // what is given
  /// What its tasks have been so far: while this is set, it has no accesses of its own. Null: they differ from all.
  const Body* expected_ = nullptr;
  bool as_expected_ = false;                // the last body that was recorded, all of it
  std::weak_ptr<TraceLaunch> last_launch_;  // of a trace
  std::uint64_t last_launch_number_ = 0;    // its task
  std::vector<Traced> loops_;
  struct Shapes {
    std::vector<Traced> shapes;
    std::uint64_t call = 0;  // the last
  };
  std::map<std::uint64_t, Shapes> traces_;  // by number
  std::uint64_t trace_calls_ = 0;
  std::vector<Traced> automatic_traces_;
  Taskflow<Key, Tasks> flow_;  // last: it ends first
  /// The flow has dropped tasks, because one has thrown or for another reason: those that have not started are dropped.
  /// Reset when all have stopped.
  std::atomic<bool>& failed_ = flow_.handler_->has_dropped;
};

}  // namespace taskgrain::rt::detail
