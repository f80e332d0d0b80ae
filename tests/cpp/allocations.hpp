#pragma once

#include <cstdint>

namespace taskgrain {

/// How often the calling thread has called `operator new`.
std::int64_t allocations() noexcept;

}  // namespace taskgrain
