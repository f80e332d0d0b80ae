#pragma once

/// The reductions of a sequence that are open: the sums to which the next task may add a part.
///
/// At most one is open at each piece of data, and none at two pieces that overlap. One is open from the task that gives
/// its first part until the task is given that adds the parts.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sequence/registry.hpp"

namespace taskgrain::rt::detail {

class OpenReductions {
 public:
  using Fold = void (*)(void* sum);
  struct Reduction {
    Fold fold;  // also its kind
    const void* target;
    std::shared_ptr<void> sum;
    std::uint64_t opened;         // how many were opened until then
    std::vector<Access> parts{};  // across ranks
  };
  using Node = std::map<std::uint32_t, Reduction>::node_type;

  bool empty() const noexcept { return open_.empty(); }
  bool contains(std::uint32_t index) const { return open_.contains(index); }
  /// \returns null if none is open there
  const Reduction* find(std::uint32_t index) const {
    const auto found = open_.find(index);
    return found == open_.end() ? nullptr : &found->second;
  }
  void open(std::uint32_t index, Fold kind, const void* target, std::shared_ptr<void> sum) {
    open_.insert_or_assign(index, Reduction{kind, target, std::move(sum), ++opened_});
  }
  void add_part(std::uint32_t index, const Access& part) { open_.at(index).parts.push_back(part); }
  const Access& last_part(std::uint32_t index) const { return open_.at(index).parts.back(); }
  /// The reductions that are chosen, in the order in which they were opened. All ranks have this order, but each has
  /// its own indices and addresses.
  template <typename Chosen>
  std::vector<std::uint32_t> in_order(const Chosen& chosen) const {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> found;
    for (const auto& [index, one] : open_)
      if (chosen(index)) found.emplace_back(one.opened, index);
    std::ranges::sort(found);
    std::vector<std::uint32_t> indices;
    for (const auto& [opened, index] : found) indices.push_back(index);
    return indices;
  }
  Node extract(std::uint32_t index) { return open_.extract(index); }
  void insert(Node&& node) { open_.insert(std::move(node)); }
  void clear() noexcept { open_.clear(); }

  /// Keeps the sum of a reduction that was dropped, until the tasks that write its parts have ended.
  void keep(const std::shared_ptr<void>& sum) { dropped_.push_back(sum); }
  /// \pre these tasks have ended
  void forget_dropped() noexcept { dropped_.clear(); }

 private:
  std::map<std::uint32_t, Reduction> open_;  // by the index of the data
  std::uint64_t opened_ = 0;
  std::vector<std::shared_ptr<void>> dropped_;
};

}  // namespace taskgrain::rt::detail
