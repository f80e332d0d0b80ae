/// L of A = L·Lᵀ by ScaLAPACK.

#include "../matrix/scalapack.hpp"
#include "../matrix/entries.hpp"
#include "../matrix/program.hpp"
#include "taskgrain/error.hpp"

namespace {

using namespace apps;

class Cholesky {
 public:
  Cholesky(const World& world, const Options& options)
      : entries_(positive_definite(options.seed, options.size)), size_(static_cast<int>(options.size)),
        context_(world, options), a_(context_, options) {
    if (options.rho != 1) throw taskgrain::InvalidSpec("rho", std::to_string(options.rho), "1 with ScaLAPACK");
  }

  void prepare() { a_.fill(entries_); }
  std::int64_t run() {
    const int one = 1;
    int info = 0;
    pdpotrf_("L", &size_, a_.data(), &one, &one, a_.descriptor(), &info);
    if (info != 0) throw std::runtime_error("pdpotrf: info = " + std::to_string(info));
    return 0;
  }
  std::vector<Piece> result() { return a_.pieces(); }
  void describe(nlohmann::ordered_json&) const {}

 private:
  const Entries entries_;
  const int size_;
  ScalapackContext context_;
  ScalapackMatrix a_;
};

}  // namespace

int main(int argc, char** argv) {
  return apps::drive<Cholesky>(argc, argv, apps::factorisation, "scalapack", {.rho = true}, MPI_THREAD_SINGLE);
}
