#include "comm/process.hpp"

#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string>

namespace taskgrain::rt::detail {

std::optional<ProcessState> process_state(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line, '\0') && line.empty()) return std::nullopt;
  // "PID (NAME) STATE …", and the time is the 22nd field. A name may have blanks and brackets.
  const auto bracket = line.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(bracket + 1));
  ProcessState found{};
  fields >> found.state;
  std::string other;
  for (int field = 4; field < 22; ++field) fields >> other;
  if (!(fields >> found.start_time)) return std::nullopt;
  return found;
}

std::uint64_t process_namespace() noexcept {
  struct stat found{};
  return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

}  // namespace taskgrain::rt::detail
