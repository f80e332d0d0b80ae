#include "taskgrain/rt/serialize.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "taskgrain/rt/detail/messages.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt {

namespace {

/// The size from which on writing into the arena, where the receiver reads, is cheaper than copying into a ring and out
/// of it.
constexpr std::size_t least_shared = 32768;
constexpr std::align_val_t alignment{16};

}  // namespace

void Writer::grow(std::size_t bytes) {
  const std::size_t capacity = std::max(2 * capacity_, size_ + bytes);
  std::byte* larger = nullptr;
  if (memory_ != nullptr && capacity >= least_shared) {
    try {
      larger = memory_->allocate(capacity);
    } catch (const std::exception&) {  // the arena is used up: use the heap
    }
  }
  const bool shared = larger != nullptr;
  if (!shared) larger = static_cast<std::byte*>(::operator new(capacity, alignment));
  std::memcpy(larger, data_, size_);
  if (data_ != own_) release();
  data_ = larger;
  capacity_ = capacity;
  is_shared_ = shared;
}

void Reader::too_few(std::size_t wanted) const {
  throw UsageError("a message of " + std::to_string(end_ - begin_) + " bytes ends before its argument, which takes " +
                   std::to_string(wanted) + " more at " + std::to_string(at_ - begin_) +
                   "; a Serializer reads what it has written");
}

void Writer::release() noexcept {
  if (is_shared_)
    memory_->release(data_);
  else
    ::operator delete(data_, alignment);
}

}  // namespace taskgrain::rt
