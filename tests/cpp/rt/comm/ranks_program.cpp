/// A program that taskgrain-run starts in tests: `ranks_program RANK DEED…`. All ranks attach and meet; then RANK
/// does its deed, and the others say whom they lose and why. They end when that is one, or when all have left.

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <mutex>
#include <string>

#include "comm/segment.hpp"
#include "comm/watch.hpp"

int main(int argc, char** argv) {
  using namespace taskgrain::rt::detail;
  if (argc != 3) return 100;
  const int rank = std::atoi(std::getenv("TASKGRAIN_RANK"));
  const std::string deed = argv[2];
  if (deed == "never attach" && rank == std::atoi(argv[1])) return 0;
  Segment segment(std::atoi(std::getenv("TASKGRAIN_SEGMENT")), rank);
  const auto all = [&](auto... states) {
    for (int other = 0; other < segment.ranks(); ++other)
      if (const auto state = segment.block(other).state.load(); ((state != states) && ...)) return false;
    return true;
  };
  while (deed != "never attach" && !all(RankBlock::attached, RankBlock::left, RankBlock::failed, RankBlock::dead))
    usleep(1000);
  if (deed == "come once") {
    segment.leave();
    if (rank != std::atoi(argv[1])) try {
        Segment(std::atoi(std::getenv("TASKGRAIN_SEGMENT")), rank);
      } catch (const std::exception& error) {
        std::cout << std::string(error.what()) + "\n" << std::flush;
      }
    return 0;
  }
  if (rank == std::atoi(argv[1])) {
    if (deed == "kill") kill(getpid(), SIGKILL);
    if (deed == "throw") segment.announce_failure("no bread");
    if (deed == "leave") segment.leave();
    if (deed == "stop") raise(SIGSTOP);
    return deed == "throw" ? 3 : deed == "leave and fail" ? 4 : 0;
  }
  std::atomic<bool> lost = false;
  const Watch watch(segment, [&](int other, const std::string& why) {
    std::cout << "rank " + std::to_string(rank) + " loses " + std::to_string(other) + ": " + why + "\n" << std::flush;
    if (deed == "stop") segment.blame(other, why);
    lost = true;
  });
  if (deed == "leave") segment.leave();
  while (!lost && !all(RankBlock::left)) usleep(1000);
  segment.leave();
  return 0;
}
