#include "waiting.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

namespace taskgrain {
namespace {

double seconds_of(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);  // leaves 0 of a thread that has ended
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// The clock of a thread's processor time, see clock_getcpuclockid(3). That in schedstat is behind while it runs.
clockid_t clock_of(std::int64_t thread) {
  return static_cast<clockid_t>((~static_cast<std::uint64_t>(thread) << 3) | 6);
}

/// The text of a file of a thread; empty if it cannot be read.
std::string text_of(std::int64_t thread, const char* name) {
  const int file = open(("/proc/self/task/" + std::to_string(thread) + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char text[256];
  const ssize_t length = read(file, text, sizeof text);
  close(file);
  return {text, length > 0 ? static_cast<std::size_t>(length) : 0};
}

/// Whether a thread runs, or would if it had a processor.
bool runnable(std::int64_t thread) {
  const std::string text = text_of(thread, "stat");
  const std::size_t name = text.rfind(')');
  return name + 2 < text.size() && text[name + 2] == 'R';
}

}  // namespace

Waiting::ByThread Waiting::by_thread() {
  ByThread found;
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return found;
  while (const dirent* const task = readdir(tasks)) {
    const std::int64_t thread = std::atoll(task->d_name);
    long long ran = 0, waited = 0, turns = 0;
    // A thread that never had a turn does not exist: such a kernel does not count.
    if (thread > 0 && std::sscanf(text_of(thread, "schedstat").c_str(), "%lld %lld %lld", &ran, &waited, &turns) == 3 &&
        turns > 0)
      found[thread] = {1e-9 * static_cast<double>(waited), seconds_of(clock_of(thread))};
  }
  closedir(tasks);
  return found;
}

Waiting::Waiting()
    : start_(by_thread()), begin_(std::chrono::steady_clock::now()), ran_(-seconds_of(CLOCK_PROCESS_CPUTIME_ID)) {}

void Waiting::stop() {
  wall_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  ran_ += seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  const ByThread now = by_thread();
  if (now.empty() || start_.empty()) waited_ = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [thread, end] : now) {
    const auto known = start_.find(thread);
    const OfThread begin = known == start_.end() ? OfThread{} : known->second;
    const double waited = end.waited - begin.waited, rest = wall_ - waited - (end.ran - begin.ran);
    // A wait that has not ended is not counted yet.
    waited_ += waited + (known != start_.end() && rest > least_rest * wall_ && runnable(thread) ? rest : 0.0);
  }
}

}  // namespace taskgrain
