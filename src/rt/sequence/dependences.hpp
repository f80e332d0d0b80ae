#pragma once

/// Which earlier tasks a task comes after, from what they use. Tasks have ascending numbers.
///
/// The tasks that use one piece of data fall into groups, one after the other. Those of a group do not exclude each
/// other: readers, parts of one sum, tasks that commute, or one task that writes. For each piece of data:
///   each task of `group` comes after all of `before`, which come after all that used it before
/// A task that joins a group comes after `before`, and one that does not comes after the group, and begins the next.
/// Of data that overlaps, a reader comes after the last that wrote, and any other after all of the last group.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sequence/registry.hpp"

namespace taskgrain::rt::detail {

class Dependences {
 public:
  explicit Dependences(const DataRegistry& registry) : registry_(registry) {}

  // A task is entered in two steps, so that one for which there is no memory leaves nothing behind: then those after it
  // would come after it alone.

  /// Finds the tasks that one with these accesses comes after, and makes room for it. \pre no piece of data is named
  /// twice
  /// \param ended   ended(number) is whether nothing needs to come after that task any more
  /// \param follow  is called with each task that it comes after; some have ended, some come twice
  template <typename Ended, typename Follow>
  void find(std::span<const Access> accesses, const Ended& ended, const Follow& follow) {
    if (states_.size() < registry_.size()) states_.resize(registry_.size());
    for (const Access& access : accesses) {
      State& state = states_[access.index];
      const bool joining = joins(state, access.mode);
      if (joining ? state.group.size() == state.group.capacity() : state.before.capacity() == 0) [[unlikely]]
        make_room(state, joining, ended);
      for (const std::uint64_t other : joining ? state.before : state.group) follow(other);
      for (const std::uint32_t other : registry_[access.index].overlaps)
        each_before(states_[other], access.mode, follow);
    }
  }
  /// Enters it. \pre `find` was called with these accesses, and nothing was entered since
  void enter(std::uint64_t number, std::span<const Access> accesses) noexcept {
    for (const Access& access : accesses) {
      State& state = states_[access.index];
      if (!joins(state, access.mode)) {
        state.before.swap(state.group);
        state.group.clear();
        state.mode = access.mode;
      }
      if (state.group.size() == state.group.capacity()) __builtin_unreachable();  // `find` has made room
      state.group.push_back(number);
    }
  }
  /// Calls `each` with the tasks that use the data last, or what overlaps it: all others come before these.
  template <typename Each>
  void each_last(std::uint32_t index, const Each& each) const {
    each_own(index, each);
    for (const std::uint32_t other : registry_[index].overlaps)
      if (other < states_.size()) std::ranges::for_each(states_[other].group, each);
  }
  /// Calls `each` with the tasks that use the data itself last.
  template <typename Each>
  void each_own(std::uint32_t index, const Each& each) const {
    if (index < states_.size()) std::ranges::for_each(states_[index].group, each);
  }
  void forget(std::uint32_t index) noexcept {
    if (index < states_.size()) states_[index] = State{};
  }
  void clear() noexcept { states_.clear(); }

 private:
  struct State {
    Mode mode = Mode::write;
    std::vector<std::uint64_t> before, group;
  };

  template <typename Ended>
  [[gnu::noinline]] static void make_room(State& state, bool joining, const Ended& ended) {
    if (!joining) return state.before.reserve(1);
    std::erase_if(state.group, ended);
    if (state.group.size() > state.group.capacity() / 2) state.group.reserve(2 * state.group.capacity());
  }
  static bool joins(const State& state, Mode mode) noexcept {
    return state.mode == mode && (mode == Mode::read || mode == Mode::commutative || mode == Mode::reduce);
  }
  template <typename Follow>
  static void each_before(const State& state, Mode mode, const Follow& follow) {
    for (const std::uint64_t other : mode == Mode::read && state.mode == Mode::read ? state.before : state.group)
      follow(other);
  }

  const DataRegistry& registry_;
  std::vector<State> states_;  // by the index of the data
};

}  // namespace taskgrain::rt::detail
