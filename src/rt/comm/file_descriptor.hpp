#pragma once

#include <unistd.h>

#include <utility>

namespace taskgrain::rt::detail {

/// An open file, which is closed in the end.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) noexcept : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() { reset(); }

  explicit operator bool() const noexcept { return number_ >= 0; }
  int get() const noexcept { return number_; }
  /// The caller closes it.
  int release() noexcept { return std::exchange(number_, -1); }
  void reset() noexcept {
    if (number_ >= 0) close(release());
  }

 private:
  int number_ = -1;
};

}  // namespace taskgrain::rt::detail
