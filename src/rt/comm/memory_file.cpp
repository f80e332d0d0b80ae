#include "comm/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <system_error>

#include "engine/cgroups.hpp"

namespace taskgrain::rt::detail {

namespace {

[[noreturn]] void throw_errno(const std::string& what, int error = errno) {
  throw std::system_error(error, std::system_category(), what);
}

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

std::size_t limit(decltype(RLIMIT_AS) which) noexcept {
  rlimit found{};
  return getrlimit(which, &found) == 0 && found.rlim_cur != RLIM_INFINITY ? found.rlim_cur : no_limit;
}

/// A file with lines of a name and a number.
std::map<std::string, std::size_t> numbers_in(const std::filesystem::path& path) {
  std::map<std::string, std::size_t> found;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name;
    std::size_t number = 0;
    if (fields >> name >> number) found[name] = number;
  }
  return found;
}

std::size_t number_of(const std::map<std::string, std::size_t>& numbers, const char* name, std::size_t otherwise) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? otherwise : found->second;
}

/// A file with one number. "max", or no file, means that there is no limit.
std::size_t number_in(const std::filesystem::path& path, std::size_t otherwise = no_limit) {
  std::size_t number = 0;
  return std::ifstream(path) >> number ? number : otherwise;
}

/// Memory that a cgroup may still get: its limit, less its memory in use other than the page cache; and swap.
/// \param swap  free swap of the host
std::size_t available_in(const std::filesystem::path& folder, bool version_2, std::size_t swap) {
  const std::size_t most = number_in(folder / (version_2 ? "memory.max" : "memory.limit_in_bytes"));
  const std::size_t used = number_in(folder / (version_2 ? "memory.current" : "memory.usage_in_bytes"));
  // In version 1, no limit is a number larger than any memory.
  if (most > no_limit / 4 || used == no_limit) return no_limit;
  const auto parts = numbers_in(folder / "memory.stat");
  const std::size_t files = version_2
                                ? number_of(parts, "inactive_file", 0) + number_of(parts, "active_file", 0)
                                : number_of(parts, "total_inactive_file", 0) + number_of(parts, "total_active_file", 0);
  const std::size_t swap_most = version_2 ? number_in(folder / "memory.swap.max") : no_limit;
  const std::size_t swap_used = version_2 ? number_in(folder / "memory.swap.current", 0) : 0;
  const std::size_t fixed = used - std::min(used, files), swap_left = swap_most - std::min(swap_most, swap_used);
  return most - std::min(most, fixed) + std::min(swap, swap_left);
}

int create() {
  unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  constexpr unsigned int no_exec =
      8;  // MFD_NOEXEC_SEAL: old headers lack it, old kernels refuse it, some hosts demand it
  int made = memfd_create("taskgrain ranks", flags | no_exec);
  if (made < 0 && errno == EINVAL) made = memfd_create("taskgrain ranks", flags);
  return made;
}

}  // namespace

MemoryFile MemoryFile::make(std::size_t bytes) {
  MemoryFile made(create());
  if (!made.descriptor_) {  // a sandbox may refuse memfd_create
    std::string name;
    made = make_named(bytes, name);
    unlink(name);
    return made;
  }
  made.resize(bytes);
  // Sealed: if one process shrank the file, the others would get SIGBUS.
  fcntl(made.descriptor_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return made;
}

MemoryFile MemoryFile::make_named(std::size_t bytes, std::string& name) {
  std::array<unsigned char, 16> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    throw_errno("cannot get random bytes for a name in /dev/shm");
  name = "/taskgrain-";
  for (const unsigned char byte : random)
    for (const int digit : {byte >> 4, byte & 15}) name += "0123456789abcdef"[digit];
  MemoryFile made(shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made.descriptor_) throw_errno("cannot make shared memory, neither with memfd_create nor in /dev/shm");
  try {
    made.resize(bytes);
  } catch (...) {
    unlink(name);
    throw;
  }
  return made;
}

void MemoryFile::unlink(const std::string& name) noexcept { shm_unlink(name.c_str()); }

MemoryFile MemoryFile::open_named(const std::string& name) {
  MemoryFile opened(shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0));
  if (!opened.descriptor_) throw_errno("cannot open the shared memory /dev/shm" + name);
  return opened;
}

MemoryFile MemoryFile::open_of(pid_t process, int descriptor) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
  // The flags matter if it is another file: a terminal, or a pipe, on which open would wait.
  MemoryFile opened(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!opened.descriptor_) throw_errno("cannot open the shared memory " + path);
  return opened;
}

MemoryFile MemoryFile::copy_of(int descriptor) {
  MemoryFile copied(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copied.descriptor_) throw_errno("file descriptor " + std::to_string(descriptor) + " is not open");
  return copied;
}

std::size_t MemoryFile::bytes() const noexcept {
  struct stat found{};
  if (fstat(descriptor_.get(), &found) != 0 || !S_ISREG(found.st_mode)) return 0;
  return static_cast<std::size_t>(found.st_size);
}

void MemoryFile::resize(std::size_t bytes) const {
  const std::string what = "cannot make shared memory of " + std::to_string(bytes) + " bytes";
  // Beyond the limit, ftruncate raises SIGXFSZ.
  if (bytes > limit(RLIMIT_FSIZE)) throw_errno(what + ", because files are limited (ulimit -f)", EFBIG);
  if (ftruncate(descriptor_.get(), static_cast<off_t>(bytes)) != 0) throw_errno(what);
}

void MemoryFile::reserve(std::size_t offset, std::size_t bytes) const {
  const auto fail = [&](int error) {
    throw_errno("cannot reserve " + std::to_string(bytes) + " bytes of shared memory: memory or /dev/shm is short (" +
                    std::to_string(available_memory()) + " bytes of memory are available)",
                error);
  };
  // Check first: fallocate beyond the available memory lets the kernel kill processes.
  if (bytes > available_memory()) fail(ENOMEM);
  // A signal undoes the whole call (EINTR), so each call is short compared with the interval of a profiler's signals.
  constexpr std::size_t at_once = std::size_t(8) << 20;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t part = std::min(at_once, bytes - done);
    if (fallocate(descriptor_.get(), 0, static_cast<off_t>(offset + done), static_cast<off_t>(part)) == 0)
      done += part;
    else if (errno != EINTR)
      fail(errno);
  }
}

std::size_t host_memory() noexcept {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : 0;
}

std::size_t available_memory(const std::filesystem::path& root) {
  const auto host = numbers_in(root / "proc/meminfo");  // in KiB
  const std::size_t swap = number_of(host, "SwapFree:", 0);
  std::size_t least = no_limit;
  if (host.contains("MemAvailable:")) least = (host.at("MemAvailable:") + swap) * 1024;
  for (const bool version_2 : {true, false})
    for (const std::filesystem::path& folder : cgroups(root, "memory", version_2))
      least = std::min(least, available_in(folder, version_2, swap * 1024));
  return least;
}

std::size_t mappable_bytes() noexcept {
  const std::size_t addresses = limit(RLIMIT_AS);
  return std::min(addresses == no_limit ? no_limit : addresses / 2, limit(RLIMIT_FSIZE));
}

}  // namespace taskgrain::rt::detail
