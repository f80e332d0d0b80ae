#include "taskgrain/rt/cores.hpp"

#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
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

/// The topology of this machine, loaded once. Never destroyed, because a static runtime may outlive other statics.
hwloc_topology_t topology() {
  static const hwloc_topology_t found = [] {
    hwloc_topology_t made = nullptr;
    hwloc_topology_init(&made);
    hwloc_topology_load(made);
    if (hwloc_topology_is_thissystem(made) != 0) return made;
    // With the topology of another machine, hwloc binds nothing and reports success.
    std::fputs(
        "taskgrain: HWLOC_XMLFILE, HWLOC_SYNTHETIC or another variable of hwloc describes another machine; "
        "it is ignored, and each processor counts as a core\n",
        stderr);
    hwloc_topology_destroy(made);
    hwloc_topology_init(&made);
    hwloc_topology_set_synthetic(made, ("pu:" + std::to_string(sysconf(_SC_NPROCESSORS_CONF))).c_str());
    hwloc_topology_set_flags(made, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
    hwloc_topology_load(made);
    return made;
  }();
  return found;
}

std::vector<int> processors_of(hwloc_const_bitmap_t set) {
  std::vector<int> processors;
  for (int processor = hwloc_bitmap_first(set); processor >= 0; processor = hwloc_bitmap_next(set, processor))
    processors.push_back(processor);
  return processors;
}

bool bind_to(const std::vector<int>& processors) {
  const Set set(hwloc_bitmap_alloc());
  for (const int processor : processors) hwloc_bitmap_set(set.get(), static_cast<unsigned>(processor));
  return hwloc_set_cpubind(topology(), set.get(), HWLOC_CPUBIND_THREAD) == 0;
}

std::vector<int> bound_to() {
  const Set set(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology(), set.get(), HWLOC_CPUBIND_THREAD) != 0) return {};
  return processors_of(set.get());
}

/// The innermost Pinned of this thread: the head of a list by outer_.
constinit thread_local Pinned* innermost = nullptr;

}  // namespace

std::vector<std::vector<int>> usable_cores() {
  const Unpinned unpinned;  // else, if all threads were pinned, only their processors would be found
  const Set allowed(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology(), allowed.get(), HWLOC_CPUBIND_PROCESS) != 0)
    hwloc_bitmap_copy(allowed.get(), hwloc_topology_get_allowed_cpuset(topology()));
  std::vector<std::vector<int>> by_core;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology(), HWLOC_OBJ_CORE, core)) != nullptr;) {
    const Set of_core(hwloc_bitmap_dup(core->cpuset));
    hwloc_bitmap_and(of_core.get(), of_core.get(), allowed.get());
    by_core.push_back(processors_of(of_core.get()));
  }
  std::erase_if(by_core, [](const auto& core) { return core.empty(); });
  if (by_core.empty())  // the topology has no cores
    for (const int processor : processors_of(allowed.get())) by_core.push_back({processor});
  return by_core;
}

std::vector<std::vector<int>> detail::by_distance(const std::vector<int>& processors) {
  const int workers = static_cast<int>(processors.size());
  std::vector<hwloc_obj_t> objects;
  for (const int processor : processors)
    objects.push_back(hwloc_get_pu_obj_by_os_index(topology(), static_cast<unsigned>(processor)));
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
    if (!bind_to({processor})) {
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
    bind_to(before_);
}

Unpinned::Unpinned() {
  const Pinned* outermost = nullptr;
  for (const Pinned* pin = innermost; pin != nullptr; pin = pin->outer_)
    if (!pin->before_.empty()) outermost = pin;
  if (outermost == nullptr) return;
  before_ = bound_to();
  bind_to(outermost->before_);
}

Unpinned::~Unpinned() {
  if (!before_.empty()) bind_to(before_);
}

}  // namespace taskgrain::rt
