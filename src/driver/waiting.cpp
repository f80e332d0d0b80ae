#include "waiting.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "taskgrain/simulation.hpp"

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
  if (simulation != nullptr) return found;  // who waits for real does not wait in the simulation
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return found;
  while (const dirent* const task = readdir(tasks)) {
    const std::int64_t thread = std::atoll(task->d_name);
    long long ran = 0, waited = 0, turns = 0;
    if (thread > 0 && std::sscanf(text_of(thread, "schedstat").c_str(), "%lld %lld %lld", &ran, &waited, &turns) == 3)
      found[thread] = {1e-9 * static_cast<double>(waited), seconds_of(clock_of(thread)), turns};
  }
  closedir(tasks);
  // A process has had turns: a kernel that says otherwise does not count.
  if (std::ranges::none_of(found, [](const auto& one) { return one.second.turns > 0; })) found.clear();
  return found;
}

Waiting::Waiting()
    : start_(by_thread()), begin_(std::chrono::steady_clock::now()), ran_(-seconds_of(CLOCK_PROCESS_CPUTIME_ID)) {}

void Waiting::stop() {
  wall_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  ran_ += seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  double known = 0;  // of the time that the process ran
  const ByThread now = by_thread();
  for (const auto& [thread, end] : now) {
    const auto started = start_.find(thread);
    const OfThread begin = started == start_.end() ? OfThread{} : started->second;
    const double waited = end.waited - begin.waited, ran = end.ran - begin.ran;
    known += ran;
    waited_ += waited;
    // The kernel adds a wait when it ends. A thread without a new turn that would run waits since its last one.
    if (started != start_.end() && end.turns == begin.turns && thread != gettid() && runnable(thread))
      waited_ += std::max(wall_ - waited - ran, 0.0);
  }
  // What a thread waited that has ended meanwhile is lost.
  const bool lost = ran_ - known > 0.02 * wall_;
  if (now.empty() || start_.empty() || lost) waited_ = std::numeric_limits<double>::quiet_NaN();
}

}  // namespace taskgrain
