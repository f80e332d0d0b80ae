#include "taskgrain/binding.hpp"

#include <sched.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "taskgrain/error.hpp"
#include "taskgrain/simulation.hpp"

namespace taskgrain {
namespace {

std::vector<int> parse(std::string_view list) {
  std::vector<int> cores;
  for (const char* at = list.data(); at < list.data() + list.size();) {
    int core = -1;
    const auto [end, error] = std::from_chars(at, list.data() + list.size(), core);
    if (error != std::errc() || core < 0 || (end < list.data() + list.size() && *end != ','))
      throw InvalidSpec("TASKGRAIN_CORES", std::string(list), "processor numbers with commas between them");
    cores.push_back(core);
    at = end + 1;
  }
  if (cores.empty()) throw InvalidSpec("TASKGRAIN_CORES", std::string(list), "at least one processor");
  return cores;
}

/// The first processor of every core that this process may run on. The kernel says which share a core; hwloc lacks
/// processors that a container does not list as online (lxcfs), and obeys variables that describe another machine.
std::vector<int> one_per_core() {
  std::vector<int> cores;
  std::set<std::string> known;
  for (const int processor : binding_of_this_thread()) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/thread_siblings_list");
    std::string siblings;  // the same for all processors of a core
    if (!std::getline(file, siblings) || known.insert(siblings).second) cores.push_back(processor);
  }
  return cores;
}

cpu_set_t set_of(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(static_cast<std::size_t>(processor), &set);
  return set;
}

}  // namespace

std::vector<int> cores() {
  const char* list = std::getenv("TASKGRAIN_CORES");
  return list != nullptr ? parse(list) : one_per_core();
}

void pin_this_thread(int processor) {
  if (simulation != nullptr) return;  // it has one thread for all ranks
  const cpu_set_t set = set_of({processor});
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot pin to processor " + std::to_string(processor));
}

void pin_this_process(const std::vector<int>& processors) {
  for (const int processor : processors) pin_this_thread(processor);  // says which of them cannot be had
  const cpu_set_t set = set_of(processors);
  for (int round = 0; round < 2; ++round)  // a thread may be starting another
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
      if (sched_setaffinity(std::stoi(thread.path().filename()), sizeof set, &set) != 0 && errno != ESRCH)
        throw std::system_error(errno, std::generic_category(), "cannot bind the threads of this process");
}

std::vector<int> binding_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    throw std::system_error(errno, std::generic_category(), "sched_getaffinity");
  std::vector<int> processors;
  for (int k = 0; k < CPU_SETSIZE; ++k)
    if (CPU_ISSET(static_cast<std::size_t>(k), &set)) processors.push_back(k);
  return processors;
}

}  // namespace taskgrain
