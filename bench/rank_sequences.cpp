/// What each rank pays for the tasks of the others in a Sequence across ranks, which all look at all tasks.
///
///     taskgrain-run -n RANKS taskgrain-rank-sequences
///
/// A ring of four pieces of data a rank; in each step a task for each reads its piece and the one before it, and
/// writes its piece of the other half. Tasks are empty. A line says what the thread that gives tasks takes of a
/// processor, the median of the steps of the slowest rank: for a task of the program, and for a step. So ranks may
/// share cores.

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <vector>

#include "taskgrain/rt.hpp"

namespace {

using namespace taskgrain;

double own_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// \param call  of a step, which waits afterwards
template <typename Call>
double median_seconds(rt::Sequence& sequence, const Call& call) {
  std::vector<double> steps;
  for (int step = 0; step < 100; ++step) {
    const double before = own_seconds();
    call();
    steps.push_back(own_seconds() - before);
    sequence.wait();
  }
  std::ranges::nth_element(steps, steps.begin() + 50);
  return steps[50];
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) {
    std::fprintf(stderr, "usage: taskgrain-run -n RANKS taskgrain-rank-sequences\n");
    return 2;
  }
  constexpr int blocks = 4;
  rt::Communicator comm;
  const int all = blocks * comm.ranks();
  std::array<std::vector<double>, 2> values;
  std::array<std::vector<rt::Data>, 2> data;
  rt::Runtime runtime({.workers = 1, .pin = false, .communicator = &comm});
  rt::Sequence sequence(runtime, comm, {.window = 1U << 16});
  for (std::size_t half : {0, 1}) {
    values[half].resize(static_cast<std::size_t>(all));
    for (int k = 0; k < all; ++k)
      data[half].push_back(sequence.data(values[half][static_cast<std::size_t>(k)], {.rank = k / blocks}));
  }
  const auto give = [&](std::size_t from) {
    for (int k = 0; k < all; ++k)
      sequence.task({read(data[from][static_cast<std::size_t>(k)]),
                     read(data[from][static_cast<std::size_t>((k + all - 1) % all)]),
                     write(data[1 - from][static_cast<std::size_t>(k)])},
                    [] {});
  };
  const auto two = [&] { give(0), give(1); };
  const std::array<double, 2> seconds{median_seconds(sequence, two),
                                      median_seconds(sequence, [&] { sequence.trace(1, two); })};
  const auto slowest = comm.all_reduce(seconds, [](const std::array<double, 2>& a, const std::array<double, 2>& b) {
    return std::array{std::max(a[0], b[0]), std::max(a[1], b[1])};
  });
  if (comm.rank() == 0)
    std::printf(
        "%3d ranks, %d tasks each in a step: plain %5.0f ns a task, %8.1f us a step; traced %5.0f ns, %8.1f us\n",
        comm.ranks(), blocks, 1e9 * slowest[0] / (2 * all), 1e6 * slowest[0] / 2, 1e9 * slowest[1] / (2 * all),
        1e6 * slowest[1] / 2);
}
