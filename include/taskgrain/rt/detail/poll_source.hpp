#pragma once

/// What a worker polls, and asks once more before it sleeps: the mailboxes of its peers, and the list that threads
/// outside write. A rank or a device that has messages for workers is one source more.

#include <concepts>

#include "taskgrain/rt/detail/entry.hpp"

namespace taskgrain::rt::detail {

/// Who puts something into a source wakes the worker after that (Sleeper), unless this one is awake.
template <typename S>
concept PollSource = requires(S source, const S& seen, void (*deliver)(const Entry&)) {
  /// Whether nothing is there. A look costs the same however many can write.
  { seen.empty() } noexcept -> std::same_as<bool>;
  /// Takes what is there: calls `deliver(entry)` for each.
  source.take(deliver);
};

}  // namespace taskgrain::rt::detail
