#pragma once

/// StarPU on all ranks, and matrices of data handles.

#include <starpu_mpi.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../../systems/starpu/workers.hpp"
#include "blas.hpp"
#include "entries.hpp"
#include "options.hpp"
#include "taskgrain/error.hpp"
#include "tiling.hpp"
#include "world.hpp"

namespace apps {

/// The thread that submits is also the first worker (see StarpuWorkers), so that the two do not compete for a core. All
/// cores have workers; StarPU's thread for messages runs on them, too.
class Starpu {
 public:
  Starpu(const World& world, const Options& options) : Starpu(world.processors(allowed(options.threads))) {}
  ~Starpu() {
    workers_.wake();
    starpu_mpi_shutdown();
  }
  Starpu(const Starpu&) = delete;
  Starpu& operator=(const Starpu&) = delete;

  void wake() { workers_.wake(); }
  void rest() { workers_.rest(); }
  /// After each task is submitted: works while more of them wait than keep all workers at work. All ranks submit in one
  /// order, so the rank of the first task that is not done never waits here for others.
  void keep_up() {
    if (++submitted_ % 32 == 0 && starpu_task_nsubmitted() > workers_.ahead())
      workers_.work_until(workers_.ahead() / 2);
  }
  /// Until all is done on this rank.
  void finish() {
    workers_.work_until(0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_mpi_cache_flush_all_data(MPI_COMM_WORLD);
  }

 private:
  static int allowed(int threads) {
    if (threads > STARPU_MAXCPUS)
      throw taskgrain::InvalidSpec("threads", std::to_string(threads),
                                   "1 to " + std::to_string(STARPU_MAXCPUS) + " with this StarPU");
    blas::use(threads, 1);
    return threads;
  }
  explicit Starpu(const std::vector<int>& processors) : workers_((setenv("STARPU_SCHED", "lws", 0), processors)) {
    setenv("STARPU_MPI_NOBIND", "1", 1);  // the thread for messages runs where this one may
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int one : processors) CPU_SET(static_cast<std::size_t>(one), &set);
    sched_setaffinity(0, sizeof set, &set);
    if (starpu_mpi_init_comm(nullptr, nullptr, 0, MPI_COMM_WORLD) != 0)
      throw std::runtime_error("StarPU-MPI does not start");
    taskgrain::pin_this_thread(processors.front());
  }

  StarpuWorkers workers_;
  std::size_t submitted_ = 0;
};

/// The blocks of a matrix as StarPU sees them: every rank knows all, and has memory for its own.
class StarpuMatrix {
 public:
  /// \param lower      only the blocks that are not above the diagonal
  /// \param first_tag  of its messages; a matrix takes as many tags as it has blocks
  StarpuMatrix(const World& world, const Grid& grid, const Tiling& tiling, bool lower, int first_tag)
      : tiling_(tiling), blocks_(tiling),
        handles_(static_cast<std::size_t>(tiling.blocks()) * static_cast<std::size_t>(tiling.blocks())) {
    for (int j = 0; j < tiling.blocks(); ++j)
      for (int i = lower ? j : 0; i < tiling.blocks(); ++i) {
        const int owner = grid.rank_of(i, j);
        if (owner == world.rank()) {
          blocks_.hold(i, j);
          own_.emplace_back(i, j);
        }
        const auto rows = static_cast<unsigned>(tiling.extent(i)), columns = static_cast<unsigned>(tiling.extent(j));
        starpu_data_handle_t& handle = handles_[at(i, j)];
        starpu_matrix_data_register(&handle, owner == world.rank() ? STARPU_MAIN_RAM : -1,
                                    reinterpret_cast<std::uintptr_t>(blocks_(i, j)), rows, rows, columns,
                                    sizeof(double));
        starpu_mpi_data_register(handle, first_tag + static_cast<int>(at(i, j)), owner);
      }
  }
  ~StarpuMatrix() {
    for (const starpu_data_handle_t handle : handles_)
      if (handle != nullptr) starpu_data_unregister_no_coherency(handle);
  }
  StarpuMatrix(const StarpuMatrix&) = delete;
  StarpuMatrix& operator=(const StarpuMatrix&) = delete;

  starpu_data_handle_t operator()(int i, int j) const { return handles_[at(i, j)]; }
  bool owns(int i, int j) const { return blocks_.holds(i, j); }
  void fill(const Entries& entries) {
    for (const Piece& piece : pieces()) entries.fill(piece);
  }
  void clear() {
    for (const auto& [i, j] : own_) std::ranges::fill(blocks_.elements(i, j), 0.0);
  }
  std::vector<Piece> pieces() const {
    std::vector<Piece> pieces;
    for (const auto& [i, j] : own_) pieces.push_back(blocks_.piece(i, j));
    return pieces;
  }

 private:
  std::size_t at(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(tiling_.blocks()) + static_cast<std::size_t>(i);
  }

  const Tiling& tiling_;
  Blocks blocks_;
  std::vector<starpu_data_handle_t> handles_;
  std::vector<std::pair<int, int>> own_;
};

/// What a task sees of a block.
struct StarpuBlock {
  explicit StarpuBlock(void* buffer)
      : data(reinterpret_cast<double*>(STARPU_MATRIX_GET_PTR(buffer))),
        rows(static_cast<int>(STARPU_MATRIX_GET_NX(buffer))), columns(static_cast<int>(STARPU_MATRIX_GET_NY(buffer))),
        stride(static_cast<int>(STARPU_MATRIX_GET_LD(buffer))) {}

  double* data;
  int rows, columns, stride;
};

template <typename... Modes>
starpu_codelet codelet(const char* name, void (*function)(void**, void*), Modes... modes) {
  starpu_codelet made{};
  made.cpu_funcs[0] = function;
  made.nbuffers = sizeof...(modes);
  int buffer = 0;
  ((made.modes[buffer++] = modes), ...);
  made.name = name;
  return made;
}

}  // namespace apps
