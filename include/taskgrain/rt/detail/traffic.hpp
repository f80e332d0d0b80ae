#pragma once

/// The traffic of a handler: messages in flight, and tasks that are ready or run.
///
/// Each worker counts a message or task as begun before another thread can see it, and as ended after it has counted
/// all that follows from it as begun:
///   in flight = Σ begun − Σ ended,  and both sums only grow.
/// A thread that waits reads all of `ended` and then all of `begun`. With t the time between,
///   Σ ended as read ≤ Σ ended(t) ≤ Σ begun(t) ≤ Σ begun as read,
/// so if the sums as read are equal, nothing was in flight at t.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

/// The counts of one worker, written by its thread; or those of all threads outside.
class Counts {
 public:
  // By the worker.
  void begin() noexcept { begun_.store(begun_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  void end(std::uint64_t number = 1) noexcept {
    ended_.store(ended_.load(std::memory_order_relaxed) + number, std::memory_order_release);
  }
  // By threads outside.
  void begin_outside() noexcept { begun_.fetch_add(1, std::memory_order_relaxed); }
  void end_outside() noexcept { ended_.fetch_add(1, std::memory_order_release); }

  // By threads that wait.
  std::uint64_t ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  std::uint64_t begun() const noexcept { return begun_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> begun_{0}, ended_{0};
};

/// True if nothing was on its way at some time during the call.
/// \param of       the counts of worker w
/// \param outside  those of threads outside
/// \param between  is called between the two sums: \returns whether no task waits either. A worker adds a waiting task
///   before it counts the cause as ended, and counts a task as begun before it takes it from those that wait.
template <typename Of, typename Between>
bool nothing_on_its_way(std::size_t workers, const Of& of, const Counts& outside, const Between& between) noexcept {
  std::uint64_t on_its_way = 0 - outside.ended();
  for (std::size_t w = 0; w < workers; ++w) on_its_way -= of(w).ended();
  if (!between()) return false;
  on_its_way += outside.begun();
  for (std::size_t w = 0; w < workers; ++w) on_its_way += of(w).begun();
  return on_its_way == 0;
}

}  // namespace taskgrain::rt::detail
