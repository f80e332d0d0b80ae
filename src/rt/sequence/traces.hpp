#pragma once

/// The loops and traces of a sequence: what a body gives is recorded, and given task by task, or launched as a graph.
///
///   in_bodies_ = tasks of launches that have not ended; there is room for those of a window, or of two launches
///   automatic_ ≠ 0  ⇒  a body is recorded that the sequence began by itself, and is to have so many tasks

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sequence/across_ranks.hpp"
#include "sequence/body.hpp"
#include "sequence/recording.hpp"
#include "sequence/repeats.hpp"
#include "sequence/submission.hpp"
#include "sequence/traced_bodies.hpp"
#include "sequence/window.hpp"

namespace taskgrain::rt::detail {

/// The traces of a sequence. The thread that gives tasks calls it.
class Traces {
 public:
  /// \param name   of the sequence
  /// \param ranks  null: of this rank alone
  Traces(Runtime& runtime, const std::string& name, const std::shared_ptr<DataRegistry>& registry,
         Submission& submission, Window& window, AcrossRanks* ranks, const SequenceOptions& options);

  /// The body that is recorded, if one is.
  Recording& recording() noexcept { return recording_; }
  const Recording& recording() const noexcept { return recording_; }
  TracedBodies& bodies() noexcept { return bodies_; }
  /// \param known  bodies, of which the last is expected
  void begin_body(const std::vector<Traced>& known);
  std::shared_ptr<Body> end_body();
  void discard_body() noexcept;

  /// Launches what a loop was given.
  void loop(const std::shared_ptr<Body>& body, std::int64_t iterations, const std::string& name);
  /// Gives or launches what a trace was given. \param shapes  of earlier calls
  void trace(std::vector<Traced>& shapes, const std::shared_ptr<Body>& body, const std::string& name);

  bool is_automatic() const noexcept { return automatic_ != 0; }
  /// True if what is given may be an automatic trace.
  bool follows() const noexcept { return repeats_ && (!recording_ || is_automatic()); }
  /// A task is given. It may begin a body, or end one that it does not belong to.
  /// \param task  its hash
  /// \param may_begin  no sum is open
  void follow(std::uint64_t task, bool may_begin);
  /// A task is given that is another one each time.
  void follow_other();
  /// A task was given. Ends the automatic trace if it is complete. \param may_end  no sum is open
  void end_task(bool may_end);
  /// Gives or launches the body of an automatic trace, if there is one. Sums that are open stay so.
  /// \param expected  no task was given that does not belong to it
  void end_automatic(bool expected);

  /// Ends the graphs that run.
  void stop_graphs() noexcept;
  /// All tasks were dropped.
  void forget() noexcept;

  Sequence::TraceStatistics statistics;

 private:
  /// Two launches may be there at once, or as many as have the tasks of a window.
  void wait_for_room(std::size_t tasks);
  /// Gives a recorded body, task by task.
  void give(Body& body);
  void give(Body& body, std::size_t k);
  /// Lets a body join the launch that was given last. Not across ranks, which would differ in what joins.
  /// \returns whether it did
  bool join(const std::shared_ptr<CompiledBody>& compiled, const std::shared_ptr<Body>& body);
  /// Compiles a body, if it is not, and gives one task that launches it.
  void launch(std::shared_ptr<CompiledBody>& compiled, std::shared_ptr<Body> body, std::int64_t iterations,
              const std::string& name);
  Traced& known(std::vector<Traced>& shapes, const Body& body) {
    return recording_.was_as_expected() ? shapes.back() : bodies_.like(shapes, body);
  }

  Runtime& runtime_;
  const std::string& name_;
  const std::shared_ptr<DataRegistry> registry_;
  Submission& submission_;
  Window& window_;
  AcrossRanks* const ranks_;
  const bool replays_;  // else each body is given task by task, so that the runtime's trace has what each comes after
  Recording recording_;
  int next_home_after_ = 0;  // the body that is recorded
  std::optional<Repeats> repeats_;
  std::size_t automatic_ = 0;
  TracedBodies bodies_;
  std::weak_ptr<TraceLaunch> last_launch_;
  std::uint64_t last_launch_number_ = 0;   // its task
  std::atomic<std::size_t> in_bodies_{0};  // added here, subtracted by what ends a launch
};

}  // namespace taskgrain::rt::detail
