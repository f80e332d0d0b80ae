#pragma once

#include <cstdint>

namespace taskgrain {

/// How often the calling thread has called `operator new`.
std::int64_t allocations() noexcept;
/// The next allocation of the calling thread fails.
void refuse_next_allocation() noexcept;
/// Of all threads, the allocation after so many others fails. Negative: none does.
void refuse_allocation(std::int64_t after) noexcept;
/// Whether that one has come.
bool has_refused_allocation() noexcept;

}  // namespace taskgrain
