#pragma once

/// The core of a Sequence: its data, its tasks, and its waits.
///
/// A task that is given passes three floors, each of which may give tasks of its own to the next:
///   here        sums that it uses are closed, by a task that adds their parts
///   Traces      it ends or begins an automatic trace; while a body is recorded, it goes no further
///   Submission  checks it, finds its rank and its worker, and gives it to the Window, which runs it

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sequence/across_ranks.hpp"
#include "sequence/open_reductions.hpp"
#include "sequence/registry.hpp"
#include "sequence/submission.hpp"
#include "sequence/traces.hpp"
#include "sequence/window.hpp"
#include "taskgrain/rt/sequence.hpp"

namespace taskgrain::rt::detail {

class SequenceCore final : WindowOwner {
 public:
  /// \param communicator  of a sequence of its ranks; null: of this rank alone
  SequenceCore(Runtime& runtime, Communicator* communicator, SequenceOptions&& options);
  ~SequenceCore();

  const std::shared_ptr<DataRegistry>& registry() const noexcept { return registry_; }
  std::uint32_t add_data(std::span<const Region> regions, std::span<const Region> objects, const DataOptions& options,
                         bool travels);
  std::uint32_t add_token(const DataOptions& options);
  /// Adds data for the result of a task.
  std::uint32_t add_result(const std::shared_ptr<void>& owner, const Region& region, bool travels);
  void add_part(const Access& data, const std::shared_ptr<void>& owner, const Region& region, bool travels);
  TaskFunction& begin(std::span<const Access> accesses, const Access* also, TaskOptions&& options,
                      const EventType* event = nullptr);
  void end();
  using Fold = OpenReductions::Fold;
  std::shared_ptr<void> joined_reduction(const Access& data, Fold kind, const void* target);
  void open_reduction(const Access& data, Fold kind, const void* target, std::shared_ptr<void> sum);
  void keep(const Access& data, const std::shared_ptr<void>& sum);
  void loop(std::int64_t iterations, const std::function<void()>& body, const std::string& name);
  void trace(std::uint64_t id, const std::function<void()>& body, const std::string& name);
  void wait();
  void wait(const Access& data);
  const Sequence::TraceStatistics& statistics() const noexcept { return traces_.statistics; }

 private:
  void check_no_task() const;
  void check_not_recording(const char* what) const;
  std::unique_ptr<AcrossRanks> across_ranks(Communicator* communicator, const SequenceOptions& options) const;
  /// \param known  the last of these is expected
  std::shared_ptr<Body> record(const std::vector<Traced>& known, const std::function<void()>& body);

  /// Closes the open sums that a task uses, except the one that it adds a part to.
  void close_used(std::span<const Access> accesses, const Access* also);
  void close_reduction(std::uint32_t index);
  template <typename Chosen>
  void close_if(const Chosen& chosen);
  void close_overlapping(std::uint32_t index, bool itself);
  void close_reductions();

  void stop_graphs() noexcept override { traces_.stop_graphs(); }
  void forget() noexcept override;

  Runtime& runtime_;
  Engine& engine_;
  const std::string name_;
  const std::shared_ptr<DataRegistry> registry_ = std::make_shared<DataRegistry>();
  const std::unique_ptr<AcrossRanks> ranks_;  // null: of this rank alone
  std::deque<std::byte> tokens_;              // a byte for each token, so that `together` may have tokens
  std::uint64_t made_ = 0;                    // data, across ranks
  OpenReductions reductions_;
  Submission submission_;
  Traces traces_;
  Window window_;  // last: it ends first
};

}  // namespace taskgrain::rt::detail
