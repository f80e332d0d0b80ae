#pragma once

/// Files that are memory, and have no name.

#include <sys/types.h>

#include <unistd.h>
#include <cstddef>
#include <filesystem>
#include <string>
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

/// A file descriptor, which is closed when a child starts another program.
class MemoryFile {
 public:
  MemoryFile() = default;
  /// A new one of `bytes` zeros, none of which has a page. \throws std::system_error
  static MemoryFile make(std::size_t bytes);
  /// The same in /dev/shm, under a name that nobody can guess. Processes that end before `unlink` leave it there.
  /// \throws std::system_error
  static MemoryFile make_named(std::size_t bytes, std::string& name);
  static void unlink(const std::string& name) noexcept;
  /// Opens what make_named has made. \throws std::system_error
  static MemoryFile open_named(const std::string& name);
  /// Opens a file of another process. It may be any file, if that process has another number here.
  /// \throws std::system_error
  static MemoryFile open_of(pid_t process, int descriptor);
  /// Another descriptor of a file. \throws std::system_error  it is none
  static MemoryFile copy_of(int descriptor);

  int descriptor() const noexcept { return descriptor_.get(); }
  /// The caller closes it.
  int release() noexcept { return descriptor_.release(); }
  /// 0 if it is not a file.
  std::size_t bytes() const noexcept;
  /// Gets the pages, so that no access to them ends with a signal because there is no memory.
  /// \throws std::system_error with the number of bytes
  void reserve(std::size_t offset, std::size_t bytes) const;

 private:
  explicit MemoryFile(int descriptor) noexcept : descriptor_(descriptor) {}
  void resize(std::size_t bytes) const;

  FileDescriptor descriptor_;
};

/// Memory that the host has.
std::size_t host_memory() noexcept;
/// Memory that this process can have without taking it from another, here and in its cgroups (the limits of a
/// container); the most there is if the kernel does not say.
/// \param root  folder that takes the place of /, with proc and what is mounted
std::size_t available_memory(const std::filesystem::path& root = "/");
/// How large a file this process may make and map, and still have as much address space for the rest.
std::size_t mappable_bytes() noexcept;

}  // namespace taskgrain::rt::detail
