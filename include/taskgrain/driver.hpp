#pragma once

/// A system under the ruler: derive from System, call `drive` in main, and the program serves the harness, runs a
/// batch, or takes flags from a person. docs/how-to/add-a-system.md shows one from beginning to end.

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "taskgrain/binding.hpp"
#include "taskgrain/execution.hpp"

namespace taskgrain {

class System {
 public:
  virtual ~System() = default;

  virtual std::string name() const = 0;
  /// Version of the runtime that the system uses.
  virtual std::string version() const = 0;
  virtual int nodes() const { return 1; }
  /// The library that connects the processes of the system, with its version; empty if there is none.
  virtual std::string library() const { return {}; }
  /// Processes that a launcher started and that joined; 0 if there is no launcher.
  virtual int ranks() const { return 0; }
  /// Cores that the system got, on all nodes, including those that the runtime reserves for itself: counted, not
  /// repeated from what was asked for. Asked before each run, so that another team is seen.
  virtual int cores() const = 0;
  /// For each worker the processors it may run on, observed by the worker itself.
  virtual std::vector<std::vector<int>> binding() = 0;

  /// Prepares a run, once for all its repeats: allocates memory, compiles the graph. Its time is reported separately.
  /// \throws Unsupported for what the system cannot run.
  virtual void prepare(Execution& run) = 0;
  /// Executes every task of every graph once; timed.
  virtual void execute(Execution& run) = 0;
  /// Books what was executed where `Execution::execute_point` cannot be, such as on a device; after each `execute`, not
  /// timed.
  virtual void settle(Execution& /*run*/) {}

  // Systems of several processes; `ProcessSystem` in process_system.hpp does these with MPI.
  /// Whether this process reads requests and answers.
  virtual bool answers() const { return true; }
  /// Gives every process the request that the answering one has read.
  virtual void share(std::string& /*request*/) {}
  virtual void barrier() {}
  /// Throws on all processes if something has failed on any: there what it was, elsewhere an error that says which
  /// process it was. Each calls it at the same points, with null if nothing has failed.
  virtual void share_failure(const std::exception_ptr& failure) const;
  /// Does a step by all processes. What one cannot do, none does: one that is alone with its error would leave the
  /// others waiting for it. So the step itself must not wait for others after what may fail.
  template <typename Step>
  void together(const Step& step) const {
    std::exception_ptr failure;
    try {
      step();
    } catch (...) {
      failure = std::current_exception();
    }
    share_failure(failure);
  }
  /// Adds up the work of all processes and returns the first error. Only the process that answers needs the result.
  /// \throws what a kernel threw
  virtual std::optional<Violation> gather(const Execution& run, Accounts& accounts);
  /// Adds up a number of all processes; NaN if that of some is not known. Only the process that answers needs the
  /// result.
  virtual double total(double own) { return own; }
  /// Most memory that any process used, in bytes.
  virtual std::int64_t peak_rss_bytes();
};

/// How a file was compiled; results record it.
struct Build {
  const char* compiler;
  const char* flags;  ///< TASKGRAIN_FLAGS, which taskgrain_system() of CMake defines, or "unknown"
};

/// How the file that includes this header is compiled. It is static because each file has its own.
static constexpr Build this_build{
#ifdef __clang__
    "Clang " __clang_version__,
#else
    "GCC " __VERSION__,
#endif
#ifdef TASKGRAIN_FLAGS
    TASKGRAIN_FLAGS,
#else
    "unknown",
#endif
};

/// Makes the system and serves requests on standard input (without arguments), runs a file of them (`--batch FILE`), or
/// runs what the flags say. \returns the process's exit code
int drive(int argc, char** argv, const std::function<std::unique_ptr<System>()>& make, Build build = this_build);

template <typename S>
static int drive(int argc, char** argv) {
  return drive(argc, argv, [] { return std::make_unique<S>(); });
}

}  // namespace taskgrain
