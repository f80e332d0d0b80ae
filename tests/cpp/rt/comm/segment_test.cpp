/// The memory that the ranks of a host share.

#include "comm/segment.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "comm/memory_file.hpp"
#include "comm/watch.hpp"
#include "rt/asleep.hpp"
#include "rt/comm/processes.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// What an exception says.
template <typename Error, typename Function>
std::string error_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Segment, HasPartsThatAreZeroAlignedAndApart) {
  const FileDescriptor file(Segment::make(3));
  const Segment segment(file.get(), 1);
  EXPECT_EQ(segment.ranks(), 3);
  std::map<std::uintptr_t, std::size_t> parts;
  const auto add = [&](const void* part, std::size_t bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(part);
    EXPECT_EQ(at % apart, 0u);
    parts[at] = bytes;
  };
  for (int from = 0; from < 3; ++from) {
    add(&segment.block(from), sizeof(RankBlock));
    add(segment.arena(from).data(), segment.arena(from).size());
    for (int to = 0; to < 3; ++to) {
      if (from == to) continue;
      const auto ring = segment.ring(from, to);
      EXPECT_EQ(ring.size(), (256u << 10) + detail::apart);
      EXPECT_TRUE(std::ranges::all_of(ring, [](std::byte byte) { return byte == std::byte(0); }));
      add(ring.data(), ring.size());
    }
  }
  EXPECT_EQ(parts.size(), 3u + 3 + 6);
  std::uintptr_t end = 0;
  for (const auto& [at, bytes] : parts) {
    EXPECT_GE(at, end);
    end = at + bytes;
  }
}

TEST(Segment, HasSmallerRingsForManyRanks) {
  const FileDescriptor file(Segment::make(20));
  const Segment twenty(file.get(), 0);
  EXPECT_LE(19 * twenty.ring(0, 1).size(), 16u << 20);
  EXPECT_GE(twenty.ring(0, 1).size(), 16u << 10);
}

TEST(Segment, IsTheSameForAllProcesses) {
  const FileDescriptor file(Segment::make(2));
  Segment segment(file.get(), 0);
  segment.reserve(100, 100);
  segment.arena(0)[150] = std::byte(5);
  Process other([&] {
    Segment own(file.get(), 1);
    own.reserve(0, 1 << 20);
    own.arena(1)[4] = own.arena(0)[150];
    own.ring(1, 0)[3] = std::byte(6);
    own.leave();
    return 0;
  });
  const pid_t number = other.number();
  EXPECT_EQ(other.exit_code(), 0);
  EXPECT_EQ(segment.arena(1)[4], std::byte(5));
  EXPECT_EQ(segment.ring(1, 0)[3], std::byte(6));
  EXPECT_EQ(segment.ring(0, 1)[3], std::byte(0));
  EXPECT_EQ(segment.block(1).state, RankBlock::left);
  EXPECT_EQ(segment.block(1).process, number);
  EXPECT_EQ(segment.block(0).state, RankBlock::attached);
  EXPECT_EQ(segment.block(0).start_time, process_state(getpid())->start_time);
}

TEST(Segment, ReservesTheHeadAtOnceAndArenasWhenAsked) {
  const FileDescriptor file(Segment::make(2));
  Segment segment(file.get(), 0);
  const auto pages = [&] {
    struct stat found{};
    fstat(file.get(), &found);
    return static_cast<std::size_t>(found.st_blocks) * 512;
  };
  const std::size_t before = pages();
  EXPECT_GE(before, 2 * segment.ring(0, 1).size());
  segment.reserve(0, 0);
  EXPECT_EQ(pages(), before);
  segment.reserve(5000, 20 << 20);
  EXPECT_GE(pages(), before + (20 << 20));
  EXPECT_LE(pages(), before + (21 << 20));
  const std::size_t bytes = segment.arena(0).size();
  EXPECT_THAT(error_of<std::system_error>([&] { segment.reserve(10, bytes); }),
              AllOf(HasSubstr("cannot reserve " + std::to_string(bytes)), HasSubstr("Cannot allocate memory")));
  EXPECT_THROW(segment.reserve(bytes + 1, 0), std::system_error);
}

TEST(Segment, LeavesNoFileOpen) {
  const auto before = open_files();
  {
    const FileDescriptor file(Segment::make(2));
    const Segment one(file.get(), 0), other(file.get(), 1), launcher(file.get(), Segment::observer);
    EXPECT_THROW(Segment(file.get(), 1), UsageError);
    EXPECT_EQ(open_files(), before + 4);
    EXPECT_EQ(fcntl(file.get(), F_GETFD), 0);  // children inherit it
  }
  EXPECT_EQ(open_files(), before);
  EXPECT_TRUE(no_name_stays());
}

TEST(Segment, IsAttachedOnceAtATimeByEachRank) {
  const FileDescriptor file(Segment::make(2));
  const Segment segment(file.get(), 1);
  EXPECT_THAT(error_of<UsageError>([&] { Segment(file.get(), 1); }), HasSubstr("end that one first"));
  Process other([&] {
    return error_of<UsageError>([&] { Segment(file.get(), 1); }) ==
                   "rank 1 has been attached before, by process " + std::to_string(getppid())
               ? 0
               : 1;
  });
  EXPECT_EQ(other.exit_code(), 0);
  EXPECT_EQ(error_of<UsageError>([&] { Segment(file.get(), 2); }), "rank 2; allowed are 0 to 1");
  EXPECT_EQ(error_of<UsageError>([&] { Segment(file.get(), -2); }), "rank -2; allowed are 0 to 1");
  Segment(file.get(), Segment::observer).mark_dead(0, "ended with exit code 3");
  EXPECT_EQ(error_of<UsageError>([&] { Segment(file.get(), 0); }),
            "rank 0 has ended before this process attached to it");
}

TEST(Segment, HasEmptyRingsWhenTheRanksAttachAgain) {
  const FileDescriptor file(Segment::make(2));
  const auto round = [&](int rank) {
    Segment segment(file.get(), rank);
    const auto ring = segment.ring(rank, 1 - rank);
    if (!std::ranges::all_of(ring, [](std::byte byte) { return byte == std::byte(0); })) return false;
    std::ranges::fill(ring, std::byte(1));
    if (rank == 1) usleep(2000);  // the other one may begin to attach again, and waits
    segment.leave();
    return true;
  };
  const auto ten_rounds = [&](int rank) {
    for (int k = 0; k < 10; ++k)
      if (!round(rank)) return 1;
    return 0;
  };
  Process one([&] { return ten_rounds(1); });
  EXPECT_EQ(ten_rounds(0), 0);
  EXPECT_EQ(one.exit_code(), 0);
}

TEST(Segment, IsNotAnyOtherFile) {
  const auto expect_none = [](int file) {
    EXPECT_EQ(error_of<UsageError>([&] { Segment(file, 0); }),
              "file descriptor " + std::to_string(file) +
                  " is not the shared memory of ranks that this version of taskgrain-run has started");
  };
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  expect_none(pipe_ends[0]);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  EXPECT_THAT(error_of<std::system_error>([&] { Segment(pipe_ends[0], 0); }), HasSubstr("is not open"));

  const FileDescriptor right(Segment::make(1));
  struct stat found{};
  fstat(right.get(), &found);
  const FileDescriptor copy(memfd_create("copy", 0));
  expect_none(copy.get());
  std::vector<char> head(4096);
  ASSERT_EQ(pread(right.get(), head.data(), head.size(), 0), 4096);
  ASSERT_EQ(pwrite(copy.get(), head.data(), head.size(), 0), 4096);
  expect_none(copy.get());  // cut short
  ASSERT_EQ(ftruncate(copy.get(), found.st_size), 0);
  Segment(copy.get(), 0);
  head[8] = 77;  // the version
  ASSERT_EQ(pwrite(copy.get(), head.data(), head.size(), 0), 4096);
  expect_none(copy.get());
}

TEST(Segment, CannotBeCutByAnybody) {
  const FileDescriptor file(Segment::make(1));
  EXPECT_NE(ftruncate(file.get(), 0), 0);
}

TEST(Segment, HasNoMoreRanksThanAreAllowed) {
  EXPECT_EQ(error_of<UsageError>([] { Segment::make(1025); }), "ranks of one host: 1025; allowed are 1 to 1024");
  EXPECT_EQ(error_of<UsageError>([] { Segment::make(0); }), "ranks of one host: 0; allowed are 1 to 1024");
}

/// Makes a segment in a process with a limit. \returns the size of its arenas, or the error
std::string made_with(decltype(RLIMIT_AS) what, std::size_t limit, int ranks) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  Process maker([&] {
    limit_to(what, limit);
    std::string said;
    try {
      const FileDescriptor file(Segment::make(ranks));
      Segment segment(file.get(), 0);
      segment.reserve(0, segment.arena(0).size());
      said = std::to_string(segment.arena(0).size());
    } catch (const std::exception& error) {
      said = error.what();
    }
    return write(ends[1], said.data(), said.size()) < 0;
  });
  close(ends[1]);
  char said[1000];
  const ssize_t bytes = read(ends[0], said, sizeof said);
  close(ends[0]);
  if (const int code = maker.exit_code(); code != 0) return "exit code " + std::to_string(code);
  return std::string(said, static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
}

TEST(Segment, HasSmallerArenasWhereTheAddressSpaceIsLimited) {
  if (sanitized) GTEST_SKIP() << "sanitizers use most of the address space";
  EXPECT_EQ(made_with(RLIMIT_AS, 600 << 20, 4), std::to_string(64 << 20));
  EXPECT_EQ(made_with(RLIMIT_AS, 100 << 20, 4), std::to_string(8 << 20));
  EXPECT_THAT(made_with(RLIMIT_AS, 40 << 20, 16),
              AllOf(HasSubstr("cannot map "), HasSubstr("ulimit -v"), HasSubstr("Cannot allocate memory")));
}

TEST(Segment, IsNoLargerThanFilesMayBe) {
  EXPECT_EQ(made_with(RLIMIT_FSIZE, 300 << 20, 4), std::to_string(64 << 20));
  EXPECT_THAT(made_with(RLIMIT_FSIZE, 1 << 20, 4), AllOf(HasSubstr("bytes"), HasSubstr("ulimit -f")));
}

TEST(Segment, ReservesNoMoreThanThereIs) {
  const MemoryFile file = MemoryFile::make(1 << 20);
  EXPECT_THAT(error_of<std::system_error>([&] { file.reserve(0, std::size_t(1) << 50); }),
              AllOf(HasSubstr("cannot reserve 1125899906842624 bytes"), HasSubstr("are available")));
}

TEST(Segment, KeepsTheFirstWordsOfARank) {
  const FileDescriptor file(Segment::make(4));
  Segment launcher(file.get(), Segment::observer), one(file.get(), 1), two(file.get(), 2);
  EXPECT_EQ(one.block(1).failure_reason(), "");
  one.announce_failure("no bread");
  one.announce_failure("no butter");
  EXPECT_EQ(two.block(1).failure_reason(), "no bread");
  EXPECT_EQ(two.block(1).state, RankBlock::failed);
  launcher.mark_dead(1, "ended with exit code 3");
  EXPECT_EQ(two.block(1).failure_reason(), "no bread");
  EXPECT_EQ(two.block(1).state, RankBlock::dead);
  EXPECT_EQ(two.block(1).reason_writer, RankBlock::itself);

  launcher.mark_dead(3, "ended with exit code 4");
  EXPECT_EQ(two.block(3).failure_reason(), "ended with exit code 4");
  EXPECT_EQ(two.block(3).state, RankBlock::dead);
  EXPECT_EQ(two.block(3).reason_writer, RankBlock::launcher);

  two.block(2).reason_writer = RankBlock::itself;  // killed when it was about to speak
  launcher.mark_dead(2, std::string(5000, 'x'));
  EXPECT_EQ(one.block(2).failure_reason(), std::string(RankBlock::most_reason_bytes, 'x'));
}

TEST(Segment, RingsTheBellsOfAllWithTheLastWords) {
  const FileDescriptor file(Segment::make(2));
  Process sleeper([&] {
    const Segment segment(file.get(), 1);
    segment.block(1).doorbell = 1;
    while (segment.block(1).doorbell == 1)
      syscall(SYS_futex, &segment.block(1).doorbell, FUTEX_WAIT, 1, nullptr, nullptr, 0);
    return segment.block(0).failure_reason() == "no bread" ? 0 : 1;
  });
  Segment segment(file.get(), 0);
  ASSERT_TRUE(
      eventually([&] { return segment.block(1).doorbell == 1 && process_state(sleeper.number())->state == 'S'; }));
  segment.announce_failure("no bread");
  EXPECT_EQ(sleeper.exit_code(), 0);
}

/// How processes meet that have not yet a segment.
class Meeting {
 public:
  explicit Meeting(unsigned int ranks) {
    shared_ =
        static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    pthread_barrierattr_t between_processes;
    pthread_barrierattr_init(&between_processes);
    pthread_barrierattr_setpshared(&between_processes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared_->barrier, &between_processes, ranks);
  }
  Meeting(const Meeting&) = delete;
  ~Meeting() { munmap(shared_, sizeof(Shared)); }

  void wait() { pthread_barrier_wait(&shared_->barrier); }

  /// \param refuse  how often nobody can open what rank 0 has made
  Segment::Collectives collectives(int rank, int refuse = 0) {
    return {.broadcast =
                [this, rank](std::span<std::byte> bytes) {
                  if (rank == 0) std::memcpy(shared_->bytes, bytes.data(), bytes.size());
                  wait();
                  std::memcpy(bytes.data(), shared_->bytes, bytes.size());
                  wait();
                },
            .all =
                [this, rank, refuse](bool one) mutable {
                  if (!one || refuse-- > 0) shared_->refused = true;
                  wait();
                  const bool all = !shared_->refused;
                  wait();
                  if (rank == 0) shared_->refused = false;
                  wait();
                  return all;
                }};
  }

 private:
  struct Shared {
    pthread_barrier_t barrier;
    std::atomic<bool> refused;
    char bytes[4096];
  };
  Shared* shared_;
};

/// Three processes make a segment, and each writes to the next. \returns their exit codes
std::vector<int> make_together(int refuse) {
  Meeting meeting(3);
  std::vector<Process> processes;
  for (int rank = 0; rank < 3; ++rank)
    processes.emplace_back([&, rank] {
      const int next = (rank + 1) % 3, before = (rank + 2) % 3;
      try {
        const Segment segment(rank, 3, meeting.collectives(rank, refuse));
        segment.ring(rank, next)[0] = std::byte(rank + 1);
        meeting.wait();
        if (!no_name_stays()) return 2;
        if (segment.block(next).state != RankBlock::attached) return 3;
        return segment.ring(before, rank)[0] == std::byte(before + 1) ? 0 : 4;
      } catch (const std::system_error& error) {
        return error.code().value() == ECANCELED ? 5 : 6;
      }
    });
  std::vector<int> codes;
  for (Process& process : processes) codes.push_back(process.exit_code());
  return codes;
}

TEST(Segment, IsMadeByRanksThatHaveNoLauncher) { EXPECT_THAT(make_together(0), testing::Each(0)); }

TEST(Segment, HasANameForAMomentWhereProcIsRefused) { EXPECT_THAT(make_together(1), testing::Each(0)); }

TEST(Segment, IsAnErrorOnAllRanksIfOneCannotOpenIt) {
  EXPECT_THAT(make_together(2), testing::Each(5));
  EXPECT_TRUE(no_name_stays());
}

TEST(Segment, IsAnErrorOnAllRanksIfRankZeroCannotMakeIt) {
  Meeting meeting(2);
  std::vector<Process> processes;
  for (int rank = 0; rank < 2; ++rank)
    processes.emplace_back([&, rank] {
      if (rank == 0) limit_to(RLIMIT_FSIZE, 1 << 20);
      try {
        const Segment segment(rank, 2, meeting.collectives(rank));
      } catch (const std::system_error& error) {
        const std::string what = error.what();
        const bool right = what.find("ulimit -f") != std::string::npos && what.starts_with("rank 0: ") == (rank == 1);
        return right ? 0 : 1;
      }
      return 2;
    });
  for (Process& process : processes) EXPECT_EQ(process.exit_code(), 0);
}

}  // namespace
}  // namespace taskgrain::rt::detail
