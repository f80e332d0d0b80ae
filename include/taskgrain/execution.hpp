#pragma once

/// One execution of a list of graphs. A system calls it for every task, and it validates the system.
///
/// Every task fills its output with (step, point); every input is checked against the dependence it must come from;
/// every execution is marked. A violation is recorded, never thrown: the run goes on and fails at its end.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "taskgrain/fault.hpp"
#include "taskgrain/graph.hpp"
#include "taskgrain/kernel.hpp"

namespace taskgrain {

class FaultBooks;

enum class Validation : std::uint8_t {
  off,     ///< nothing is checked; executions are counted
  sample,  ///< head, tail and a rotating cell of each input; every execution marked
  full,    ///< every byte, before and after the kernel; producers' marks too
};

std::string_view name(Validation validation) noexcept;
/// \throws InvalidSpec
Validation validation_from_name(std::string_view name);

enum class ViolationKind : std::uint8_t {
  wrong_bytes,     ///< an input holds what no task of the graph writes
  wrong_producer,  ///< an input comes from another point
  wrong_graph,     ///< an input comes from another graph of the run
  early,           ///< the input's producer had not run: its buffer holds an earlier step, or its mark is missing
  overwritten,     ///< the input's buffer holds a later step already
  missing_input,   ///< fewer inputs than dependences
  surplus_input,   ///< more inputs than dependences
  repeated,        ///< the task ran before
  skipped,         ///< the task never ran
  no_such_task,    ///< the graph has no such task
};
std::string_view name(ViolationKind kind) noexcept;

/// The first thing that was wrong. Fields that a kind does not have are -1.
struct Violation {
  ViolationKind kind;
  std::int64_t graph, step, point;
  std::int64_t input = -1;
  std::array<std::int64_t, 2> expected{-1, -1};  ///< (step, point); -1 for an input too many
  std::array<std::int64_t, 2> got{-1, -1};       ///< -1 for one that is missing

  /// One sentence.
  std::string text() const;
};

/// Keeps the violation of the earlier step, of two in one step the first that it was given.
void keep_earlier(std::optional<Violation>& first, const std::optional<Violation>& other) noexcept;

/// What an output is filled with, over and over: the task that wrote it. The graph stands above the step, counted from
/// 1, so that zeroed memory is no task's output.
struct Cell {
  /// Cells are unique for steps below 2^40 and up to 2^23 graphs. Beyond that, two tasks may share a cell value.
  static constexpr int graph_shift = 40;

  std::int64_t graph_and_step, point;

  static Cell of(std::int64_t graph, std::int64_t step, std::int64_t point) noexcept {
    const std::uint64_t above = (static_cast<std::uint64_t>(graph) + 1) << graph_shift;
    return {static_cast<std::int64_t>(above + static_cast<std::uint64_t>(step)), point};
  }
  std::int64_t graph() const noexcept { return (graph_and_step >> graph_shift) - 1; }
  std::int64_t step() const noexcept { return graph_and_step & ((std::int64_t{1} << graph_shift) - 1); }
  friend bool operator==(const Cell&, const Cell&) = default;
};

/// The totals of executed tasks, work and dependences.
struct Accounts {
  std::int64_t executed = 0;
  std::int64_t dependencies = 0;
  double flops = 0;
  double bytes = 0;
  double work = 0;
};

/// The counters of one thread, on cache lines of its own.
class alignas(128) ThreadContext {
 public:
  explicit ThreadContext(std::size_t graphs) : kernels_(graphs) {}

 private:
  friend class Execution;
  std::int64_t executed_ = 0;
  std::int64_t dependencies_ = 0;
  std::uint64_t checksum_ = 0;   ///< of the tasks executed
  struct alignas(128) Kernels {  // in memory of its own, too
    std::int64_t iterations = 0;
  };
  std::vector<Kernels> kernels_;  ///< by graph
  Scratch scratch_;
  std::optional<Violation> violation_;  ///< of the earliest step
  std::exception_ptr failure_;          ///< what a kernel threw first

  void record(const Violation& violation);
};

/// Remembers which tasks of a graph have run. Any number of threads mark.
class Ledger {
 public:
  /// Graphs of more tasks than this are counted by column: a repeated or skipped task is then known by its point alone.
  static constexpr std::int64_t most_marks = std::int64_t{1} << 28;

  /// Throws `Unsupported` if there is not enough memory to count the tasks.
  explicit Ledger(const Graph& graph);
  /// One that remembers nothing, of a run with a fault, which has other books.
  Ledger() = default;

  /// Forgets all marks; costs nothing but every 255th time.
  void clear() noexcept;
  /// False if the task was marked before, or if nothing is remembered.
  bool mark(std::int64_t step, std::int64_t point) noexcept {
    if (!exact()) return mark_column(point);
    auto& mark = mark_of(step, point);
    const bool fresh = mark.load(std::memory_order_relaxed) != epoch_;
    mark.store(epoch_, std::memory_order_relaxed);
    return fresh;
  }
  bool marked(std::int64_t step, std::int64_t point) const noexcept {
    return !exact() || mark_of(step, point).load(std::memory_order_relaxed) == epoch_;
  }
  /// Whether tasks are known one by one.
  bool exact() const noexcept { return marks_ != nullptr; }
  /// How often each task ran (0 or 1 in one process), by point and then step; of a column where not exact.
  std::vector<std::uint32_t> counts() const;
  /// The first task that did not run exactly once according to `counts`.
  std::optional<Violation> compare(const Graph& graph, std::span<const std::uint32_t> counts) const;

 private:
  bool mark_column(std::int64_t point) noexcept;
  std::atomic<std::uint8_t>& mark_of(std::int64_t step, std::int64_t point) const noexcept {
    return marks_[static_cast<std::size_t>(point) * stride_ + static_cast<std::size_t>(step)];
  }

  struct Free {
    void operator()(void* memory) const noexcept;
  };
  std::size_t steps_ = 0, width_ = 0;
  std::size_t stride_ = 0;  ///< marks from one column to the next
  // marks_[point, step] = epoch_ ⇔ the task ran since clear(). A column's marks are contiguous: whoever runs a column
  // writes lines of its own. Load and store, not exchange: two threads that run one task at the same instant are caught
  // by the sum.
  std::unique_ptr<std::atomic<std::uint8_t>[], Free> marks_;
  std::uint8_t epoch_ = 1;
  std::unique_ptr<std::atomic<std::uint32_t>[], Free> columns_;
};

class Execution {
 public:
  /// \param fault  what shall happen to a task, if anything. Each task is then validated in full, and must be
  /// executed; executing it again is counted, and is no violation. All processes of the run keep their books together:
  /// `accounts`, `verify` and `strikes` answer for all of them.
  /// \throws InvalidSpec, Unsupported
  Execution(const std::vector<GraphSpec>& specs, Validation validation, Isa isa,
            const std::optional<Fault>& fault = std::nullopt);
  ~Execution();

  std::span<const Graph> graphs() const noexcept { return graphs_; }
  const Kernel& kernel(std::size_t graph) const noexcept { return kernels_[graph]; }
  Validation validation() const noexcept { return validation_; }
  /// As the request has it.
  Isa isa() const noexcept { return isa_; }
  const std::optional<Fault>& fault() const noexcept { return fault_; }
  /// Steps of the longest graph.
  std::int64_t most_steps() const noexcept;
  /// Tasks of all graphs.
  std::int64_t tasks() const noexcept { return tasks_; }

  /// The context of the k-th worker, made on first use. Safe from any thread; keep the reference rather than asking for
  /// every task.
  ThreadContext& context(std::size_t k);
  /// The first of them.
  std::vector<ThreadContext*> contexts(int number);

  /// Executes a task: checks the inputs, fills the output, runs the kernel, accounts for it. What the kernel throws is
  /// kept for `failure`, because few runtimes carry an exception out of a task. Only in a run with a fault does it
  /// leave this function, so that the system does with it what it does with any task that fails.
  /// \param inputs  one pointer to `output_bytes` bytes for each dependence, in increasing order of points.
  /// \param output  `output_bytes` bytes; no input may lie in it.
  void execute_point(ThreadContext& context, std::size_t graph, std::int64_t step, std::int64_t point,
                     std::byte* output, std::span<const std::byte* const> inputs);

  // What ran where `execute_point` cannot, such as on a device, is booked with these. There, too, every input must be
  // checked and every output filled.
  /// Books an executed task: marks it and accounts for it.
  void book_point(ThreadContext& context, std::size_t graph, std::int64_t step, std::int64_t point);
  /// Books that the `input`-th input of a task was wrong.
  /// \param got  the first wrong cell; {-1, -1} within a last, incomplete one; the right one if its producer had not
  ///   run
  void book_wrong_input(ThreadContext& context, std::size_t graph, std::int64_t step, std::int64_t point,
                        std::int64_t input, Cell got);
  /// Books what went wrong with the execution itself; the first is kept for `failure`.
  void book_failure(ThreadContext& context, std::exception_ptr failure);

  /// Call it if other processes execute tasks too. A producer that has no mark in this process is then not a violation.
  void distribute() noexcept { distributed_ = true; }

  /// Whether the run was asked for a fault.
  bool disturbed() const noexcept { return books_ != nullptr; }
  /// How often the fault has struck, in all processes. \pre disturbed()
  std::int64_t strikes() const noexcept;

  /// Forgets all that was executed, but not in a run with a fault.
  void clear();
  Accounts accounts() const;
  /// What a kernel threw, if any did.
  std::exception_ptr failure() const;
  /// The violation of the earliest step, of any worker.
  std::optional<Violation> violation() const;
  /// Whether each task of a run in one process ran exactly once; call it when all is done. Looks at single tasks only
  /// if the number of executions or the sum of their checksums is wrong.
  std::optional<Violation> verify() const;
  /// Whether the number of executions is right, for runs without marks.
  std::optional<Violation> verify_number(std::int64_t executed) const;
  /// The ledger of a graph, for systems of several processes, which must add up theirs. \pre validation() is not off
  const Ledger& ledger(std::size_t graph) const noexcept { return *ledgers_[graph]; }

 private:
  bool inputs_hold(const Graph& graph, std::int64_t step, std::int64_t point,
                   const std::span<const std::byte* const>& inputs) const;
  bool holds(const Graph& graph, const std::byte* data, Cell expected) const;
  void refuse(ThreadContext& context, const Graph& graph, std::int64_t step, std::int64_t point);
  void begin_again(ThreadContext& context, const Graph& graph, std::int64_t step, std::int64_t point);
  void look_again(ThreadContext& context, const Graph& graph, std::int64_t step, std::int64_t point,
                  const std::span<const std::byte* const>& inputs);
  void end_disturbed(ThreadContext& context, const Graph& graph, std::int64_t step, std::int64_t point);
  Accounts disturbed_accounts() const;
  std::optional<Violation> verify_disturbed() const;
  void record_input(ThreadContext& context, const Graph& graph, std::int64_t step, std::int64_t point,
                    std::int64_t input, Cell expected, Cell got) const;
  void record_surplus(ThreadContext& context, const Graph& graph, std::int64_t step, std::int64_t point,
                      std::int64_t input, Cell got) const;
  void record_inputs(ThreadContext& context, const Graph& graph, std::int64_t step, std::int64_t point,
                     const std::span<const std::byte* const>& inputs) const;

  std::vector<Graph> graphs_;
  std::vector<Kernel> kernels_;
  std::vector<std::unique_ptr<Ledger>> ledgers_;  ///< none with Validation::off, so that any graph can be counted
  std::unique_ptr<FaultBooks> books_;             ///< of a run with a fault; its ledgers remember nothing
  Validation validation_;
  Isa isa_;
  std::optional<Fault> fault_;
  bool distributed_ = false;
  std::int64_t tasks_ = 0;
  std::uint64_t checksum_ = 0;  ///< of all tasks
  mutable std::mutex contexts_mutex_;
  std::deque<ThreadContext> contexts_;
};

}  // namespace taskgrain
