/// C = A·B by ScaLAPACK. It has no tasks: ranks step by step multiply panels of columns and rows, with a BLAS of as
/// many threads as there are cores.

#include "../matrix/scalapack.hpp"
#include "../matrix/entries.hpp"
#include "../matrix/program.hpp"

namespace {

using namespace apps;

class Gemm {
 public:
  Gemm(const World& world, const Options& options)
      : entries_{left_factor(options.seed), right_factor(options.seed)}, size_(static_cast<int>(options.size)),
        context_(world, options), a_(context_, options), b_(context_, options), c_(context_, options) {}

  void prepare() {
    a_.fill(entries_[0]);
    b_.fill(entries_[1]);
    c_.clear();
  }
  std::int64_t run() {
    const int one = 1;
    const double alpha = 1, beta = 1;
    pdgemm_("N", "N", &size_, &size_, &size_, &alpha, a_.data(), &one, &one, a_.descriptor(), b_.data(), &one, &one,
            b_.descriptor(), &beta, c_.data(), &one, &one, c_.descriptor());
    return 0;
  }
  std::vector<Piece> result() { return c_.pieces(); }
  void describe(nlohmann::ordered_json&) const {}

 private:
  const Entries entries_[2];
  const int size_;
  ScalapackContext context_;
  ScalapackMatrix a_, b_, c_;
};

}  // namespace

int main(int argc, char** argv) {
  return apps::drive<Gemm>(argc, argv, apps::product, "scalapack", {}, MPI_THREAD_SINGLE);
}
