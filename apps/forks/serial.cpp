/// The same calls without forks, on one thread: what they take by themselves.

#include "program.hpp"

namespace {

class Serial {
 public:
  explicit Serial(int) {}

  template <typename Call>
  void begin(const Call& call) {
    call();
  }
  template <typename First, typename Second>
  auto both(const First& first, const Second& second) const {
    auto left = first();
    return std::pair(left, second());
  }
  template <typename Body>
  void loop(std::int64_t number, const Body& body) {
    for (std::int64_t k = 0; k < number; ++k) body(k);
  }
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_forks<Serial>(argc, argv, "serial"); }
