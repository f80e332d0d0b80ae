/// Messenger (src/rt/comm/messenger.hpp) and compiled graphs (src/rt/graph/rank_edges.hpp), in so many simulated worlds
/// of ranks each.
///
///     taskgrain-rank-schedules [SCHEDULES [FIRST [WHAT]]]    1000000 schedules, from seed FIRST = 0
///
/// WHAT is `messengers` or `graphs`; without it, it is both. It prints how many schedules ran in a second, and how many
/// messages that were. A violation ends it with exit code 1 and the seed.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rt/comm/simulated_messengers.hpp"
#include "rt/graph/simulated_graphs.hpp"

namespace {

using namespace taskgrain::rt;

struct Schedules {
  std::uint64_t number = 1'000'000, first = 0;
};

/// \param one    one(seed) runs a schedule and returns what became of it
/// \param total  says what all did
template <typename One, typename Total>
void run(const char* name, const Schedules& schedules, const One& one, const Total& total) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = schedules.first; seed < schedules.first + schedules.number; ++seed) {
    const std::string violation = one(seed);
    if (violation.empty()) continue;
    std::fprintf(stderr, "seed %llu: %s: %s\n", static_cast<unsigned long long>(seed), name, violation.c_str());
    std::exit(1);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%s: %llu schedules, %.0f per second: %s\n", name, static_cast<unsigned long long>(schedules.number),
              static_cast<double>(schedules.number) / seconds.count(), total().c_str());
}

void run_messengers(const Schedules& schedules) {
  std::uint64_t waits = 0, messages = 0, packets = 0, failed = 0;
  run(
      "messengers", schedules,
      [&](std::uint64_t seed) {
        const SimulatedRun simulated = taskgrain::rt::run_messengers(seed);
        waits += simulated.waits;
        messages += simulated.messages;
        packets += simulated.packets;
        failed += simulated.failed ? 1 : 0;
        return simulated.violation;
      },
      [&] {
        return std::to_string(waits) + " waits of a rank, " + std::to_string(messages) + " messages, " +
               std::to_string(packets) + " packets, " + std::to_string(failed) + " schedules that fail";
      });
}

void run_graphs(const Schedules& schedules) {
  std::uint64_t tasks = 0, packets = 0;
  run(
      "graphs", schedules,
      [&](std::uint64_t seed) {
        const SimulatedGraphs simulated = taskgrain::rt::run_graphs(seed);
        tasks += simulated.tasks;
        packets += simulated.packets;
        return simulated.violation;
      },
      [&] { return std::to_string(tasks) + " tasks and sends, " + std::to_string(packets) + " packets"; });
}

}  // namespace

int main(int argc, char** argv) {
  Schedules schedules;
  if (argc > 1) schedules.number = std::strtoull(argv[1], nullptr, 10);
  if (argc > 2) schedules.first = std::strtoull(argv[2], nullptr, 10);
  const std::string_view what = argc > 3 ? argv[3] : "";
  if (schedules.number == 0 || argc > 4 || (!what.empty() && what != "messengers" && what != "graphs")) {
    std::fprintf(stderr,
                 "rank-schedules: [SCHEDULES [FIRST [WHAT]]], a positive number, a number, and messengers or graphs\n");
    return 2;
  }
  if (what.empty() || what == "messengers") run_messengers(schedules);
  if (what.empty() || what == "graphs") run_graphs(schedules);
}
