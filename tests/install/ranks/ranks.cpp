/// Needs the headers of the runtime and of MPI, and both libraries.

#include "taskgrain/rt/mpi.hpp"

int main() {
  int initialised = 1;
  MPI_Initialized(&initialised);
  return initialised;
}
