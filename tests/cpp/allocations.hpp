#pragma once

#include <cstdint>

namespace taskgrain {

/// How often the calling thread has called `operator new`.
std::int64_t allocations() noexcept;
/// The next allocation of the calling thread fails.
void refuse_next_allocation() noexcept;

}  // namespace taskgrain
