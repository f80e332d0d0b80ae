#pragma once

/// Gives out pieces of this rank's arena, which the other ranks of the host can read and write.

#include <cstddef>
#include <map>
#include <mutex>
#include <span>

#include "segment.hpp"
#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt::detail {

class Arena final : public SharedMemory {
 public:
  explicit Arena(Segment& segment) : segment_(segment), memory_(segment.arena(segment.rank())) {
    free_.emplace(0, memory_.size());
  }

  /// First fit, in steps of `apart`. \throws std::system_error with the number of bytes, if there is no memory;
  /// std::system_error if the arena is used up
  std::byte* allocate(std::size_t bytes) override;
  void release(const std::byte* piece) noexcept override;
  std::size_t offset(const std::byte* piece) const noexcept override {
    return static_cast<std::size_t>(piece - memory_.data());
  }
  std::byte* at(int rank, std::size_t offset) const noexcept override { return segment_.arena(rank).data() + offset; }
  /// Where bytes lie in the arena; SIZE_MAX if they lie elsewhere.
  std::size_t find(std::span<const std::byte> bytes) const noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data()),
               at = reinterpret_cast<std::uintptr_t>(bytes.data());
    return at >= begin && at + bytes.size() <= begin + memory_.size() ? at - begin : SIZE_MAX;
  }

 private:
  Segment& segment_;
  const std::span<std::byte> memory_;
  std::mutex mutex_;                                // protects the members below
  std::map<std::size_t, std::size_t> free_, used_;  // sizes by offset
  std::size_t reserved_ = 0;                        // bytes from the beginning whose pages there are
};

}  // namespace taskgrain::rt::detail
