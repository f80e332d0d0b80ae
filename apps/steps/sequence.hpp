#pragma once

/// Programs of steps as a sequence of tasks.

#include "program.hpp"
#include "taskgrain/rt.hpp"

namespace apps {

namespace rt = taskgrain::rt;

/// Gives all steps to a sequence, and waits.
template <typename Step>
void run_steps(rt::Sequence& sequence, const StepsOptions& options, const Step& step) {
  if (options.mode == "loop")
    sequence.loop(options.steps, step);
  else
    for (int k = 0; k < options.steps; ++k) {
      if (options.mode == "trace")
        sequence.trace(0, step);
      else
        step();
    }
  sequence.wait();
}

/// The worker of a block: neighbours are on one worker.
inline int home(const StepsOptions& options, int block) {
  return static_cast<int>(static_cast<std::int64_t>(block) * options.threads / options.blocks);
}

/// Why this process cannot be alone: each of several of mpirun would solve the whole problem. Else empty.
inline std::string not_alone(const std::string& name) {
  const std::string refused =
      taskgrain::InvalidSpec("processes", "several", "one, with --threads; " + name + "-mpi has ranks").what();
  try {
    return rt::Communicator().ranks() == 1 ? "" : refused;
  } catch (const rt::UsageError& error) {  // of another launcher, or by a variable
    return refused + ": " + error.what();
  }
}

/// \returns the exit code
template <typename S>
int drive_sequence_steps(int argc, char** argv, const StepsProblem& problem, const char* system = "sequence") {
  const std::string name = problem.name;
  if (const std::string why = not_alone(name); !why.empty()) {
    std::cerr << name << ": " << why << std::endl;
    return 2;
  }
  return drive_steps<S>(argc, argv, problem, system, OneRank(), true);
}

}  // namespace apps
