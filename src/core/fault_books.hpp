#pragma once

/// The books of a run with a fault: how often each task was begun and ended, in a file that all processes of the run
/// map. They survive any process, so the work of one that was killed is still counted.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "taskgrain/execution.hpp"
#include "taskgrain/fault.hpp"

namespace taskgrain {

class FaultBooks {
 public:
  /// More tasks than this are unsupported. They take 8 bytes each.
  static constexpr std::int64_t most_tasks = std::int64_t{1} << 26;

  /// \throws InvalidSpec, Unsupported
  FaultBooks(const Fault& fault, std::span<const Graph> graphs);
  ~FaultBooks();
  FaultBooks(const FaultBooks&) = delete;
  FaultBooks& operator=(const FaultBooks&) = delete;

  /// Books that a task is begun, and does to it what the run was asked for.
  /// \throws std::runtime_error where that is to fail
  void begin(std::size_t graph, std::int64_t step, std::int64_t point);
  void end(std::size_t graph, std::int64_t step, std::int64_t point) noexcept;
  /// Books a task that was executed where no fault can strike.
  void count(std::size_t graph, std::int64_t step, std::int64_t point) noexcept;
  /// How often a task was executed to its end.
  std::uint32_t ended(std::size_t graph, std::int64_t step, std::int64_t point) const noexcept;
  /// Executions that were begun, of all tasks.
  std::int64_t begun() const noexcept;
  /// How often the fault has struck.
  std::int64_t strikes() const noexcept;

  /// Keeps the first violation of any process.
  void note(const Violation& violation) noexcept;
  std::optional<Violation> violation() const noexcept;

 private:
  struct Head {
    std::atomic<std::int64_t> strikes;
    std::atomic<int> notes;  ///< 0: there is no violation; 1: one is being written; 2: it can be read
    Violation violation;
  };
  struct alignas(8) Entry {
    std::atomic<std::uint32_t> begun, ended;
  };
  Entry& entry(std::size_t graph, std::int64_t step, std::int64_t point) const noexcept;

  Fault fault_;
  void (*strike_)(const Fault& fault, std::int64_t number);
  std::vector<std::size_t> first_;   ///< entry of each graph
  std::vector<std::int64_t> steps_;  ///< of each graph
  std::size_t bytes_ = 0;
  Head* head_ = nullptr;
  std::span<Entry> entries_;
};

}  // namespace taskgrain
