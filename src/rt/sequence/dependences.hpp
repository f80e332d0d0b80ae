#pragma once

/// Finds the earlier tasks that a task comes after, from what they use. Tasks have ascending numbers, from 1.
///
/// The tasks that use one piece of data fall into groups, one after the other. Those of a group do not exclude each
/// other: readers, parts of one sum, tasks that commute, or one task that writes. For each piece of data:
///   each task of `group` comes after all of `before`, which come after all that used it before
/// A task that joins a group comes after `before`, and one that does not comes after the group, and begins the next.
/// Of data that overlaps, a reader comes after the last that wrote, and any other after all of the last group.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/registry.hpp"

namespace taskgrain::rt::detail {

/// Some tasks, most of which were given shortly before the last of them, and so are bits.
struct Group {
  std::uint64_t last = 0;     // of them; 0: there is none
  std::uint64_t near = 0;     // bit k: the task given k tasks before the last is one of them
  std::uint64_t earlier = 0;  // bit k: that task ends before one of them begins

  static constexpr std::uint64_t reach = 63;  // bits further back than the last

  /// True if bits are lost, seen from a later task.
  bool reaches_too_far(std::uint64_t number) const noexcept {
    const std::uint64_t by = number - last;
    return by > reach || near >> (reach + 1 - by) != 0;
  }
  /// Calls `each` with those that are bits, in their order.
  template <typename Each>
  void each_near(const Each& each) const {
    each_of(near, each);
  }
  /// Calls `each` with those whose bits are lost, seen from a later task.
  template <typename Each>
  void each_lost(std::uint64_t number, const Each& each) const {
    const std::uint64_t by = number - last;
    each_of(by > reach ? near : near & ~std::uint64_t{0} << (reach + 1 - by), each);
  }

 private:
  template <typename Each>
  void each_of(std::uint64_t bits, const Each& each) const {
    while (bits != 0) {
      const auto k = static_cast<unsigned>(std::bit_width(bits)) - 1;
      bits ^= std::uint64_t{1} << k;
      each(last - k);
    }
  }
};

/// A group, and those of it that lie further back; null: there are none.
struct WholeGroup {
  const Group& group;
  const std::vector<std::uint64_t>* far;

  template <typename Each>
  void each(const Each& each) const {
    if (far != nullptr) std::ranges::for_each(*far, each);
    group.each_near(each);
  }
};

class Dependences {
 public:
  explicit Dependences(const DataRegistry& registry) : registry_(registry) {}

  // A task is entered in two steps, so that one for which there is no memory leaves nothing behind: then those after it
  // would come after it alone.

  /// Finds the tasks that one with these accesses comes after, and makes room for it. \pre no piece of data is named
  /// twice
  /// \param ended   ended(number) is whether nothing needs to come after that task any more
  /// \param follow  is called with each group that it comes after; some tasks have ended, some come twice
  template <typename Ended, typename Follow>
  void find(std::uint64_t number, std::span<const Access> accesses, const Ended& ended, const Follow& follow) {
    if (states_.size() < registry_.size()) states_.resize(registry_.size());
    for (const Access& access : accesses) {
      State& state = states_[access.index];
      const bool joining = joins(state, access.mode);
      if (joining && state.group.reaches_too_far(number)) [[unlikely]]
        make_room(state.far, ended);
      follow(joining ? state.whole_before() : state.whole());
      for (const std::uint32_t other : registry_[access.index].overlaps) {
        const State& of = states_[other];
        follow(access.mode == Mode::read && of.mode == Mode::read ? of.whole_before() : of.whole());
      }
    }
  }
  /// Enters it. \pre `find` was called with these accesses, and nothing was entered since
  /// \param earlier  bit k: the task given k tasks before it ends before it begins
  void enter(std::uint64_t number, std::span<const Access> accesses, std::uint64_t earlier) noexcept {
    for (const Access& access : accesses) {
      State& state = states_[access.index];
      if (joins(state, access.mode)) {
        if (state.group.reaches_too_far(number)) [[unlikely]]
          keep_far(state, number);
        const std::uint64_t by = number - state.group.last;
        const bool all_far = by > Group::reach;
        state.group = {number, (all_far ? 0 : state.group.near << by) | 1,
                       (all_far ? 0 : state.group.earlier << by) | earlier};
      } else {
        state.mode = access.mode;
        state.before = state.group;
        state.group = {number, 1, earlier};
        if (state.any_far) [[unlikely]]
          state.begin_far();
      }
    }
  }
  /// Calls `each` with the tasks that use the data last, or what overlaps it: all others come before these.
  template <typename Each>
  void each_last(std::uint32_t index, const Each& each) const {
    each_own(index, each);
    for (const std::uint32_t other : registry_[index].overlaps)
      if (other < states_.size()) states_[other].whole().each(each);
  }
  /// Calls `each` with the tasks that use the data itself last.
  template <typename Each>
  void each_own(std::uint32_t index, const Each& each) const {
    if (index < states_.size()) states_[index].whole().each(each);
  }
  void forget(std::uint32_t index) noexcept {
    if (index < states_.size()) states_[index] = State{};
  }
  void clear() noexcept { states_.clear(); }

 private:
  struct alignas(64) State {
    Mode mode = Mode::write;
    bool any_far = false;  // one of the lists is not empty
    Group group, before;
    // A cache line for what is not far, and another:
    std::vector<std::uint64_t> far, far_before;  // of the group, and of the one before it

    WholeGroup whole() const noexcept { return {group, any_far ? &far : nullptr}; }
    WholeGroup whole_before() const noexcept { return {before, any_far ? &far_before : nullptr}; }
    void begin_far() noexcept {
      far.swap(far_before);
      far.clear();
      any_far = !far_before.empty();
    }
  };

  /// Makes room for all that are near.
  template <typename Ended>
  [[gnu::noinline]] static void make_room(std::vector<std::uint64_t>& far, const Ended& ended) {
    constexpr std::size_t most = Group::reach + 1;
    if (far.capacity() - far.size() >= most) return;
    std::erase_if(far, ended);
    if (far.capacity() - far.size() < std::max(most, far.size())) far.reserve(2 * far.size() + most);
  }
  /// \pre there is room
  [[gnu::noinline]] static void keep_far(State& state, std::uint64_t number) noexcept {
    state.group.each_lost(number, [&](std::uint64_t one) {
      if (state.far.size() == state.far.capacity()) __builtin_unreachable();
      state.far.push_back(one);
    });
    state.any_far = state.any_far || !state.far.empty();
  }
  static bool joins(const State& state, Mode mode) noexcept {
    return state.mode == mode && (mode == Mode::read || mode == Mode::commutative || mode == Mode::reduce);
  }

  const DataRegistry& registry_;
  std::vector<State> states_;  // by the index of the data
};

}  // namespace taskgrain::rt::detail
