#pragma once

/// Includes Itoyori so that two of its programs can live on one machine.
///
/// Itoyori gives its shared memory the same names in every program: a second one would take the memory of the first.
/// And what is killed leaves it behind. Here the names are those of one job, and are gone once all its ranks know the
/// memory.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <string>
#include <vector>

namespace shared_memory {

inline std::string job;  ///< the same on all ranks
inline std::vector<std::string> created;

inline int open(const char* name, int flags, mode_t mode) {
  const std::string own = name + ("." + job);
  if ((flags & O_CREAT) != 0) created.push_back(own);
  return ::shm_open(own.c_str(), flags, mode);
}
/// \pre all ranks have opened what there is
inline void forget_names() {
  for (const std::string& name : created) ::shm_unlink(name.c_str());
  created.clear();
}
/// Bytes that still fit.
inline std::size_t free_bytes() {
  struct statvfs found{};
  return statvfs("/dev/shm", &found) == 0 ? std::size_t{found.f_bavail} * found.f_frsize : 0;
}

}  // namespace shared_memory

#include <ityr/common/util.hpp>
// It insists on windows that begin at a cache line, which Open MPI does not grant and nothing needs.
#undef ITYR_REQUIRE
#define ITYR_REQUIRE(condition)
#define shm_open shared_memory::open
#define shm_unlink(name) 0
#include <ityr/ityr.hpp>
#undef shm_open
#undef shm_unlink
