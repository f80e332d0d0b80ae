#pragma once

/// A task is given: its accesses are checked, it gets a rank and a worker, what it needs from other ranks comes first,
/// and it enters the window.
///
///   accesses() has each piece of data of the task once
///   marks_[d].check == checks_  ⇔  accesses()[marks_[d].at] is data d

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sequence/across_ranks.hpp"
#include "sequence/open_reductions.hpp"
#include "sequence/registry.hpp"
#include "sequence/window.hpp"
#include "taskgrain/rt/sequence.hpp"

namespace taskgrain::rt::detail {

/// The submission of tasks. The thread that gives tasks calls it.
class Submission {
 public:
  struct Place {
    int rank, worker;
  };

  /// \param ranks   null: of this rank alone
  /// \param traced  the runtime has a trace
  Submission(const std::string& name, int workers, DataRegistry& registry, const OpenReductions& reductions,
             Window& window, AcrossRanks* ranks, bool traced) noexcept
      : name_(name), workers_(workers), registry_(registry), reductions_(reductions), window_(window), ranks_(ranks),
        prepares_(ranks != nullptr || traced) {}

  // -- The steps of a task, in this order. \throws UsageError

  /// \param also  of a task with a result or a part of a sum; else null
  void check(std::span<const Access> accesses, const Access* also, const TaskOptions& options);
  /// The rank and the worker of a task. Across ranks, its rank is that of the data that it makes.
  /// \pre it was checked
  Place place(const Access* also, const TaskOptions& options) {
    const int rank = ranks_ ? rank_of(also, options.rank) : 0;
    if (options.worker >= 0) return {rank, options.worker};
    return {rank, accesses_.empty() ? next_home() : home_of_written()};
  }
  /// \returns the place for its function. It is given when `end` returns
  TaskFunction& begin(const Place& place, TaskOptions&& options, const EventType* event = nullptr) {
    if (prepares_ && !prepare(place.rank, options.name)) return dropped_;
    next_ = &window_.begin(place.worker, std::move(options), event);
    return next_->function;
  }
  void end() { next_ == nullptr ? dropped_.reset() : window_.end(*next_, accesses_); }

  std::span<const Access> accesses() const noexcept { return accesses_; }
  /// The owners of the memory that the accesses name, if it may go.
  std::vector<std::shared_ptr<void>> owners() const;
  /// The task of a launch, which may need bytes of other ranks.
  /// \param owners  of their memory
  WindowTask& begin_launch(const std::vector<Access>& accesses, const std::string& name,
                           const std::vector<Transfer>& transfers, const std::vector<std::shared_ptr<void>>& owners);

  /// Gives the tasks that bring the data to all ranks.
  void share(const Access& data);
  void check_rank(const std::string& what, int rank) const;
  std::string name_of(std::uint32_t index) const { return "'" + registry_[index].name + "'"; }
  int next_home() noexcept { return std::exchange(next_home_, (next_home_ + 1) % workers_); }
  /// \returns what it was
  int set_next_home(int home) noexcept { return std::exchange(next_home_, home); }
  /// Forgets data that nothing names or uses. Not while a body is recorded, whose tasks use data that no task does yet.
  /// \param of_next  what the task uses that is given next
  void reclaim(std::span<const Access> of_next = {});

  bool gives_body = false;  ///< task by task: it has results that no task uses yet, so nothing is reclaimed

 private:
  struct Mark {
    std::uint64_t check;  // in which the data was seen last
    std::size_t at;       // in accesses_
  };

  std::string described(const TaskOptions& options) const;
  int home_of_written() const noexcept;
  int rank_of(const Access* also, int wished);
  /// Gives what brings a task its data, and tells the trace what it comes after. \returns whether it is this rank's
  bool prepare(int rank, const std::string& name);
  /// Gives what brings bytes to a rank.
  void give(const std::vector<Transfer>& transfers, std::span<const Access> of_next,
            const std::vector<std::shared_ptr<void>>& owners);

  const std::string& name_;
  const int workers_;
  DataRegistry& registry_;
  const OpenReductions& reductions_;
  Window& window_;
  AcrossRanks* const ranks_;
  const bool prepares_;
  std::vector<Access> accesses_;
  std::vector<Mark> marks_;  // by the index of the data
  std::uint64_t checks_ = 0;
  int next_home_ = 0;
  WindowTask* next_ = nullptr;  // the task that is given; null: another rank's
  TaskFunction dropped_;        // of another rank
};

}  // namespace taskgrain::rt::detail
