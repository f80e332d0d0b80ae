/// What the other ranks see when something goes wrong on one:
///
///     taskgrain-run -n 2 rank_fails killed      its process is killed in a task
///     taskgrain-run -n 2 rank_fails throws      a task throws
///     taskgrain-run -n 2 rank_fails stuck       a task waits for what can no longer come
///     taskgrain-run -n 2 rank_fails mismatch    it has made another active message

#include <signal.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

int main(int argc, char** argv) {
  const std::string_view how = argc == 2 ? argv[1] : "";
  rt::Communicator comm;
  rt::Runtime runtime({.communicator = &comm});
  rt::Taskflow<int> flow(runtime, "work");
  const auto start = comm.active_message([&](int task) { flow.fulfill(task); }, "start");
  const auto inform = how == "mismatch" && comm.rank() != 0 ? comm.active_message([](int) {}, "report")
                                                            : comm.active_message([](int) {}, "result");
  flow.indegree([&](int task) { return how == "stuck" && task == 7 ? 2 : 1; });
  flow.run([&](int task) {
    if (how == "killed") raise(SIGKILL);
    if (how == "throws") throw std::domain_error("no such element");
    inform.send(0, task);
  });
  if (comm.rank() == 0) start.send(comm.ranks() - 1, 7);
  try {
    runtime.wait();
  } catch (const rt::RankFailed& failure) {
    if (comm.rank() == 0) std::printf("RankFailed: %s\n", failure.what());
    return 1;
  } catch (const std::exception&) {  // TaskFailed or Stuck, on the rank itself
    return 1;
  }
}
