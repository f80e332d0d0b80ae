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

  /// By any thread of the rank.
  void note(const GlobalStorage& storage, std::size_t first, std::size_t count, Mode mode,
            const std::source_location& where);
  /// By all ranks, when all uses have ended. \returns the first race by element, the same on all; empty: there is none
  std::string look(Communicator* comm);

  /// Whether uses are noted.
  void look(bool looks) noexcept { looks_.store(looks); }

 private:
  std::atomic<bool> looks_{true};
  std::mutex mutex_;
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
