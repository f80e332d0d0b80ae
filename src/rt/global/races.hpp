#pragma once

/// Finds two uses of an element, between two fences, of which one writes, by different ranks or different calls of the
/// body of a loop.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <source_location>
#include <string>
#include <vector>

#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/detail/global_memory.hpp"

namespace taskgrain::rt::detail {

class Races {
 public:
  struct Use;

  /// Keeps a use. Any thread of the rank calls it.
  void note(const GlobalStorage& storage, std::size_t first, std::size_t count, Mode mode,
            const std::source_location& where);
  /// Looks for races among the uses of all ranks, and forgets them. All ranks call it, when all uses have ended.
  /// \returns the first race by element, the same on all; empty: there is none
  std::string look(Communicator* comm);

  /// Begins or ends to note uses.
  void look(bool looks) noexcept { looks_.store(looks); }

 private:
  // GlobalForks writes it, false in `begin` and true in `leave`, in the thread of the program and while no call of the
  // run uses elements. Other threads get their calls from that thread afterwards, so `note` needs no order of its own.
  std::atomic<bool> looks_{true};
  std::mutex mutex_;  // protects the uses
  std::vector<Use> uses_;
};

struct Races::Use {
  std::uint64_t array;
  std::uint32_t line;
  std::size_t first, count;
  std::uint64_t strand;
  bool writes;
  std::string name, file;

  std::string text(std::size_t rank) const;
};

}  // namespace taskgrain::rt::detail
