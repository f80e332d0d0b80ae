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

/// Whether this process is one of several, as of mpirun, of which each would solve the whole problem.
inline bool one_of_several() {
  try {
    return rt::Communicator().ranks() > 1;
  } catch (const rt::UsageError&) {
    return true;
  }
}

/// \returns the exit code
template <typename S>
int drive_sequence_steps(int argc, char** argv, const StepsProblem& problem, const char* system = "sequence") {
  if (one_of_several()) {
    const std::string name = problem.name;
    std::cerr
        << name << ": "
        << taskgrain::InvalidSpec("processes", "several", "one, with --threads; " + name + "-mpi has ranks").what()
        << std::endl;
    return 2;
  }
  return drive_steps<S>(argc, argv, problem, system, OneRank(), true);
}

}  // namespace apps
