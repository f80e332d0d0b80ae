/// The transport of MPI: what was sent comes, whole and once, whatever the sizes, the threads and the times of polls.
///
/// All ranks run this program with the same argument: how it initialises MPI.

#include "comm/mpi_transport.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rt/asleep.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {
namespace {

using Bytes = std::vector<std::byte>;
bool funneled = false;  // only the main thread may poll

/// What rank `from` sends as its `number`-th packet.
Bytes bytes_of(int from, std::uint64_t number, std::size_t size) {
  Bytes bytes(size);
  const std::uint64_t seed = mixed(number * 64 + static_cast<std::uint64_t>(from));
  for (std::size_t k = 0; k < size; ++k) bytes[k] = static_cast<std::byte>(seed >> k % 57);
  return bytes;
}

struct Label {
  std::uint64_t number, size;
};

/// A packet that says what it is, and what must follow.
Bytes labelled(int from, std::uint64_t number, std::size_t size) {
  const Label label{number, size};
  Bytes packet(sizeof label);
  std::memcpy(packet.data(), &label, sizeof label);
  const Bytes rest = bytes_of(from, number, size);
  packet.insert(packet.end(), rest.begin(), rest.end());
  return packet;
}

/// Hears packets and checks them.
class Checker : public Transport::Receiver {
 public:
  explicit Checker(int ranks) : packets_(static_cast<std::size_t>(ranks)), bodies_(packets_) {}

  void packet(int from, std::span<const std::byte> bytes) override {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 16, 0u);
    if (bytes.empty()) {
      ++empty_;
      return;
    }
    Label label;
    ASSERT_GE(bytes.size(), sizeof label);
    std::memcpy(&label, bytes.data(), sizeof label);
    EXPECT_TRUE(std::ranges::equal(bytes.subspan(sizeof label), bytes_of(from, label.number, label.size)))
        << "packet " << label.number << " of rank " << from;
    EXPECT_EQ(packets_[static_cast<std::size_t>(from)][label.number]++, 0) << "came twice";
    ++came_;
    if (on_packet) on_packet(from);
  }
  Place place(int from, std::span<const std::byte> head, std::size_t bytes) override {
    Label label{};
    EXPECT_EQ(head.size(), sizeof label);
    std::memcpy(&label, head.data(), sizeof label);
    EXPECT_EQ(label.size, bytes) << from;
    auto* body = new std::pair<Label, Bytes>(label, Bytes(bytes));
    return {body->second.data(), body};
  }
  void arrived(int from, void* token) override {
    const std::unique_ptr<std::pair<Label, Bytes>> body(static_cast<std::pair<Label, Bytes>*>(token));
    EXPECT_TRUE(body->second == bytes_of(from, body->first.number, body->first.size))
        << body->first.size << " bytes of rank " << from;
    EXPECT_EQ(bodies_[static_cast<std::size_t>(from)][body->first.number]++, 0) << "came twice";
    ++came_large_;
  }
  void reusable(void* token) override {
    ++reusable_;
    auto* body = static_cast<Bytes*>(token);
    std::fill(body->begin(), body->end(), std::byte{0xee});
  }
  void lost(int rank, const std::string& why) noexcept override { lost_[rank] = why; }

  std::function<void(int)> on_packet;
  std::atomic<std::uint64_t> came_{0}, came_large_{0}, reusable_{0}, empty_{0};
  std::map<int, std::string> lost_;
  std::uint64_t expected_ = 0;  ///< by storm

 private:
  std::vector<std::map<std::uint64_t, int>> packets_, bodies_;
};

/// Polls until that is so. A rank that waits too long ends all.
template <typename Done>
void poll_until(MpiTransport& transport, Transport::Receiver& receiver, const char* what, const Done& done) {
  const auto end = hang();
  while (!done()) {
    if (!transport.poll(receiver)) std::this_thread::yield();
    if (std::chrono::steady_clock::now() > end) {
      std::fprintf(stderr, "%s: rank %d still waits until %s\n",
                   testing::UnitTest::GetInstance()->current_test_info()->name(), transport.rank(), what);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
}

void leave(MpiTransport& transport, Transport::Receiver& receiver) {
  poll_until(transport, receiver, "all have left", [&] { return transport.flush(receiver); });
}

/// All send `number` packets to all, and poll now and then.
void storm(MpiTransport& transport, Checker& checker, std::uint64_t number, std::size_t most, std::uint64_t seed) {
  Dice dice(seed * 64 + static_cast<std::uint64_t>(transport.rank()));
  const auto ranks = static_cast<std::uint64_t>(transport.ranks());
  checker.expected_ += number * ranks;  // others may have begun with their next storm
  for (std::uint64_t k = 0; k < number * ranks; ++k) {
    const auto to = static_cast<int>((k + static_cast<std::uint64_t>(transport.rank())) % ranks);
    const std::uint64_t size = dice.below(4) == 0 ? dice.below(most - sizeof(Label) + 1) : dice.below(64);
    transport.send(to, labelled(transport.rank(), seed << 32 | k, size));
    if (dice.below(8) == 0) transport.poll(checker);
  }
  poll_until(transport, checker, "the storm ends", [&] { return checker.came_ >= checker.expected_; });
}

TEST(MpiTransport, KnowsItsRanks) {
  MpiTransport transport(MPI_COMM_WORLD);
  int rank = -1, ranks = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  EXPECT_EQ(transport.rank(), rank);
  EXPECT_EQ(transport.ranks(), ranks);
  EXPECT_STREQ(transport.name(), "mpi");
  EXPECT_GE(transport.most_bytes(), 4096u);
  EXPECT_EQ(transport.doorbell(), nullptr);
}

TEST(MpiTransport, TakesPacketsOfEachSize) {
  MpiTransport transport(MPI_COMM_WORLD);
  Checker checker(transport.ranks());
  const int next = (transport.rank() + 1) % transport.ranks();
  const std::size_t most = transport.most_bytes() - sizeof(Label);
  std::uint64_t number = 0;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{17},
                                 most / 2, most - 17, most - 1, most})
    transport.send(next, labelled(transport.rank(), number++, size));
  transport.send(next, {});
  poll_until(transport, checker, "each size has come", [&] { return checker.came_ == number && checker.empty_ == 1; });
  leave(transport, checker);
}

TEST(MpiTransport, LosesNothingWhenAllSendToAll) {
  MpiTransport transport(MPI_COMM_WORLD);
  Checker checker(transport.ranks());
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    storm(transport, checker, static_cast<std::uint64_t>(rounds(1000)), transport.most_bytes(), seed);
  leave(transport, checker);
  EXPECT_TRUE(checker.lost_.empty());
}

TEST(MpiTransport, KeepsAFloodForARankThatPollsLate) {
  MpiTransport transport(MPI_COMM_WORLD, {.receives = 2});
  Checker checker(transport.ranks());
  const auto number = static_cast<std::uint64_t>(rounds(20000));
  if (transport.rank() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  } else {
    for (std::uint64_t k = 0; k < number; ++k) {
      transport.send(0, labelled(transport.rank(), k, k % 97));
      if (k % 64 == 0) transport.poll(checker);
    }
  }
  const std::uint64_t expected = transport.rank() == 0 ? number * static_cast<std::uint64_t>(transport.ranks() - 1) : 0;
  poll_until(transport, checker, "the flood is over", [&] { return checker.came_ == expected; });
  leave(transport, checker);
}

TEST(MpiTransport, AnswersFromWithinAPoll) {
  MpiTransport transport(MPI_COMM_WORLD);
  Checker checker(transport.ranks());
  const auto turns = static_cast<std::uint64_t>(rounds(2000));
  std::uint64_t sent = 0;
  const int next = (transport.rank() + 1) % transport.ranks();
  // Around the ring.
  checker.on_packet = [&](int) {
    EXPECT_FALSE(transport.poll(checker)) << "an inner poll";
    if (sent < turns) transport.send(next, labelled(transport.rank(), sent++, 8));
  };
  transport.send(next, labelled(transport.rank(), sent++, 8));
  poll_until(transport, checker, "the ring ends", [&] { return checker.came_ == turns && sent == turns; });
  leave(transport, checker);
}

/// Each rank sends large ones to all, of these sizes.
void send_large_ones(MpiTransportOptions options, const std::vector<std::size_t>& sizes) {
  MpiTransport transport(MPI_COMM_WORLD, options);
  Checker checker(transport.ranks());
  std::vector<std::unique_ptr<Bytes>> bodies;
  std::uint64_t number = 0;
  for (const std::size_t size : sizes) {
    for (int to = 0; to < transport.ranks(); ++to) {
      bodies.push_back(std::make_unique<Bytes>(bytes_of(transport.rank(), number, size)));
      const Label label{number, size};
      transport.send_large(to, std::as_bytes(std::span(&label, 1)), *bodies.back(), bodies.back().get());
      transport.send(to, labelled(transport.rank(), number, 40));
    }
    ++number;
  }
  const std::uint64_t all = number * static_cast<std::uint64_t>(transport.ranks());
  poll_until(transport, checker, "all large ones have come",
             [&] { return checker.came_large_ == all && checker.reusable_ == all && checker.came_ == all; });
  leave(transport, checker);
}

TEST(MpiTransport, TakesLargeOnesInAllDirections) {
  const std::size_t kib = 1024, mib = 1024 * kib;
  send_large_ones({}, {0, 1, 64 * kib, 8 * mib, MpiMessage::most_bytes - 16, MpiMessage::most_bytes - 15, 3, 0});
}

TEST(MpiTransport, TakesMoreLargeOnesThanItHasTagsFor) {
  std::vector<std::size_t> sizes;
  for (std::size_t k = 0; k < 150; ++k) sizes.push_back(9000 + 777 * (k % 13));
  for (int turn = 0; turn < 3; ++turn) send_large_ones({}, sizes);
}

TEST(MpiTransport, TakesLargeOnesInPieces) {
  std::vector<std::size_t> sizes;
  for (std::size_t k = 0; k < 80; ++k) sizes.push_back(8192 + 991 * k);
  send_large_ones({.piece_bytes = 4096}, sizes);
  send_large_ones({.receives = 1, .piece_bytes = 10000}, sizes);
}

TEST(MpiTransport, TakesMoreThanTwoGiB) {
  if (std::getenv("TASKGRAIN_TEST_LARGE") == nullptr)
    GTEST_SKIP() << "needs 8 GiB of memory; TASKGRAIN_TEST_LARGE=1 runs it";
  MpiTransport transport(MPI_COMM_WORLD);
  // From the first rank to the last, which may be the same: as words, because bytes take long.
  std::vector<std::uint64_t> body;
  constexpr std::size_t words = (std::size_t{1} << 28) + 1543;
  if (transport.rank() == 0) {
    body.resize(words);
    for (std::size_t k = 0; k < words; ++k) body[k] = k * 0x9e3779b97f4a7c15u;
  }
  struct Words : Transport::Receiver {
    std::vector<std::uint64_t> came;
    bool arrived_ = false, reusable_ = false;
    void packet(int, std::span<const std::byte>) override {}
    Place place(int, std::span<const std::byte>, std::size_t bytes) override {
      came.resize(bytes / sizeof(std::uint64_t));
      return {reinterpret_cast<std::byte*>(came.data()), nullptr};
    }
    void arrived(int, void*) override { arrived_ = true; }
    void reusable(void*) override { reusable_ = true; }
    void lost(int, const std::string&) noexcept override {}
  } receiver;
  const int last = transport.ranks() - 1;
  if (transport.rank() == 0) transport.send_large(last, {}, std::as_bytes(std::span(body)), nullptr);
  poll_until(transport, receiver, "the body has come", [&] {
    return (transport.rank() != 0 || receiver.reusable_) && (transport.rank() != last || receiver.arrived_);
  });
  leave(transport, receiver);
  if (transport.rank() == last) {
    std::size_t wrong = words - receiver.came.size();
    for (std::size_t k = 0; k < receiver.came.size(); ++k) wrong += receiver.came[k] != k * 0x9e3779b97f4a7c15u ? 1 : 0;
    EXPECT_EQ(wrong, 0u);
  }
}

TEST(MpiTransport, SendsForOtherThreads) {
  MpiTransport transport(MPI_COMM_WORLD);
  Checker checker(transport.ranks());
  const auto number = static_cast<std::uint64_t>(rounds(3000));
  const auto ranks = static_cast<std::uint64_t>(transport.ranks());
  std::vector<std::unique_ptr<Bytes>> bodies;
  for (std::uint64_t k = 0; k < 30; ++k)
    bodies.push_back(std::make_unique<Bytes>(bytes_of(transport.rank(), k, 5000 * (k % 5))));
  std::mutex one_polls;
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      Dice dice(t);
      EXPECT_EQ(transport.may_poll(), !funneled);
      for (std::uint64_t k = 0; k < number; ++k) {
        transport.send(static_cast<int>((k + t) % ranks), labelled(transport.rank(), t << 32 | k, dice.below(400)));
        if (t == 0 && k < bodies.size()) {
          const Label label{k, bodies[k]->size()};
          transport.send_large(static_cast<int>(k % ranks), std::as_bytes(std::span(&label, 1)), *bodies[k],
                               bodies[k].get());
        }
        if (funneled) {
          EXPECT_FALSE(transport.anything());
          EXPECT_FALSE(transport.poll(checker));
        } else if (transport.anything() && one_polls.try_lock()) {
          const std::unique_lock guard(one_polls, std::adopt_lock);
          transport.poll(checker);
        }
      }
    });
  // What all ranks' threads send to this one.
  std::uint64_t expected = 0, large = 0;
  const auto me = static_cast<std::uint64_t>(transport.rank());
  for (std::uint64_t t = 0; t < 3; ++t)
    for (std::uint64_t k = 0; k < number; ++k) expected += (k + t) % ranks == me ? ranks : 0;
  for (std::uint64_t k = 0; k < std::min<std::uint64_t>(number, bodies.size()); ++k)
    large += k % ranks == me ? ranks : 0;
  EXPECT_TRUE(transport.may_poll());
  const auto end = hang();
  while (checker.came_ < expected || checker.came_large_ < large) {
    if (const std::unique_lock guard(one_polls, std::try_to_lock); guard) transport.poll(checker);
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() > end) {
      std::fprintf(stderr, "rank %d has %lu of %lu packets, %lu of %lu large ones\n", transport.rank(),
                   checker.came_.load(), expected, checker.came_large_.load(), large);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  threads.clear();
  leave(transport, checker);
}

TEST(MpiTransport, TellsLastWords) {
  MpiTransport transport(MPI_COMM_WORLD);
  Checker checker(transport.ranks());
  const std::string words = "the reactor leaks";
  if (transport.rank() == 0) {
    for (int to = 1; to < transport.ranks(); ++to) transport.send(to, labelled(0, 0, 100));
    transport.announce_failure(words);
    transport.announce_failure("and it burns");
  } else {
    poll_until(transport, checker, "rank 0 says why it ends", [&] { return checker.lost_.contains(0); });
    EXPECT_EQ(checker.lost_[0], "it said: " + words);
    transport.send(0, labelled(transport.rank(), 0, 10));  // goes nowhere
    Bytes body(100000);
    const Label label{};
    transport.send_large(0, std::as_bytes(std::span(&label, 1)), body, &body);
    poll_until(transport, checker, "the body may be reused", [&] { return checker.reusable_ == 1; });
  }
  leave(transport, checker);
  // What rank 0 had sent before may still be under way.
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(MpiTransport, SaysThatThereIsSomethingToSend) {
  MpiTransport transport(MPI_COMM_WORLD);
  Checker checker(transport.ranks());
  transport.send(transport.rank(), labelled(transport.rank(), 0, 10));
  // Also a program that polls only then gets it.
  const auto end = hang();
  while (checker.came_ == 0 && std::chrono::steady_clock::now() < end)
    if (transport.anything()) transport.poll(checker);
  EXPECT_EQ(checker.came_, 1u);
  leave(transport, checker);
}

TEST(MpiTransport, LeavesMpiToItsUser) {
  int ranks = 0, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (std::uint64_t turn = 0; turn < 8; ++turn) {
    {
      MpiTransport transport(MPI_COMM_WORLD);
      Checker checker(ranks);
      // Messages of the user, with the same tags, between ours.
      MPI_Request request;
      int number = -1;
      MPI_Irecv(&number, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &request);
      storm(transport, checker, 50, 2000, turn);
      MPI_Send(&rank, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD);
      // Who waits for something else polls all the same: others wait for what it has not sent yet.
      poll_until(transport, checker, "the user's message comes", [&] {
        int complete = 0;
        MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
        return complete != 0;
      });
      EXPECT_EQ(number, (rank + 1) % ranks);
      leave(transport, checker);
    }
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(sum, ranks * (ranks - 1) / 2);
  }
}

TEST(MpiTransport, WorksTwiceAtATimeAndOnSomeOfTheRanks) {
  MpiTransport all(MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  {
    MpiTransport some(half);
    EXPECT_EQ(some.rank(), rank / 2);
    Checker of_all(all.ranks()), of_some(some.ranks());
    storm(some, of_some, 200, 3000, 0);
    leave(some, of_some);
    storm(all, of_all, 200, 3000, 1);
    leave(all, of_all);
  }
  MPI_Comm_free(&half);
}

/// Both ends of a message that goes round the ranks again and again.
struct Round {
  Round(MpiTransport& transport, int number, std::size_t size, std::int64_t slots)
      : bytes(size), stride(size + 16), out(std::make_shared<Bytes>(stride * static_cast<std::size_t>(slots))),
        in(std::make_shared<Bytes>(*out)) {
    const int ranks = transport.ranks(), next = (transport.rank() + 1) % ranks,
              before = (transport.rank() + ranks - 1) % ranks;
    send = transport.persistent({true, next, number, out->data(), bytes, stride, slots, out, [] {}});
    receive = transport.persistent(
        {false, before, number, in->data(), bytes, stride, slots, in, [number_heard = heard] { ++*number_heard; }});
  }
  std::span<std::byte> slot(Bytes& of, std::int64_t message) const {
    return std::span(of).subspan(static_cast<std::size_t>(message) % (of.size() / stride) * stride, bytes);
  }

  std::size_t bytes, stride;
  std::shared_ptr<Bytes> out, in;
  std::shared_ptr<int> heard = std::make_shared<int>(0);
  std::unique_ptr<PersistentMessage> send, receive;
};

TEST(MpiTransport, RepeatsMessagesInTheirOrder) {
  MpiTransport transport(MPI_COMM_WORLD, {.piece_bytes = 1000});
  Checker checker(transport.ranks());
  const int before = (transport.rank() + transport.ranks() - 1) % transport.ranks();
  constexpr std::int64_t slots = 4;
  const int first = transport.persistent_tags(3);
  std::deque<Round> rounds_of;
  for (const std::size_t bytes : {0u, 200u, 12345u})
    rounds_of.emplace_back(transport, first + static_cast<int>(rounds_of.size()), bytes, slots);
  const std::int64_t number = rounds(200);
  for (std::int64_t sent = 0, read = 0; read < number;) {
    // Up to `slots` ahead of what has come here: so no slot is written that is still read.
    for (; sent < std::min(number, read + slots); ++sent)
      for (Round& round : rounds_of) {
        poll_until(transport, checker, "its slot is free", [&] { return round.send->done() >= sent + 1 - slots; });
        std::ranges::copy(bytes_of(transport.rank(), static_cast<std::uint64_t>(sent), round.bytes),
                          round.slot(*round.out, sent).begin());
        round.receive->allow(std::min(number, read + slots));
        round.send->allow(sent + 1);
        transport.start_persistent();
      }
    for (Round& round : rounds_of) {
      poll_until(transport, checker, "a message comes", [&] { return round.receive->done() > read; });
      EXPECT_TRUE(std::ranges::equal(round.slot(*round.in, read),
                                     bytes_of(before, static_cast<std::uint64_t>(read), round.bytes)))
          << "message " << read << " of " << round.bytes << " bytes";
    }
    ++read;
  }
  for (const Round& round : rounds_of) EXPECT_EQ(*round.heard, number);
  leave(transport, checker);
}

TEST(MpiTransport, EndsPersistentMessagesWhenTheyHaveCome) {
  MpiTransport transport(MPI_COMM_WORLD);
  Checker checker(transport.ranks());
  std::vector<std::weak_ptr<Bytes>> memory;
  const int number = transport.persistent_tags(1);
  {
    Round round(transport, number, 100000, 2);
    memory = {round.out, round.in};
    round.receive->allow(2);
    round.send->allow(2);
  }  // nothing has been started
  poll_until(transport, checker, "their memory is free",
             [&] { return std::ranges::all_of(memory, [](const auto& each) { return each.expired(); }); });
  const PersistentCounts with_next = transport.persistent_counts((transport.rank() + 1) % transport.ranks());
  EXPECT_EQ(with_next.sends_allowed, 2u);
  EXPECT_EQ(with_next.sends_done, 2u);
  Round left(transport, transport.persistent_tags(1), 100, 2);  // and nobody sends
  left.receive->allow(1);
  transport.start_persistent();
  leave(transport, checker);
}

TEST(MpiTransport, GivesEachNumberOnce) {
  MpiTransport transport(MPI_COMM_WORLD, {.most_tag = 100});
  const int first = transport.persistent_tags(10);
  EXPECT_GT(first, 0);
  EXPECT_EQ(transport.persistent_tags(91 - first), first + 10);
  EXPECT_THROW(transport.persistent_tags(1), std::runtime_error);
  Checker checker(transport.ranks());
  leave(transport, checker);
}

TEST(MpiTransport, RefusesWhatIsNoCommunicator) { EXPECT_THROW(MpiTransport(MPI_COMM_NULL), UsageError); }

TEST(MpiOfSingleThreads, IsRefusedByName) {
  try {
    const MpiTransport transport(MPI_COMM_WORLD);
    FAIL() << "made";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("MPI_THREAD_SINGLE"), std::string::npos) << error.what();
  }
  EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
}

TEST(MpiOfTheTransport, IsInitialisedByTheFirstAndFinalisedByTheLast) {
  int initialised = 1, finalised = 1;
  MPI_Initialized(&initialised);
  EXPECT_EQ(initialised, 0);
  {
    auto first = std::make_unique<MpiTransport>(MPI_COMM_WORLD);
    MpiTransport second(MPI_COMM_WORLD);
    Checker checker(second.ranks());
    leave(*first, checker);
    first.reset();
    storm(second, checker, 100, 1000, 0);
    leave(second, checker);
  }
  MPI_Finalized(&finalised);
  EXPECT_NE(finalised, 0);
  EXPECT_THROW(MpiTransport(MPI_COMM_WORLD), UsageError);
}

TEST(MpiOfTheUser, MayBeFinalisedBeforeTheTransportGoes) {
  auto transport = std::make_unique<MpiTransport>(MPI_COMM_WORLD);
  Checker checker(transport->ranks());
  leave(*transport, checker);
  MPI_Finalize();
  transport.reset();
}

}  // namespace

/// Runs the tests that MPI of this kind allows. Those of one process cannot initialise it twice.
int run(const std::string& how) {
  const std::map<std::string, int> levels = {{"single", MPI_THREAD_SINGLE},
                                             {"funneled", MPI_THREAD_FUNNELED},
                                             {"serialized", MPI_THREAD_SERIALIZED},
                                             {"multiple", MPI_THREAD_MULTIPLE}};
  std::string tests = "MpiTransport.*:MpiCommunicators.*";
  if (how == "single") tests = "MpiOfSingleThreads.*";
  if (how == "none") tests = "MpiOfTheTransport.*";
  if (how == "ended") tests = "MpiOfTheUser.*";
  if (const std::string wanted = GTEST_FLAG_GET(filter); wanted == "*") GTEST_FLAG_SET(filter, tests);
  if (!levels.contains(how)) return RUN_ALL_TESTS();
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, levels.at(how), &given);
  if (given < levels.at(how)) {
    std::printf("MPI does not give %s\n", how.c_str());
    MPI_Finalize();
    return 0;
  }
  funneled = given < MPI_THREAD_MULTIPLE;
  const int result = RUN_ALL_TESTS();
  MPI_Finalize();
  return result;
}

}  // namespace taskgrain::rt::detail

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return taskgrain::rt::detail::run(argc > 1 ? argv[1] : "multiple");
}
