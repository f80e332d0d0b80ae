#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace taskgrain::record {

using Number = std::uint32_t;

/// The order among the children of a task, by OpenMP 5.2, section 15.9.5.
class Siblings {
 public:
  /// The children that one waits for, by a dependence of it. Call it for each, in the order of the program.
  std::vector<Number> before(Number child, std::uint64_t address, std::uint64_t type) {
    std::vector<Number> found;
    const auto wait_for = [&](const std::vector<Number>& others) {
      for (const Number one : others)
        if (one != child) found.push_back(one);
    };
    if (type == out_all_memory || type == inout_all_memory) {
      for (const auto& [_, one] : addresses_) wait_for(one.now);
      wait_for(all_.now);
      addresses_.clear();
      all_ = {type, {}, {child}};
      return found;
    }
    Generation& one = addresses_.try_emplace(address, all_).first->second;
    const auto shared = [](std::uint64_t of) { return of == in || of == inoutset; };
    if (!one.now.empty() && one.now.back() == child) {  // one address, twice: the stricter type counts
      if (!shared(one.type) || one.type == type) return found;
      one.now.pop_back();
      if (one.now.empty()) one.now = std::move(one.before);
    }
    if (one.type != type || !shared(type)) one = {type, std::move(one.now), {}};
    one.now.push_back(child);
    wait_for(one.before);
    return found;
  }

 private:
  /// Children that may run at once as far as one address says, and those before them.
  struct Generation {
    std::uint64_t type = 0;
    std::vector<Number> before, now;
  };
  static constexpr std::uint64_t in = 1, inoutset = 7, out_all_memory = 34, inout_all_memory = 35;

  std::unordered_map<std::uint64_t, Generation> addresses_;
  Generation all_;  ///< Of addresses that are not there: after `omp_all_memory`.
};

}  // namespace taskgrain::record
