/// The memory and the file of one worker's kernels.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "taskgrain/kernel.hpp"

namespace taskgrain {

void Scratch::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

Scratch::~Scratch() {
  if (file_ >= 0) close(file_);
}
Scratch::Scratch(Scratch&& other) noexcept
    : memory_(std::move(other.memory_)), memory_bytes_(std::exchange(other.memory_bytes_, 0)),
      file_bytes_(std::exchange(other.file_bytes_, 0)), file_(std::exchange(other.file_, -1)) {}
Scratch& Scratch::operator=(Scratch&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(memory_bytes_, other.memory_bytes_);
  std::swap(file_bytes_, other.file_bytes_);
  std::swap(file_, other.file_);
  return *this;
}

std::byte* Scratch::memory(std::size_t bytes) {
  if (memory_bytes_ < bytes) {
    constexpr std::size_t line = 64;
    const std::size_t rounded = (bytes + line - 1) / line * line;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(line, rounded)));
    if (!memory_) throw std::bad_alloc();
    std::fill_n(reinterpret_cast<double*>(memory_.get()), rounded / sizeof(double), 0.5);
    memory_bytes_ = rounded;
  }
  return memory_.get();
}

int Scratch::file(std::size_t bytes) {
  if (file_ < 0) {
    const char* folder = std::getenv("TMPDIR");
    std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/taskgrain-XXXXXX";
    file_ = mkstemp(path.data());
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), "io_bound: cannot make a file at " + path);
    unlink(path.c_str());
  }
  if (file_bytes_ < bytes) {
    if (ftruncate(file_, static_cast<off_t>(bytes)) != 0)
      throw std::system_error(errno, std::generic_category(), "io_bound: cannot size the file");
    file_bytes_ = bytes;
  }
  return file_;
}

}  // namespace taskgrain
