#include "taskgrain/rt/cores.hpp"

#include <dirent.h>
#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <hwloc/linux.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt {

namespace {

struct FreeSet {
  void operator()(hwloc_bitmap_t set) const noexcept { hwloc_bitmap_free(set); }
};
using Set = std::unique_ptr<hwloc_bitmap_s, FreeSet>;

/// The topology of this machine as hwloc knows it, loaded once. It says which processors are near each other, and no
/// more: it lacks those that a container does not list as online (lxcfs). Never destroyed, because a static runtime may
/// outlive other statics.
hwloc_topology_t topology() {
  static const hwloc_topology_t found = [] {
    hwloc_topology_t made = nullptr;
    hwloc_topology_init(&made);
    const bool loaded = hwloc_topology_load(made) == 0;
    if (loaded && hwloc_topology_is_thissystem(made) != 0) return made;
    if (loaded)
      std::fputs(
          "taskgrain: HWLOC_XMLFILE, HWLOC_SYNTHETIC or another variable of hwloc describes another machine; "
          "it is ignored, and which processors share a cache is not known\n",
          stderr);
    hwloc_topology_destroy(made);
    hwloc_topology_init(&made);
    hwloc_topology_set_synthetic(made, "pu:1");
    hwloc_topology_load(made);
    return made;
  }();
  return found;
}

hwloc_obj_t object_of(int processor) {
  return hwloc_get_pu_obj_by_os_index(topology(), static_cast<unsigned>(processor));
}

std::vector<int> processors_of(hwloc_const_bitmap_t set) {
  std::vector<int> processors;
  for (int processor = hwloc_bitmap_first(set); processor >= 0; processor = hwloc_bitmap_next(set, processor))
    processors.push_back(processor);
  return processors;
}

/// The processors that a thread may run on, of all that the kernel has; none if the thread is gone.
Set affinity_of(pid_t thread) {
  std::vector<cpu_set_t> mask(1);
  const auto bytes = [&] { return mask.size() * sizeof(cpu_set_t); };
  while (sched_getaffinity(thread, bytes(), mask.data()) != 0 && errno == EINVAL) mask.resize(2 * mask.size());
  Set set(hwloc_bitmap_alloc());
  hwloc_cpuset_from_glibc_sched_affinity(topology(), set.get(), mask.data(), bytes());
  return set;
}

std::vector<int> bound_to() { return processors_of(affinity_of(0).get()); }

/// The processors that some thread of this process may run on.
std::vector<int> of_this_process() {
  const Set allowed = affinity_of(0);
  // Not by std::filesystem, which ends the program where it finds no memory. /proc may not be there.
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(opendir("/proc/self/task"), [](DIR* one) { return closedir(one); });
  for (const dirent* thread; threads && (thread = readdir(threads.get())) != nullptr;)
    if (const int number = std::atoi(thread->d_name); number > 0)
      hwloc_bitmap_or(allowed.get(), allowed.get(), affinity_of(number).get());
  return processors_of(allowed.get());
}

/// The kernel's name for the core of a processor: the list of all that share it.
std::string core_of(int processor) {
  const std::string number = std::to_string(processor);
  std::ifstream file("/sys/devices/system/cpu/cpu" + number + "/topology/thread_siblings_list");
  std::string siblings;
  return std::getline(file, siblings) ? siblings : number;
}

/// The innermost Pinned of this thread: the head of a list by outer_.
constinit thread_local Pinned* innermost = nullptr;

}  // namespace

bool detail::bind_to(const std::vector<int>& processors) {
  const Set set(hwloc_bitmap_alloc());
  for (const int processor : processors) {
    if (processor < 0) return false;  // hwloc would make room for four billion
    hwloc_bitmap_set(set.get(), static_cast<unsigned>(processor));
  }
  return hwloc_linux_set_tid_cpubind(topology(), 0, set.get()) == 0;
}

std::vector<std::vector<int>> usable_cores() {
  const Unpinned unpinned;  // else, if all threads were pinned, only their processors would be found
  std::vector<int> processors = of_this_process();
  std::ranges::stable_sort(processors, {}, [](int processor) {
    const hwloc_obj_t object = object_of(processor);
    return object == nullptr ? UINT_MAX : object->logical_index;
  });
  std::vector<std::vector<int>> cores;
  std::map<std::string, std::size_t> places;
  for (const int processor : processors) {
    const auto [place, is_new] = places.try_emplace(core_of(processor), cores.size());
    if (is_new) cores.emplace_back();
    cores[place->second].push_back(processor);
  }
  return cores;
}

std::vector<std::vector<int>> detail::by_distance(const std::vector<int>& processors) {
  const int workers = static_cast<int>(processors.size());
  std::vector<hwloc_obj_t> objects;
  for (const int processor : processors) objects.push_back(object_of(processor));
  // The deeper the lowest common ancestor of two processors (cache, package), the nearer they are.
  const auto depth = [&](int a, int b) {
    hwloc_obj_t first = objects[static_cast<std::size_t>(a)], second = objects[static_cast<std::size_t>(b)];
    return first == nullptr || second == nullptr ? 0 : hwloc_get_common_ancestor_obj(topology(), first, second)->depth;
  };
  std::vector<std::vector<int>> others;
  for (int worker = 0; worker < workers; ++worker) {
    std::map<int, std::vector<int>, std::greater<>> by_depth;
    for (int step = 1; step < workers;
         ++step) {  // beginning with the next worker, so that not all steal from the same one
      const int other = (worker + step) % workers;
      by_depth[depth(worker, other)].push_back(other);
    }
    auto& list = others.emplace_back();
    for (const auto& [_, as_near] : by_depth) list.insert(list.end(), as_near.begin(), as_near.end());
  }
  return others;
}

Pinned::Pinned(int processor) : outer_(innermost) {
  std::vector<int> before = bound_to();
  if (before != std::vector{processor}) {
    if (!detail::bind_to({processor})) {
      std::string allowed;
      for (const auto& core : usable_cores())
        for (const int one : core) allowed += (allowed.empty() ? "" : ", ") + std::to_string(one);
      throw UsageError("cores: a thread cannot run on processor " + std::to_string(processor) +
                       "; this process may use " + allowed);
    }
    before_ = std::move(before);
  }
  innermost = this;
}

Pinned::~Pinned() {
  Pinned* inner = nullptr;  // a later one that lives longer
  Pinned* pin = innermost;
  for (; pin != nullptr && pin != this; pin = pin->outer_) inner = pin;
  if (pin == this) (inner == nullptr ? innermost : inner->outer_) = outer_;
  if (before_.empty()) return;
  if (pin == this && inner != nullptr)
    inner->before_ = std::move(before_);  // the thread stays where that one has bound it, and returns here after it
  else
    detail::bind_to(before_);
}

Unpinned::Unpinned() {
  const Pinned* outermost = nullptr;
  for (const Pinned* pin = innermost; pin != nullptr; pin = pin->outer_)
    if (!pin->before_.empty()) outermost = pin;
  if (outermost == nullptr) return;
  before_ = bound_to();
  detail::bind_to(outermost->before_);
}

Unpinned::~Unpinned() {
  if (!before_.empty()) detail::bind_to(before_);
}

}  // namespace taskgrain::rt
