/// Forks of oneTBB.

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

#include "program.hpp"

namespace {

class Tbb {
 public:
  explicit Tbb(int threads)
      : threads_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)) {}

  template <typename Call>
  void begin(const Call& call) {
    call();
  }
  template <typename First, typename Second>
  auto both(const First& first, const Second& second) const {
    decltype(first()) left;
    tbb::task_group group;
    group.run([&] { left = first(); });
    auto right = second();
    group.wait();
    return std::pair(left, right);
  }
  template <typename Body>
  void loop(std::int64_t number, const Body& body) {
    tbb::parallel_for(std::int64_t{0}, number, body);
  }

 private:
  tbb::global_control threads_;
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_forks<Tbb>(argc, argv, "tbb"); }
