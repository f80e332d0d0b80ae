/// C = A·B by StarPU: every rank submits the sequential program, and StarPU finds which tasks are its own, and what
/// must be sent.

#include "../matrix/starpu.hpp"
#include "../matrix/program.hpp"

namespace {

using namespace apps;

class Gemm {
 public:
  Gemm(const World& world, const Options& options)
      : entries_{left_factor(options.seed), right_factor(options.seed)}, tiling_(options.size, options.block),
        starpu_(world, options), a_(world, options.grid, tiling_, false, 0),
        b_(world, options.grid, tiling_, false, tiling_.blocks() * tiling_.blocks()),
        c_(world, options.grid, tiling_, false, 2 * tiling_.blocks() * tiling_.blocks()) {}

  void prepare() {
    a_.fill(entries_[0]);
    b_.fill(entries_[1]);
    c_.clear();
    starpu_.wake();
  }
  std::int64_t run() {
    std::int64_t tasks = 0;
    for (int i = 0; i < tiling_.blocks(); ++i)
      for (int j = 0; j < tiling_.blocks(); ++j)
        for (int k = 0; k < tiling_.blocks(); ++k) {
          starpu_mpi_task_insert(MPI_COMM_WORLD, &multiply_, STARPU_R, a_(i, k), STARPU_R, b_(k, j), STARPU_RW,
                                 c_(i, j), 0);
          starpu_.keep_up();
          tasks += c_.owns(i, j);
        }
    starpu_.finish();
    return tasks;
  }
  std::vector<Piece> result() {
    starpu_.rest();
    return c_.pieces();
  }
  void describe(nlohmann::ordered_json&) const {}

 private:
  static void multiply(void** buffers, void*) {
    const StarpuBlock a(buffers[0]), b(buffers[1]), c(buffers[2]);
    cblas_dgemm(blas::columns, blas::plain, blas::plain, c.rows, c.columns, a.columns, 1.0, a.data, a.stride, b.data,
                b.stride, 1.0, c.data, c.stride);
  }

  const Entries entries_[2];
  const Tiling tiling_;
  Starpu starpu_;
  StarpuMatrix a_, b_, c_;
  starpu_codelet multiply_ = codelet("gemm", multiply, STARPU_R, STARPU_R, STARPU_RW);
};

}  // namespace

int main(int argc, char** argv) {
  return apps::drive<Gemm>(argc, argv, apps::product, "starpu", {}, MPI_THREAD_MULTIPLE);
}
