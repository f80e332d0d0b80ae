#pragma once

/// Shared memory as anonymous files (memfd), and how much memory there is.

#include <sys/types.h>

#include <unistd.h>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>

namespace taskgrain::rt::detail {

/// A file descriptor that the destructor closes.
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

/// A file of shared memory. Its descriptor has O_CLOEXEC.
class MemoryFile {
 public:
  MemoryFile() = default;
  /// A new file of zeros. Its pages are not reserved. \throws std::system_error
  static MemoryFile make(std::size_t bytes);
  /// Makes one as `make` does, but in /dev/shm under a random name, which stays there until `unlink`.
  /// \throws std::system_error
  static MemoryFile make_named(std::size_t bytes, std::string& name);
  static void unlink(const std::string& name) noexcept;
  /// Opens a file of make_named. \throws std::system_error
  static MemoryFile open_named(const std::string& name);
  /// Opens a descriptor of another process. In another PID namespace that may be any file: check what it contains.
  /// \throws std::system_error
  static MemoryFile open_of(pid_t process, int descriptor);
  /// A duplicate of a descriptor. \throws std::system_error  it is not open
  static MemoryFile copy_of(int descriptor);

  int descriptor() const noexcept { return descriptor_.get(); }
  /// The caller closes it.
  int release() noexcept { return descriptor_.release(); }
  /// Its size; 0 if it is no regular file.
  std::size_t bytes() const noexcept;
  /// Reserves the pages (fallocate), so that no later access ends with SIGBUS for lack of memory.
  /// \throws std::system_error with the number of bytes
  void reserve(std::size_t offset, std::size_t bytes) const;

 private:
  explicit MemoryFile(int descriptor) noexcept : descriptor_(descriptor) {}
  void resize(std::size_t bytes) const;

  FileDescriptor descriptor_;
};

/// The memory of the host, in bytes.
std::size_t host_memory() noexcept;
/// Memory that this process can get while no other process loses any, by /proc/meminfo and the limits of its cgroups
/// (a container). The largest number if the kernel does not say.
/// \param root  a folder instead of /, for tests
std::size_t available_memory(const std::filesystem::path& root = "/");
/// The largest file that this process may make and map: the limit of files, and half of that of its address space.
std::size_t mappable_bytes() noexcept;

}  // namespace taskgrain::rt::detail
