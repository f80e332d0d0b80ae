#pragma once

/// The place where an engine was made: in this process or its parent, and in the tasks of which engines. A child of a
/// fork must not use the engine, whose threads it does not have. A task must not wait for an engine that it runs in.

#include <atomic>
#include <cstdint>
#include <vector>

#include "taskgrain/rt/detail/forks.hpp"

namespace taskgrain::rt::detail {

class MadeIn {
 public:
  /// Notes the place. The engine makes it when it is made itself.
  MadeIn();
  MadeIn(const MadeIn&) = delete;
  MadeIn& operator=(const MadeIn&) = delete;

  /// True if this process is a child that was forked after the engine was made.
  bool of_parent() const noexcept { return forks_ != forks.load(std::memory_order_relaxed); }
  /// \throws UsageError  it is one
  void check_process() const {
    if (of_parent()) [[unlikely]]
      refuse_child();
  }
  /// True if a task of the engine calls, or a task of an engine that was made in such a task; as when it calls `exit`.
  bool in_task() const noexcept;
  /// \throws UsageError  a task of the engine calls: it would wait for itself
  void check_no_task() const;

 private:
  [[noreturn]] static void refuse_child();

  const unsigned forks_ = forks.load();
  const std::uint64_t number_;               // no other engine has it, also after this one has ended
  const std::vector<std::uint64_t> within_;  // numbers of the engines whose tasks the calling thread was in
};

}  // namespace taskgrain::rt::detail
