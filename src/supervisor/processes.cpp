#include "processes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <unordered_map>

namespace taskgrain {

namespace {

namespace fs = std::filesystem;

/// The numbers that name entries of a folder of /proc: processes, or the threads of one; none if it is gone.
std::vector<pid_t> numbers(const fs::path& folder) {
  std::vector<pid_t> found;
  std::error_code gone;
  for (fs::directory_iterator at(folder, gone), end; !gone && at != end; at.increment(gone)) {
    const std::string name = at->path().filename();
    pid_t number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ptr == name.data() + name.size())
      found.push_back(number);
  }
  return found;
}

fs::path proc(pid_t pid) { return fs::path("/proc") / std::to_string(pid); }

/// The direct children of a process; none where the kernel does not list them.
std::optional<std::vector<pid_t>> children(pid_t pid) {
  std::vector<pid_t> found;
  for (const pid_t thread : numbers(proc(pid) / "task")) {
    const fs::path folder = proc(pid) / "task" / std::to_string(thread);
    std::ifstream file(folder / "children");
    std::error_code gone;
    if (!file && fs::exists(folder, gone)) return std::nullopt;
    found.insert(found.end(), std::istream_iterator<pid_t>(file), {});
  }
  return found;
}

/// The direct children of every process.
std::unordered_map<pid_t, std::vector<pid_t>> all_children() {
  std::unordered_map<pid_t, std::vector<pid_t>> found;
  for (const pid_t pid : numbers("/proc")) {
    std::ifstream file(proc(pid) / "stat");
    std::string text(std::istreambuf_iterator<char>(file), {});
    // The program's name is in brackets and may hold anything, brackets too.
    std::istringstream after(text.substr(text.rfind(')') + 1));
    char state = 0;
    pid_t parent = 0;
    if (after >> state >> parent) found[parent].push_back(pid);
  }
  return found;
}

}  // namespace

std::vector<pid_t> descendants(const std::vector<pid_t>& roots, bool listed) {
  std::optional<std::unordered_map<pid_t, std::vector<pid_t>>> all;
  if (!listed) all = all_children();
  std::vector<pid_t> found;
  for (std::vector<pid_t> front = roots; !front.empty();) {
    std::vector<pid_t> below;
    for (const pid_t pid : front) {
      const auto own = all ? (*all)[pid] : children(pid);
      if (!own) return descendants(roots, false);
      below.insert(below.end(), own->begin(), own->end());
    }
    found.insert(found.end(), below.begin(), below.end());
    front = std::move(below);
  }
  return found;
}

std::vector<std::string> shared_memory(const std::vector<pid_t>& pids, double since) {
  std::vector<std::string> found;
  for (const pid_t pid : pids) {
    // LLVM's does not stay mapped.
    found.push_back("/dev/shm/__KMP_REGISTERED_LIB_" + std::to_string(pid) + "_" + std::to_string(::getuid()));
    std::ifstream maps(proc(pid) / "maps");
    for (std::string line; std::getline(maps, line);) {
      const auto begin = line.find("/dev/shm/");
      if (begin != std::string::npos && line.find(" rw-s ") != std::string::npos) found.push_back(line.substr(begin));
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::erase_if(found, [since](const std::string& path) {
    struct stat facts{};
    if (::lstat(path.c_str(), &facts) != 0) return true;
    return static_cast<double>(facts.st_ctim.tv_sec) + 1e-9 * static_cast<double>(facts.st_ctim.tv_nsec) < since;
  });
  return found;
}

}  // namespace taskgrain
