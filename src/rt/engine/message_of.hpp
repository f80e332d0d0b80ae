#pragma once

/// What an exception says.

#include <exception>

namespace taskgrain::rt::detail {

/// `what()` of a user's exception may be null.
inline const char* message_of(const std::exception& error) noexcept {
  const char* const what = error.what();
  return what == nullptr ? "an exception without a message" : what;
}

}  // namespace taskgrain::rt::detail
