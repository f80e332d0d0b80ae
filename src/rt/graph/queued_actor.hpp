#pragma once

/// The part of a graph that one worker owns under ready_queue and stealing.
///
/// count[n mod 3][t] is the number of arrivals that record t still waits for in iteration n (counted over all
/// launches). Only the worker that owns t writes it. When it becomes 0, it is set to the indegree again, for iteration
/// n + 3. No arrival of n + 3 comes earlier: arrivals come from records of n + 3 or, carried, of n + 2, and a record of
/// n + 2 starts only when all workers have finished n:   n + 2 < min finished + 2.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/poll_interval.hpp"
#include "fifo.hpp"
#include "program.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

/// A record whose arrivals have all come.
struct ReadyTask {
  RecordIndex place;
  int owner;
  std::int64_t iteration;
};

struct QueuedMessage {
  enum Type : std::int32_t { start, arrive, completed, device_done, window, check } type;
  RecordIndex place;       // check: the worker that asks
  std::int64_t iteration;  // start: the first; check: what the asker has seen of `finished`
};
struct QueuedStart {
  QueuedMessage message;
  std::int64_t end;
};

/// Used by its worker's thread alone, except `finished` and `parked`, and records, which thieves run.
struct alignas(apart) QueuedActor {
  QueuedProgram program;
  std::vector<std::int32_t> count[3];

  std::int64_t begin = 0, end = 0;  // of the launch
  std::int64_t window = 0;          // iterations below may start
  std::size_t left[2] = {0, 0};     // tasks to complete, by iteration mod 2
  Fifo<ReadyTask> ready;
  std::vector<ReadyTask> deferred;      // of iterations ≥ window
  std::vector<ReadyTask> reconsidered;  // scratch for deferred tasks when the window has moved
  std::vector<QueuedMessage> early;     // messages of a launch whose start message has not come
  bool ahead = false;                   // iteration `finished` + 1 is complete
  bool running = false;                 // it has not finished the launch
  std::int64_t floor = 0;               // messages of earlier iterations are of a failed launch: ignored
  std::int64_t out = 0;                 // tasks in the engine's queues, of stealing
  std::int64_t on_device = 0;           // tasks that are on a device
  bool active = false;                  // an entry of this actor is queued on its worker, or runs
  std::chrono::steady_clock::time_point wait_until{};
  PollInterval poll_interval;
  alignas(apart) std::atomic<std::int64_t> finished{
      0};  // iterations complete on this worker; stored by it with release
  std::atomic<bool> parked{
      false};  // set by this worker; reset by the worker that finishes an iteration and sends it a message

  /// Restores the state after compiling. Called between launches.
  void clear() {
    ahead = false;
    parked.store(false, std::memory_order_relaxed);
    wait_until = {};
    ready.clear();
    deferred.clear();
    std::erase_if(early, [this](const QueuedMessage& message) { return message.iteration < end; });
    for (auto& counts : count) counts = program.indegree;
    for (auto& tasks : left) tasks = program.records.size();
  }
  /// The number of arrivals that a record waits for beyond its indegree, in the first iterations of a launch.
  std::int32_t correction(std::size_t place, std::int64_t iteration) const {
    if (iteration > begin + 1) return 0;
    for (const auto& [changed, by] : iteration == begin ? program.first : program.second)
      if (changed == place) return by;
    return 0;
  }
};

}  // namespace taskgrain::rt::detail
