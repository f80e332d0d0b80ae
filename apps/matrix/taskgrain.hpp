#pragma once

/// The runtime on all ranks, and what its programs count and print.

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "blas.hpp"
#include "block_message.hpp"
#include "options.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/rt/mpi.hpp"
#include "tiling.hpp"
#include "world.hpp"

namespace apps {

namespace rt = taskgrain::rt;

using Key2 = std::array<int, 2>;
using Key3 = std::array<int, 3>;

/// The communicator and the workers of this rank. Flows and messages live in what is derived from it.
class TaskgrainRanks {
 public:
  TaskgrainRanks(const World& world, const Options& options)
      : grid_(options.grid), rank_(world.rank()), threads_(options.threads), large_(options.messages == "large"),
        communicator_(MPI_COMM_WORLD),
        runtime_({.workers = threads_, .cores = world.processors(threads_), .communicator = &communicator_}) {
    blas::use(threads_, 1);
  }

  void describe(nlohmann::ordered_json& line) const {
    line["messages"] = large_ ? "large" : "small";
    line["transport"] = communicator_.transport();
  }

 protected:
  bool mine(int i, int j, int layer = 0) const { return grid_.rank_of(i, j, layer) == rank_; }
  int row() const { return rank_ / grid_.layers / grid_.columns; }
  int column() const { return rank_ / grid_.layers % grid_.columns; }
  int layer() const { return rank_ % grid_.layers; }

  const Grid grid_;
  const int rank_, threads_;
  const bool large_;
  rt::MpiCommunicator communicator_;
  rt::Runtime runtime_;
};

}  // namespace apps
