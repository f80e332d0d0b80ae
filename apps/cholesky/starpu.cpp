/// L of A = L·Lᵀ by StarPU: every rank submits the sequential program, and StarPU finds which tasks are its own,
/// and what must be sent.

#include "../matrix/starpu.hpp"
#include "../matrix/program.hpp"
#include "priority.hpp"

namespace {

using namespace apps;

class Cholesky {
 public:
  Cholesky(const World& world, const Options& options)
      : entries_(positive_definite(options.seed, options.size)),
        tiling_(options.size, options.block, options.rho, options.seed), rho_(options.rho), starpu_(world, options),
        a_(world, options.grid, tiling_, true, 0) {}

  void prepare() {
    a_.fill(entries_);
    starpu_.wake();
  }
  std::int64_t run() {
    std::int64_t tasks = 0;
    const int blocks = tiling_.blocks();
    const auto submit = [&](int k, int i, int j, auto... arguments) {
      starpu_mpi_task_insert(MPI_COMM_WORLD, arguments..., STARPU_PRIORITY, priority(blocks, k, i, j), 0);
      starpu_.keep_up();
      tasks += a_.owns(i, j);
    };
    for (int k = 0; k < blocks; ++k) {
      submit(k, k, k, &potrf_, STARPU_RW, a_(k, k));
      for (int i = k + 1; i < blocks; ++i) submit(k, i, k, &trsm_, STARPU_R, a_(k, k), STARPU_RW, a_(i, k));
      for (int i = k + 1; i < blocks; ++i) {
        submit(k, i, i, &syrk_, STARPU_R, a_(i, k), STARPU_RW, a_(i, i));
        for (int j = k + 1; j < i; ++j)
          submit(k, i, j, &gemm_, STARPU_R, a_(i, k), STARPU_R, a_(j, k), STARPU_RW, a_(i, j));
      }
    }
    starpu_.finish();
    return tasks;
  }
  std::vector<Piece> result() {
    starpu_.rest();
    return a_.pieces();
  }
  void describe(nlohmann::ordered_json& line) const { line["rho"] = rho_; }

 private:
  static void potrf(void** buffers, void*) {
    const StarpuBlock a(buffers[0]);
    blas::potrf(a.rows, a.data, a.stride);
  }
  static void trsm(void** buffers, void*) {
    const StarpuBlock l(buffers[0]), a(buffers[1]);
    blas::trsm(a.rows, a.columns, l.data, l.stride, a.data, a.stride);
  }
  static void syrk(void** buffers, void*) {
    const StarpuBlock a(buffers[0]), c(buffers[1]);
    blas::syrk(c.rows, a.columns, a.data, a.stride, c.data, c.stride);
  }
  static void gemm(void** buffers, void*) {
    const StarpuBlock a(buffers[0]), b(buffers[1]), c(buffers[2]);
    blas::gemm_transposed(c.rows, c.columns, a.columns, a.data, a.stride, b.data, b.stride, c.data, c.stride);
  }

  const Entries entries_;
  const Tiling tiling_;
  const double rho_;
  Starpu starpu_;
  StarpuMatrix a_;
  starpu_codelet potrf_ = codelet("potrf", potrf, STARPU_RW);
  starpu_codelet trsm_ = codelet("trsm", trsm, STARPU_R, STARPU_RW);
  starpu_codelet syrk_ = codelet("syrk", syrk, STARPU_R, STARPU_RW);
  starpu_codelet gemm_ = codelet("gemm", gemm, STARPU_R, STARPU_R, STARPU_RW);
};

}  // namespace

int main(int argc, char** argv) {
  return apps::drive<Cholesky>(argc, argv, apps::factorisation, "starpu", {.rho = true}, MPI_THREAD_MULTIPLE);
}
