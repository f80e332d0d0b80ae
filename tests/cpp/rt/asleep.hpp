#pragma once

/// What tests may ask of time: whether something happens at all, and whether threads sleep. Neither depends on what
/// else the machine has to do.

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace taskgrain::rt {

/// Only what hangs takes so long.
inline std::chrono::steady_clock::time_point hang() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(300);
}

/// Waits until `condition()`. False if that hangs.
template <typename Condition>
bool eventually(const Condition& condition) {
  for (const auto until = hang(); std::chrono::steady_clock::now() < until;
       std::this_thread::sleep_for(std::chrono::microseconds(100)))
    if (condition()) return true;
  return false;
}

/// The threads of this process.
inline std::set<pid_t> all_threads() {
  static std::once_flag first;  // with the first thread of a program, sanitizers start one of their own
  std::call_once(first, [] { std::thread([] {}).join(); });
  std::set<pid_t> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    threads.insert(std::stoi(entry.path().filename()));
  return threads;
}

/// Those that have come since.
inline std::vector<pid_t> threads_since(const std::set<pid_t>& before) {
  std::vector<pid_t> threads;
  std::ranges::set_difference(all_threads(), before, std::back_inserter(threads));
  return threads;
}

/// What the kernel knows of a thread.
struct ThreadState {
  bool asleep = false;  // neither on a processor nor waiting for one
  long switches = 0;    // how often it has left a processor
  bool operator==(const ThreadState&) const = default;
};
inline ThreadState state_of(pid_t thread) {
  ThreadState state;
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string word; file >> word;) {
    if (word == "State:") state.asleep = (file >> word) && word == "S";
    long number = 0;
    if (word.ends_with("voluntary_ctxt_switches:") && file >> number) state.switches += number;
  }
  return state;
}

/// Waits until these threads sleep, and do not wake between two looks. A thread that spins never sleeps, however little
/// of the processors it gets. False if some do not.
inline bool fall_asleep(const std::vector<pid_t>& threads) {
  const auto look = [&] {
    std::vector<ThreadState> states;
    for (const pid_t thread : threads) states.push_back(state_of(thread));
    return states;
  };
  return eventually([&] {
    const auto before = look();
    if (!std::ranges::all_of(before, &ThreadState::asleep)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return look() == before;
  });
}

}  // namespace taskgrain::rt
