/// Forks of OpenMP: tasks that share what the waiting one has. A loop is a `for`.

#include "program.hpp"

namespace {

class OpenMp {
 public:
  explicit OpenMp(int threads) : threads_(threads) {}

  template <typename Call>
  void begin(const Call& call) {
#pragma omp parallel num_threads(threads_)
#pragma omp single
    call();
  }
  template <typename First, typename Second>
  auto both(const First& first, const Second& second) const {
    decltype(first()) left;
#pragma omp task shared(left, first)
    left = first();
    auto right = second();
#pragma omp taskwait
    return std::pair(left, right);
  }
  template <typename Body>
  void loop(std::int64_t number, const Body& body) {
#pragma omp parallel for num_threads(threads_)
    for (std::int64_t k = 0; k < number; ++k) body(k);
  }

 private:
  int threads_;
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_forks<OpenMp>(argc, argv, "openmp"); }
