/// The overhead of taskgrain::rt.

#include <array>

#include "program.hpp"
#include "taskgrain/rt.hpp"

namespace {

namespace rt = taskgrain::rt;

class Taskgrain {
 public:
  explicit Taskgrain(const apps::OverheadOptions& options) : options_(options), runtime_({.workers = options.threads}) {
    single_.run([this](int) { apps::spin(options_.spin); }).indegree([](int) { return 1; }).worker([this](int k) {
      return k % options_.threads;
    });
    grid_
        .run([this](const Key& key) {
          const auto [i, j] = key;
          apps::spin(options_.spin);
          if (j + 1 < options_.columns)
            for (int k = 0; k < options_.dependences; ++k) grid_.fulfill({(i + k) % options_.rows, j + 1});
        })
        .indegree([this](const Key& key) { return key[1] == 0 ? 1 : options_.dependences; })
        .worker([this](const Key& key) { return key[0] % options_.threads; });
  }

  template <typename Start>
  void run(const Start& start) {
    if (options_.apart()) runtime_.join();
    if (options_.grid())
      for (int i = 0; i < options_.rows; ++i) grid_.fulfill({i, 0});
    else
      for (int k = 0; k < options_.size; ++k) single_.fulfill(k);
    if (options_.apart()) start();
    runtime_.wait();
  }

 private:
  using Key = std::array<int, 2>;

  const apps::OverheadOptions options_;
  rt::Runtime runtime_;
  rt::Taskflow<int> single_{runtime_, "single"};
  rt::Taskflow<Key> grid_{runtime_, "grid"};
};

}  // namespace

int main(int argc, char** argv) {
  return apps::drive_overhead<Taskgrain>(argc, argv, "taskgrain", {.grid = true, .apart = true});
}
