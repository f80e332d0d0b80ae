/// Forks of the runtime.

#include <ranges>

#include "program.hpp"
#include "taskgrain/rt/cores.hpp"
#include "taskgrain/rt/fork_join.hpp"
#include "taskgrain/rt/parallel.hpp"

namespace {

namespace rt = taskgrain::rt;

class Taskgrain {
 public:
  explicit Taskgrain(int threads) : runtime_({.workers = threads}), pinned_(runtime_.cores()[0]) {}

  template <typename Call>
  void begin(const Call& call) {
    rt::fork_join(runtime_, call);
  }
  template <typename First, typename Second>
  auto both(const First& first, const Second& second) const {
    rt::Fork forked(first);
    auto right = second();
    return std::pair(forked.join(), right);
  }
  template <typename Body>
  void loop(std::int64_t number, const Body& body) {
    rt::parallel_for(runtime_, std::views::iota(std::int64_t{0}, number), body);
  }

 private:
  rt::Runtime runtime_;
  rt::Pinned pinned_;  // else each call does and undoes it
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_forks<Taskgrain>(argc, argv, "taskgrain"); }
