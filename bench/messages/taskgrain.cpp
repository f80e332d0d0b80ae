/// Active messages between two ranks against their size: latency and rate of messages (`message`) and of
/// large messages (`large`) that a thread takes which waits for nothing else; and the latency of messages that
/// fulfill a task, which answers (`task`).
///
///     taskgrain-run -n 2 taskgrain-messages-taskgrain        one line of JSON for each size on stdout

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "measure.hpp"
#include "taskgrain/rt.hpp"

namespace {

namespace rt = taskgrain::rt;
using namespace taskgrain::bench;

/// The same calls as those of MPI (mpi.cpp).
class Pair {
 public:
  Pair(rt::Communicator& comm, bool large)
      : comm_(comm), large_(large), out_(most_bytes, std::byte{1}), in_(window * most_bytes, std::byte{2}) {}

  int rank() const { return comm_.rank(); }
  const char* name() const { return large_ ? "large" : "message"; }
  void barrier() { comm_.barrier(); }

  void ping_pong(std::size_t bytes) {
    if (comm_.rank() == 0) send(bytes);
    receive(1);
    if (comm_.rank() == 1) send(bytes);
  }
  void stream(std::size_t bytes) {
    if (comm_.rank() == 0) {
      for (int k = 0; k < window; ++k) send(bytes);
      receive(1);
    } else {
      receive(window);
      send(4);
    }
  }

 private:
  /// As MPI does: the bytes are the receiver's own in the end.
  void take(rt::view<const std::byte> bytes) {
    if (!bytes.empty())
      std::memcpy(in_.data() + static_cast<std::size_t>(got_) * bytes.size(), bytes.data(), bytes.size());
    ++got_;
  }
  void send(std::size_t bytes) {
    if (large_)
      arrive_large_.send(1 - comm_.rank(), {out_.data(), bytes}, bytes);
    else
      arrive_.send(1 - comm_.rank(), {out_.data(), bytes});
  }
  std::byte* place(std::size_t bytes) { return in_.data() + static_cast<std::size_t>(placed_++ % window) * bytes; }
  void receive(int number) {
    while (got_ < number) comm_.progress();
    got_ -= number;
  }

  rt::Communicator& comm_;
  const bool large_;
  std::vector<std::byte> out_, in_;
  int got_ = 0, placed_ = 0;
  rt::ActiveMessage<rt::view<const std::byte>> arrive_ =
      comm_.active_message([this](rt::view<const std::byte> bytes) { take(bytes); }, "arrive");
  rt::LargeActiveMessage<std::byte, std::size_t> arrive_large_ =
      comm_.large_active_message([this](std::size_t bytes, std::size_t) { return place(bytes); },
                                 [this](std::size_t) { ++got_; }, [](std::size_t) {}, "arrive large");
};

/// From a task of one rank to the task of the other that comes after it.
void measure_tasks(rt::Communicator& comm) {
  rt::Runtime runtime({.workers = 1, .check = false, .communicator = &comm});
  rt::Taskflow<int> flow(runtime, "turn");
  static int rounds;  // the active message is made once, and outlives this call
  static rt::Taskflow<int>* of;
  static const auto fulfill = comm.active_message([](int task) { of->fulfill(task); }, "fulfill");
  of = &flow;
  flow.indegree([](int) { return 1; }).run([&](int task) {
    if (task < 2 * rounds) fulfill.send(1 - comm.rank(), task + 1);
  });
  for (const int times : {warm_up(rounds_of("latency", 4)), rounds_of("latency", 4)}) {
    rounds = times;
    comm.barrier();
    const Clock clock;
    if (comm.rank() == 0) flow.fulfill(0);
    runtime.wait();
    if (comm.rank() == 0 && times == rounds_of("latency", 4))
      print_result("task", "latency", sizeof(int), rounds, clock.seconds());
  }
}

}  // namespace

int main(int argc, char**) {
  rt::Communicator comm;
  if (argc > 1 || comm.ranks() != 2) {
    if (comm.rank() == 0)
      std::fprintf(stderr, "usage: taskgrain-run -n 2 taskgrain-messages-taskgrain; ranks: %d\n", comm.ranks());
    return 2;
  }
  Pair pair(comm, false), large(comm, true);
  for (const std::string_view what : {"latency", "rate"})
    for (std::size_t bytes = 0; bytes <= most_bytes; bytes = next_size(bytes))
      for (Pair* one : {&pair, &large}) measure(*one, what, bytes);
  measure_tasks(comm);
}
