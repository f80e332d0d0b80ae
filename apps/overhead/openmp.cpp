/// The overhead of OpenMP's tasks. A loop submits them, so that the time cannot begin when all are submitted: where too
/// many wait, OpenMP runs some at once. Dependences on any number of others it does not know.

#include "program.hpp"

namespace {

class OpenMp {
 public:
  explicit OpenMp(const apps::OverheadOptions& options) : options_(options) {}

  template <typename Start>
  void run(const Start&) {
#pragma omp parallel num_threads(options_.threads)
#pragma omp single
    for (std::int64_t k = 0; k < options_.size; ++k) {
#pragma omp task
      apps::spin(options_.spin);
    }
  }

 private:
  const apps::OverheadOptions options_;
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_overhead<OpenMp>(argc, argv, "openmp", {}); }
