#include "taskgrain/rt/detail/forks.hpp"

#include <pthread.h>

#include "taskgrain/rt/detail/worker.hpp"

namespace taskgrain::rt::detail {

void count_forks() noexcept {
  // Fails for lack of memory alone, and then a child hangs where it misuses the runtime.
  [[maybe_unused]] static const int error = pthread_atfork(nullptr, nullptr, [] {
    forks.fetch_add(1, std::memory_order_relaxed);
    Worker::reset_current();
  });
}

}  // namespace taskgrain::rt::detail
