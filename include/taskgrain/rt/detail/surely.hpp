#pragma once

/// Calls that must not fail for lack of memory: messages that start, stop or end what others wait for. Nobody could be
/// told, and those who wait would wait for ever.

#include <chrono>
#include <new>
#include <thread>

namespace taskgrain::rt::detail {

[[gnu::cold, gnu::noinline]] inline void wait_for_memory() noexcept {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Calls `call` again while there is no memory, until there is some.
/// \pre a call that finds none has changed nothing
template <typename Call>
auto surely(const Call& call) {
  for (;;) {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      wait_for_memory();
    }
  }
}

}  // namespace taskgrain::rt::detail
