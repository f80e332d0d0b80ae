#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt {

namespace {

std::string text(const std::vector<StuckTask>& tasks, std::size_t total) {
  std::string text =
      std::to_string(total) + (total == 1 ? " task waits" : " tasks wait") +
      " for ever (too few fulfilments, a cycle, a task fulfilled again after it ran, an event that nobody "
      "sets, or a thread outside of the runtime that was late and has no Runtime::hold):";
  for (const StuckTask& task : tasks)
    text += "\n  " + task.task + ": fulfilled " + std::to_string(task.fulfilled) + " of " +
            std::to_string(task.indegree) + " times";
  if (total > tasks.size()) text += "\n  and " + std::to_string(total - tasks.size()) + " more";
  return text;
}

}  // namespace

Stuck::Stuck(std::vector<StuckTask> tasks, std::size_t total)
    : std::runtime_error(text(tasks, total)), tasks_(std::move(tasks)), total_(total) {}

}  // namespace taskgrain::rt
