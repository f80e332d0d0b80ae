/// Forks over ranks under simulated schedules. The ranks are threads, each with hosts, workers and memory of its own;
/// their messages overtake each other.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/messenger.hpp"
#include "random.hpp"
#include "scheduler.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using simulated::check;

struct Packet {
  int from;
  std::vector<std::byte> bytes;
};
/// What comes to a rank.
struct Arrivals {
  std::mutex mutex;  // protects the packets
  std::deque<Packet> packets;
  std::atomic<std::size_t> number{0};
};
using Network = std::deque<Arrivals>;

class ThreadsTransport final : public detail::Transport {
 public:
  ThreadsTransport(Network& network, int rank) : network_(network), rank_(rank) {}

  int rank() const noexcept override { return rank_; }
  int ranks() const noexcept override { return static_cast<int>(network_.size()); }
  const char* name() const noexcept override { return "threads"; }
  std::size_t most_bytes() const noexcept override { return std::size_t{1} << 20; }
  void send(int to, std::span<const std::byte> packet) override {
    Arrivals& there = network_[static_cast<std::size_t>(to)];
    const std::lock_guard lock(there.mutex);
    const auto at = static_cast<std::ptrdiff_t>(simulated::dice(there.packets.size() + 1));
    there.packets.insert(there.packets.begin() + at, {rank_, {packet.begin(), packet.end()}});
    there.number.store(there.packets.size());
  }
  void send_large(int, std::span<const std::byte>, std::span<const std::byte>, void*) override {
    simulated::fail("a large packet");
  }
  bool anything() const noexcept override { return here().number.load() > 0; }
  std::atomic<std::uint32_t>* doorbell() noexcept override { return nullptr; }
  void announce_failure(const std::string&) noexcept override {}
  bool poll(Receiver& receiver) override {
    Packet packet;
    {
      const std::lock_guard lock(here().mutex);
      if (here().packets.empty()) return false;
      packet = std::move(here().packets.front());
      here().packets.pop_front();
      here().number.store(here().packets.size());
    }
    receiver.packet(packet.from, packet.bytes);
    return true;
  }
  bool all_sent() noexcept override { return true; }
  bool flush(Receiver&) override { return true; }

 private:
  Arrivals& here() const { return network_[static_cast<std::size_t>(rank_)]; }

  Network& network_;
  const int rank_;
};

class ThreadsCommunicator final : public Communicator {
 public:
  ThreadsCommunicator(Network& network, int rank)
      : Communicator(std::make_unique<detail::Messenger>(std::make_unique<ThreadsTransport>(network, rank),
                                                         CommunicatorOptions{})) {}
};

/// Of an element of a global array, which it writes, and of those after it, for which it makes others, twice.
struct Call {
  std::size_t first, count;
  int turn;       // of this element
  int forked_by;  // a rank, or none
};
constexpr int none = -1;

/// What becomes of a tree of calls, in a world that all ranks know.
struct World {
  int ranks, workers;
  std::size_t naps;
  std::size_t elements, fails;          // in which call its rank fails
  std::vector<std::atomic<int>> begun;  // calls, by element
  std::vector<std::atomic<int>> ended;  // and those whose forks have ended

  explicit World(Random& random)
      : ranks(below(random, 3) == 0 ? 3 : 2), workers(below(random, 3) == 0 ? 1 : 2),
        naps(static_cast<std::size_t>(below(random, 30))), elements(static_cast<std::size_t>(4 + below(random, 11))),
        fails(below(random, 3) == 0 ? static_cast<std::size_t>(below(random, 14)) : elements), begun(elements),
        ended(elements) {}
};

/// What one rank does.
void run_rank(World& world, Network& network, int rank) {
  ThreadsCommunicator comm(network, rank);
  Runtime runtime({.workers = world.workers,
                   .cores = std::vector<int>(static_cast<std::size_t>(world.workers), 0),
                   .pin = false,
                   .communicator = &comm});
  GlobalMemory memory(runtime, {.cache_bytes = 400});
  GlobalForks forks(memory);
  const GlobalArray<std::size_t> x(memory, world.elements, {1});
  const auto written = [](std::size_t element, int turn) { return element + 1000 * static_cast<std::size_t>(turn); };
  const GlobalFunction<void(Call)> tree = forks.function(
      [&](Call call) {
        const struct Runs {  // also when it throws
          ~Runs() { check(!here || ended <= turn, "a call goes on whose fork has ended"); }
          bool here;
          int turn;
          std::atomic<int>& ended;
        } runs{call.forked_by == rank, call.turn, world.ended[call.first]};
        check(world.begun[call.first]++ == call.turn, "a call has run twice");
        if (call.first == world.fails) comm.messages().fail_for(rank, "as it should");
        check(x.read(call.first, 1)[0] == written(call.first, call.turn), "a call does not see what came before");
        for (std::size_t naps = world.naps * (call.first % 3); naps > 0; --naps) std::this_thread::yield();
        for (int turn = 2 * call.turn; turn < 2 * call.turn + 2 && call.count > 1; ++turn) {
          const std::size_t part = (call.count - 1) / 3;
          const std::size_t first = call.first + 1, second = first + part, rest = second + part;
          for (const std::size_t each : {first, second, rest}) x.write(each, 1)[0] = written(each, turn);
          const auto others = [&] { tree({rest, call.count - 1 - 2 * part, turn, none}); };
          if (part == 0) {
            others();
            continue;
          }
          struct End {
            ~End() { ++ended; }
            std::atomic<int>& ended;
          } end_first{world.ended[first]}, end_second{world.ended[second]};
          auto one = tree.fork({first, part, turn, rank});
          auto two = tree.fork({second, part, turn, rank});
          Fork here(others);
          const bool newest_first = call.first % 2 == 0;
          (newest_first ? two : one).join();
          here.join();
          (newest_first ? one : two).join();
          for (const std::size_t each : {first, second, rest})
            check(x.read(each, 1)[0] == written(each, turn) + 100, "a join does not see what the call has written");
        }
        x.write(call.first, 1)[0] = written(call.first, call.turn) + 100;
      },
      "tree");
  try {
    forks.run(tree, {0, world.elements, 0, none});
    check(world.fails >= world.elements, "a failure was not told");
    for (std::size_t k = 0; k < world.elements; ++k)
      check(x.read(k, 1)[0] == written(k, world.begun[k] - 1) + 100, "an element is not as written");
    memory.fence();
  } catch (const RankFailed&) {
    check(world.fails < world.elements, "nobody has failed");
  }
}

TEST(Schedules, OfForksOverRanks) {
  simulated::for_seeds("ranks", 1000, [](std::uint64_t seed) {
    Random random = random_of(seed);
    World world(random);
    Network network(static_cast<std::size_t>(world.ranks));
    std::vector<std::thread> others;
    for (int rank = 1; rank < world.ranks; ++rank) others.emplace_back([&, rank] { run_rank(world, network, rank); });
    run_rank(world, network, 0);
    for (std::thread& other : others) other.join();
  });
}

}  // namespace
}  // namespace taskgrain::rt
