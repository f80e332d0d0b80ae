#pragma once

/// The packets that a messenger sends beside the messages of the user.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt::detail {

/// Control messages: packets of the runtime itself. Kinds of users have lower numbers.
struct Control {
  enum Kind : std::uint32_t {
    first = 0xffffff00,
    declare = first,  ///< the number of a kind, and its text to compare
    termination,      ///< a TerminationMessage
    failure,          ///< the rank that has failed, and the reason
    departure,        ///< the sender ends its communicator: a Departure
    exchange_part,    ///< an ExchangeHead, the call, and the bytes for this rank
    long_message,     ///< the head of a large packet whose body is a packet that is too long to be a small one
  };
};

/// A large packet in flight: the token of Transport, on the sender until `reusable`, on the receiver until `arrived`.
struct Large {
  std::uint32_t kind;
  std::vector<std::byte> head, body;  // body: empty if it lies in memory of the user or in the arena
  const std::byte* piece = nullptr;   // of the arena, for `reusable` to release; null if there is none
  bool placed = false;                // the kind's `place` was called, and its memory gets the body
  int to = -1;                        // sender: the receiving rank
  std::size_t queued = 0;             // sender: its bytes among those that wait for `to`
};

/// The state of a rank when it ended its communicator.
struct Departure {
  std::uint64_t waits, exchanges;  // that it has completed
  PersistentCounts persistent;     // between it and the receiver
};

/// The beginning of `exchange_part`; then follow the text of the call, and the bytes.
struct ExchangeHead {
  std::uint64_t number;  ///< of the exchange, from 0
  std::uint64_t waits;   ///< how many waits for all ranks the sender had begun
  std::uint64_t call;    ///< length of the text
};
struct ExchangePart {
  std::string call;
  std::vector<std::byte> bytes;
};
using ExchangeParts = std::map<int, ExchangePart>;  // by rank

}  // namespace taskgrain::rt::detail
