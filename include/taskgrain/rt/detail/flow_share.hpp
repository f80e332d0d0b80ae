#pragma once

/// The part of a Taskflow that one worker has. Only its thread writes it.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/batch.hpp"
#include "taskgrain/rt/detail/counters.hpp"
#include "taskgrain/rt/detail/key.hpp"
#include "taskgrain/rt/detail/numbered_counters.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/tasks.hpp"
#include "taskgrain/rt/detail/traffic.hpp"

namespace taskgrain::rt::detail {

/// The workers that were notified of the task that ran last.
class Notified {
 public:
  void next_task() noexcept { ++task_; }
  /// Notes that a worker is notified of the task. \returns whether it was not before
  bool add(int worker, std::size_t workers) {
    if (last_.empty()) [[unlikely]]
      last_.resize(workers);
    return std::exchange(last_[static_cast<std::size_t>(worker)], task_) != task_;
  }

 private:
  std::uint64_t task_ = 0;  // its number, counted from 1
  // By worker, the last task of which it was notified. On lines of its own: a small block of the heap may lie beside
  // what the others read for each task, and each message would take that from them.
  std::vector<std::uint64_t, ApartAllocator<std::uint64_t>> last_;
};

template <typename K, typename Tasks>
struct alignas(apart) FlowShare {
  struct Hash {
    std::size_t operator()(const K& key) const noexcept { return hash_key(key); }
  };
  struct Same {
    bool operator()(const K& a, const K& b) const noexcept { return same_key(a, b); }
  };

  std::conditional_t<WithNumber<Tasks, K>, NumberedCounters<K, Tasks>, Counters<K>> waiting;  // others read its size
  Counts counts;                                                                              // others read them
  std::unordered_set<K, Hash, Same> ran;  // or wait: all that were fulfilled, where the runtime checks
  [[no_unique_address]] std::conditional_t<WithAtOnce<Tasks>, Batch<K>, NoBatch> batch;
  Notified notified;
};

}  // namespace taskgrain::rt::detail
