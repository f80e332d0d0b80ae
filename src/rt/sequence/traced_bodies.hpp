#pragma once

/// The bodies that loops and traces of a sequence have had, and their graphs.
///
/// Of each list the last is expected next. A list has at most 8, and there are at most so many lists as SequenceOptions
/// says. What is forgotten for that has ended, because a graph that runs must be found, to be stopped. All ranks forget
/// the same.

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "sequence/body.hpp"
#include "sequence/window.hpp"

namespace taskgrain::rt::detail {

class TracedBodies {
 public:
  /// \param most_traces  numbers of traces that are known
  TracedBodies(Window& window, std::size_t most_traces, bool across_ranks) noexcept
      : window_(window), most_traces_(most_traces), across_ranks_(across_ranks) {}

  std::vector<Traced>& loops() noexcept { return loops_; }
  std::vector<Traced>& automatic() noexcept { return automatic_; }
  /// The bodies of a trace of this number. \throws as Sequence::wait
  std::vector<Traced>& of_trace(std::uint64_t id);
  /// The one that is like this body; if there is none, a new one, in place of the one that was not used for longest
  /// where there are many. From then on it is the last. \throws as Sequence::wait
  Traced& like(std::vector<Traced>& shapes, const Body& body);
  template <typename Each>
  void each(const Each& each) {
    std::ranges::for_each(loops_, each);
    for (auto& [id, known] : traces_) std::ranges::for_each(known.shapes, each);
    std::ranges::for_each(automatic_, each);
  }

 private:
  struct Shapes {
    std::vector<Traced> shapes;
    std::uint64_t call = 0;  // the last
  };

  Window& window_;
  const std::size_t most_traces_;
  const bool across_ranks_;
  std::vector<Traced> loops_, automatic_;
  std::map<std::uint64_t, Shapes> traces_;  // by number
  std::uint64_t calls_ = 0;
};

}  // namespace taskgrain::rt::detail
