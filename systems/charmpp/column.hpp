#pragma once

/// A column of a graph as a chare: it executes the tasks of one point, step by step, when their inputs have arrived.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "column.decl.h"
#include "taskgrain/execution.hpp"
#include "taskgrain/step_classes.hpp"

/// What all chares of a process share.
struct Shared {
  taskgrain::Execution* run = nullptr;
  std::vector<taskgrain::ThreadContext*> workers;  ///< by PE of the process
  std::vector<taskgrain::StepClasses> classes;     ///< by graph
};
extern Shared shared;

/// An output and its bytes, which lie behind it: a small output shares a cache line with the count.
struct alignas(taskgrain::Cell) Output {
  std::atomic<std::size_t> readers{0};  ///< tasks that have yet to read it

  std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

/// The message. It carries an output by reference: within an address space Charm++ hands on messages without a look at
/// them.
class Input : public CMessage_Input {
 public:
  Input(std::int64_t to_step, std::size_t to_place, Output* what) : step(to_step), place(to_place), output(what) {}

  std::int64_t step;  ///< of the task that reads it
  std::size_t place;  ///< among its inputs
  Output* output;
};

/// The message to another process: room for an output, of which the bytes are there.
class Copy : public CMessage_Copy {
 public:
  Copy(std::int64_t to_step, std::size_t to_place) : step(to_step), place(to_place) {}

  std::int64_t step;
  std::size_t place;
  char* room;
};

class Column : public CBase_Column {
 public:
  explicit Column(std::size_t graph);
  explicit Column(CkMigrateMessage*) { CkAbort("a column does not migrate"); }

  void start();
  void receive(Input* message);
  void receive_copy(Copy* message);
  /// Executes the task of the current step, whose inputs are all there, and those after it as far as that can be said
  /// of them.
  void go_on();

 private:
  struct Reader {
    int column;
    std::size_t place;
  };
  /// What a class of steps means to this column.
  struct Links {
    bool task = false;            ///< there is one
    std::size_t inputs = 0;       ///< that it has
    std::vector<Reader> readers;  ///< tasks that read the output of the step *before*
  };
  /// Inputs of a step to come.
  struct Gathered {
    std::vector<const std::byte*> bytes;
    std::vector<Output*> outputs;
    std::vector<std::unique_ptr<Copy>> copies;  // which have some of these outputs
    std::size_t arrived = 0;
  };
  struct Free {
    void operator()(Output* output) const noexcept;
  };
  using OutputPtr = std::unique_ptr<Output, Free>;

  const Links& links(std::int64_t step) const noexcept { return links_[(*classes_)[step]]; }
  Gathered& gathered(std::int64_t step) noexcept {
    return ahead_[static_cast<std::size_t>(step) & (ahead_.size() - 1)];
  }
  std::int64_t next_task(std::int64_t step) const noexcept;
  /// \returns whether the current step now has all inputs
  bool take(std::int64_t step, std::size_t place, Output* output);
  void look_further();
  void execute_task();
  void send(Output* output);
  OutputPtr new_output() const;

  const taskgrain::Graph* graph_;
  const taskgrain::StepClasses* classes_;
  taskgrain::ThreadContext* context_;
  std::vector<Links> links_;        // by class of steps
  std::int64_t first_, step_;       // first and current step that has a task; the number of steps if there is none
  std::vector<Gathered> ahead_{4};  // [s mod size]: for step s, from the current one on
  std::vector<OutputPtr> outputs_;  // used in turn
  std::size_t oldest_ = 0;
};

/// The chares of a run, as PE 0 sees them: an array for each graph.
class Columns {
 public:
  /// \param reduced  called on PE 0 for each array when all of its columns are there, and when all are done
  void create(std::span<const taskgrain::Graph> graphs, CkCallbackFn reduced);
  void start();

  /// Throws if a process that has so many columns of a graph has no room for them: chares cannot.
  static void check(const taskgrain::Graph& graph, std::int64_t columns);

 private:
  std::vector<CProxy_Column> arrays_;
};

/// Charm++'s, as it is written.
std::string charm_version();
