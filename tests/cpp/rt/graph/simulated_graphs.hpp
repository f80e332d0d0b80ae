#pragma once

/// Compiled graphs across ranks that use the real compiler, RankEdges and Messenger over a simulated transport, all in
/// one thread. A seed draws the graphs and decides what happens next: which worker of which rank goes on, and what
/// arrives. The workers here go through their programs as in_order.cpp does.

#include <cstdint>
#include <string>

namespace taskgrain::rt {

/// \returns what is violated, if anything
std::string run_graphs(std::uint64_t seed);

}  // namespace taskgrain::rt
