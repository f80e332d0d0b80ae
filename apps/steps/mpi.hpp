#pragma once

/// Programs of steps with MPI.

#include <mpi.h>

#include <cstdlib>
#include <span>
#include <vector>

#include "../matrix/world.hpp"
#include "program.hpp"
#include "taskgrain/binding.hpp"

namespace apps {

/// What all ranks have, one after the other; on rank 0, elsewhere nothing.
inline std::vector<double> gathered(const World& world, std::span<const double> own) {
  const int count = static_cast<int>(own.size());
  std::vector<int> counts(world.rank() == 0 ? static_cast<std::size_t>(world.ranks()) : 0), begins(counts.size());
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  int all = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) begins[k] = all, all += counts[k];
  std::vector<double> found(static_cast<std::size_t>(all));
  MPI_Gatherv(own.data(), count, MPI_DOUBLE, found.data(), counts.data(), begins.data(), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return found;
}

/// \returns the exit code
template <typename S>
int drive_mpi_steps(int argc, char** argv, const StepsProblem& problem, const char* system = "mpi") {
  const World world(argc, argv, MPI_THREAD_SINGLE);
  taskgrain::pin_this_thread(world.processors(1).front());
  const int code = drive_steps<S>(argc, argv, problem, system, world, false);
  if (code == 1) MPI_Abort(MPI_COMM_WORLD, 1);
  return code;
}

}  // namespace apps
