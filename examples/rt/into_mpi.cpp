/// An MPI program that has moved one phase to tasks. It solves -u'' = 1 by Jacobi's method: MPI starts the program and
/// sums up the residuals, as before; the sweeps between two sums are tasks, which exchange halos by active messages.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "taskgrain/rt.hpp"
#include "taskgrain/rt/mpi.hpp"

namespace rt = taskgrain::rt;

constexpr int blocks = 4, side = 4, length = blocks * side;  // of a rank
constexpr int sweeps = 50;                                   // between two sums
using Key = std::array<int, 2>;                              // sweep, block

/// The part of a rank: a value before it, its own, and a value after it. A sweep reads one row and writes the other.
struct Part {
  std::array<std::vector<double>, 2> rows{std::vector<double>(length + 2), std::vector<double>(length + 2)};
  std::array<double, blocks> residuals{};
  double h2;  // the square of the distance of two points

  void relax(int sweep, int block) {
    const std::vector<double>& from = rows[sweep % 2];
    std::vector<double>& to = rows[(sweep + 1) % 2];
    residuals[block] = 0;
    for (int x = block * side + 1; x <= (block + 1) * side; ++x) {
      to[x] = 0.5 * (from[x - 1] + from[x + 1] + h2);
      residuals[block] += (to[x] - from[x]) * (to[x] - from[x]);
    }
  }
};

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);  // instead of MPI_Init
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bool right = true;
  {
    rt::MpiCommunicator comm(MPI_COMM_WORLD);
    rt::Runtime runtime({.communicator = &comm});
    Part part{.h2 = 1 / std::pow(length * ranks + 1, 2)};

    rt::Taskflow<Key> flow(runtime, "relax");
    // The point beside this part on one side (0: before, 1: after), as a sweep has left it.
    const auto halo = comm.active_message([&](int sweep, int which, double value) {
      part.rows[(sweep + 1) % 2][which == 0 ? 0 : length + 1] = value;
      if ((sweep + 1) % sweeps != 0) flow.fulfill({sweep + 1, which == 0 ? 0 : blocks - 1});
    });
    flow.indegree([&](Key key) {
      if (key[0] % sweeps == 0) return 1;  // after a sum
      const int block = rank * blocks + key[1];
      return 1 + (block > 0) + (block < ranks * blocks - 1);
    });
    flow.worker([&](Key key) { return key[1] * runtime.workers() / blocks; });
    flow.run([&](Key key) {
      const auto [sweep, block] = key;
      part.relax(sweep, block);
      const std::vector<double>& row = part.rows[(sweep + 1) % 2];
      if (block == 0 && rank > 0) halo.send(rank - 1, sweep, 1, row[1]);
      if (block == blocks - 1 && rank + 1 < ranks) halo.send(rank + 1, sweep, 0, row[length]);
      if ((sweep + 1) % sweeps == 0) return;
      for (int next = std::max(block - 1, 0); next <= std::min(block + 1, blocks - 1); ++next)
        flow.fulfill({sweep + 1, next});
    });

    double residual = 1;
    int sweep = 0;
    for (; residual > 1e-6; sweep += sweeps) {
      for (int block = 0; block < blocks; ++block) flow.fulfill({sweep, block});
      runtime.wait();
      double own = 0;
      for (const double each : part.residuals) own += each;
      MPI_Allreduce(&own, &residual, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      residual = std::sqrt(residual);
    }

    double error = 0, largest = 0;  // against u(x) = x (1 - x) / 2, which Jacobi's method reaches up to the residual
    for (int x = 1; x <= length; ++x) {
      const double at = (rank * length + x) * std::sqrt(part.h2);
      error = std::max(error, std::abs(part.rows[sweep % 2][x] - at * (1 - at) / 2));
    }
    MPI_Reduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    right = largest < 1e-4;
    if (rank == 0) std::printf("%d ranks, %d sweeps: %s\n", ranks, sweep, right ? "solved" : "WRONG");
  }  // the runtime and its communicator end before MPI does
  MPI_Finalize();
  return right ? 0 : 1;
}
