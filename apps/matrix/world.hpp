#pragma once

/// MPI from the start of a program to its end, and what programs do with all ranks at a time.

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

namespace apps {

class World {
 public:
  /// \param thread_level  that the program needs: MPI_THREAD_FUNNELED …
  World(int& argc, char**& argv, int thread_level);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  void barrier() const;
  double max(double value) const;
  std::int64_t sum(std::int64_t value) const;
  void sum(std::span<double> values) const;
  /// The processors of this rank, one for each thread: ranks of one host come one after another, and share if there are
  /// too few.
  std::vector<int> processors(int threads) const;

 private:
  int rank_ = 0, ranks_ = 1, rank_on_host_ = 0;
};

}  // namespace apps
