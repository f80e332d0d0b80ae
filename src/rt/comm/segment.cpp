#include "comm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "comm/watch.hpp"
#include "taskgrain/rt/detail/sleep.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

namespace {

using Token = std::array<std::uint64_t, 2>;

/// The beginning of the segment. Its maker writes it before any other process can map it.
struct Head {
  static constexpr std::uint64_t right_magic = 0x746b677261696e73;
  static constexpr std::uint32_t right_version = 4;

  std::uint64_t magic;
  std::uint32_t version, ranks;
  std::uint64_t block_bytes, ring_bytes, arena_bytes;
  Token token;  ///< random: identifies this segment
};

/// A multiple of every page size, so that each part begins at a page.
constexpr std::size_t part_bytes = 1 << 16;

constexpr std::size_t round_up(std::size_t bytes) { return (bytes + part_bytes - 1) / part_bytes * part_bytes; }

/// The places of the parts. They cannot overflow: most_ranks^2 rings of 2^18 bytes, most_ranks arenas of 2^36.
struct Layout {
  std::size_t ranks, ring_bytes, arena_bytes;

  std::size_t blocks() const { return round_up(sizeof(Head)); }
  std::size_t rings() const { return blocks() + round_up(ranks * sizeof(RankBlock)); }
  std::size_t arenas() const { return rings() + round_up(ranks * (ranks - 1) * ring_bytes); }
  std::size_t bytes() const { return arenas() + ranks * arena_bytes; }
};

constexpr std::size_t least_ring = std::size_t(16) << 10, most_ring = std::size_t(256) << 10;
constexpr std::size_t least_arena = std::size_t(64) << 20, most_arena = std::size_t(64) << 30;
/// If the address space is limited.
constexpr std::size_t least_limited_arena = std::size_t(1) << 20;

/// All rings of a rank together are about 16 MiB at most, up to 1025 ranks. A ring has a counter before its lines,
/// whose number is a power of two.
std::size_t ring_bytes_for(std::size_t ranks) {
  const std::size_t share = (std::size_t(16) << 20) / std::max<std::size_t>(1, ranks - 1);
  return apart + std::clamp(std::bit_floor(share), least_ring, most_ring);
}

std::size_t arena_bytes_for(std::size_t ranks) {
  return std::clamp(std::bit_floor(host_memory() / ranks), least_arena, most_arena);
}

/// Maps all of a segment. MAP_FAILED if the address space is too small.
void* map_all(const MemoryFile& file, std::size_t bytes) noexcept {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.descriptor(), 0);
}

[[noreturn]] void throw_unmapped(std::size_t bytes, int error) {
  throw std::system_error(
      error, std::system_category(),
      "cannot map " + std::to_string(bytes) + " bytes of shared memory: the address space may be limited (ulimit -v)");
}

/// The head of a segment; nothing if the file is no segment of this version.
std::optional<Head> head_of(const MemoryFile& file) {
  Head head{};
  const std::size_t bytes = file.bytes();
  if (bytes < sizeof head || pread(file.descriptor(), &head, sizeof head, 0) != sizeof head) return std::nullopt;
  if (head.magic != Head::right_magic || head.version != Head::right_version || head.block_bytes != sizeof(RankBlock) ||
      head.ranks < 1 || head.ranks > Segment::most_ranks || head.ring_bytes > apart + most_ring ||
      head.arena_bytes > most_arena)
    return std::nullopt;
  if (Layout{head.ranks, head.ring_bytes, head.arena_bytes}.bytes() != bytes) return std::nullopt;
  return head;
}

/// The address that rank 0 broadcasts, so that the others can open its segment.
struct SegmentAddress {
  int error = 0;  ///< errno of rank 0, if it could make none; then `text` is the reason
  pid_t process = 0;
  int descriptor = -1;
  Token token{};
  char text[1000] = {};  ///< or the name in /dev/shm, if it has one
};

void put(SegmentAddress& address, const std::string& text) noexcept {
  std::memcpy(address.text, text.data(), std::min(text.size(), sizeof address.text - 1));
}

}  // namespace

MemoryFile Segment::make_file(int ranks, std::string* name) {
  if (ranks < 1 || ranks > most_ranks)
    throw UsageError("ranks of one host: " + std::to_string(ranks) + "; allowed are 1 to " +
                     std::to_string(most_ranks));
  const auto number = static_cast<std::size_t>(ranks);
  Layout layout{number, ring_bytes_for(number), arena_bytes_for(number)};
  const auto shrink = [&] {
    if (layout.arena_bytes <= least_limited_arena) return false;
    layout.arena_bytes /= 2;
    return true;
  };
  while (layout.bytes() > mappable_bytes() && shrink()) {
  }
  for (;;) {
    MemoryFile file = name ? MemoryFile::make_named(layout.bytes(), *name) : MemoryFile::make(layout.bytes());
    try {
      void* const mapped = map_all(file, layout.bytes());
      if (mapped == MAP_FAILED) {
        const int error = errno;
        const std::size_t bytes = layout.bytes();
        if (!shrink()) throw_unmapped(bytes, error);
        if (name) MemoryFile::unlink(*name);
        continue;
      }
      munmap(mapped, layout.bytes());

      file.reserve(0, layout.arenas());
      Head head{Head::right_magic,
                Head::right_version,
                static_cast<std::uint32_t>(ranks),
                sizeof(RankBlock),
                layout.ring_bytes,
                layout.arena_bytes,
                {}};
      if (getrandom(&head.token, sizeof head.token, 0) != sizeof head.token ||
          pwrite(file.descriptor(), &head, sizeof head, 0) != sizeof head)
        throw std::system_error(errno, std::system_category(), "cannot write the head of shared memory");
    } catch (...) {
      if (name) MemoryFile::unlink(*name);
      throw;
    }
    return file;
  }
}

int Segment::make(int ranks) {
  MemoryFile file = make_file(ranks, nullptr);
  fcntl(file.descriptor(), F_SETFD, 0);
  return file.release();
}

Segment::Segment(int descriptor, int rank) : file_(MemoryFile::copy_of(descriptor)), rank_(rank) {
  const std::optional<Head> head = head_of(file_);
  if (!head)
    throw UsageError("file descriptor " + std::to_string(descriptor) +
                     " is not the shared memory of ranks that this version of taskgrain-run has started");
  if (rank != observer && (rank < 0 || rank >= static_cast<int>(head->ranks)))
    throw UsageError("rank " + std::to_string(rank) + "; allowed are 0 to " + std::to_string(head->ranks - 1));
  map();
  try {
    if (rank != observer) attach();
  } catch (...) {
    unmap();
    throw;
  }
}

Segment::Segment(int rank, int ranks, const Collectives& collectives) : rank_(rank) {
  std::exception_ptr own;  // of the step, on this rank
  // Tries one step. \returns whether it has succeeded on all ranks
  const auto attempt = [&](const auto& step) {
    own = nullptr;
    try {
      step();
    } catch (...) {
      own = std::current_exception();
    }
    return collectives.all(own == nullptr);
  };
  const auto agreed = [&](bool all) {
    if (all) return;
    unmap();
    if (own) std::rethrow_exception(own);
    throw std::system_error(ECANCELED, std::system_category(),
                            "another rank of this host cannot use the shared memory");
  };
  // Rank 0 makes the segment and broadcasts its address. All ranks throw if it cannot.
  std::string name;
  const auto publish = [&](bool named) {
    SegmentAddress made;
    std::exception_ptr why;
    if (rank == 0) try {
        file_ = make_file(ranks, named ? &name : nullptr);
        made.process = getpid();
        made.descriptor = file_.descriptor();
        made.token = head_of(file_).value().token;
        put(made, name);
      } catch (const std::system_error& error) {
        why = std::current_exception();
        made.error = error.code().value();
        put(made, error.what());
      } catch (const std::exception& error) {
        why = std::current_exception();
        made.error = EINVAL;
        put(made, error.what());
      }
    collectives.broadcast(std::as_writable_bytes(std::span(&made, 1)));
    if (why) std::rethrow_exception(why);
    if (made.error != 0)
      throw std::system_error(made.error, std::system_category(), std::string("rank 0: ") + made.text);
    return made;
  };
  // Opens the segment of rank 0. In another PID namespace another file may be at that path: the token tells.
  const auto open = [&](const SegmentAddress& made, bool named) {
    if (rank == 0) return;
    file_ = named ? MemoryFile::open_named(made.text) : MemoryFile::open_of(made.process, made.descriptor);
    const std::optional<Head> head = head_of(file_);
    if (!head || head->token != made.token)
      throw std::system_error(EBADF, std::system_category(), "what this rank sees is not the shared memory of rank 0");
  };

  SegmentAddress made = publish(false);
  if (!attempt([&] { open(made, false); })) {
    file_ = MemoryFile();
    made = publish(true);
    const bool all = attempt([&] { open(made, true); });
    if (rank == 0) MemoryFile::unlink(name);
    agreed(all);
  }
  agreed(attempt([&] {
    map();
    attach();
  }));
}

void Segment::map() {
  const Head head = head_of(file_).value();
  const Layout layout{head.ranks, head.ring_bytes, head.arena_bytes};
  void* const mapped = map_all(file_, layout.bytes());
  if (mapped == MAP_FAILED) throw_unmapped(layout.bytes(), errno);
  memory_ = {static_cast<std::byte*>(mapped), layout.bytes()};
  ranks_ = static_cast<int>(head.ranks);
  ring_bytes_ = layout.ring_bytes;
  arena_bytes_ = layout.arena_bytes;
  blocks_ = memory_.data() + layout.blocks();
  rings_ = memory_.data() + layout.rings();
  arenas_ = memory_.data() + layout.arenas();
  // A core dump would allocate all pages of the arenas.
  madvise(arenas_, layout.bytes() - layout.arenas(), MADV_DONTDUMP);
}

void Segment::unmap() noexcept {
  if (memory_.data() != nullptr) munmap(memory_.data(), memory_.size());
  memory_ = {};
}

Segment::~Segment() { unmap(); }

void Segment::attach() {
  const pid_t own = getpid();
  RankBlock& block = this->block(rank_);
  std::int32_t process = 0;
  if (!block.process.compare_exchange_strong(process, own) && process != own)
    throw UsageError("rank " + std::to_string(rank_) + " has been attached before, by process " +
                     std::to_string(process));
  if (block.times_attached.load() > 0 && block.reason_bytes.load() != 0) {
    const Failure known = failure(rank_);
    throw RankFailed(known.rank, known.why);
  }
  if (block.in_use.exchange(1) != 0)
    throw UsageError(
        "this process has a Communicator of the ranks that taskgrain-run has started, and two at once cannot share "
        "them: end that one first, or use it for both; several runtimes, one after another, and any number of flows "
        "and graphs may");
  if (block.times_left.load() > 0) return attach_again();
  const std::optional<ProcessState> state = process_state(own);
  block.start_time.store(state ? state->start_time : 0, std::memory_order_relaxed);
  block.process_namespace.store(process_namespace(), std::memory_order_relaxed);
  std::uint32_t absent = RankBlock::absent;
  if (!block.state.compare_exchange_strong(absent, RankBlock::attached))
    throw UsageError("rank " + std::to_string(rank_) + " has ended before this process attached to it");
  block.times_attached.store(1);
}

/// Each rank clears the rings that it writes while no rank uses them: after all have left, and before any goes on.
void Segment::attach_again() {
  RankBlock& block = this->block(rank_);
  const std::uint32_t times = block.times_left.load();
  auto failed = wait_for_others([&](const RankBlock& other) { return other.times_left.load() >= times; });
  if (!failed) {
    for (int to = 0; to < ranks_; ++to)
      if (to != rank_) std::ranges::fill(ring(rank_, to), std::byte(0));
    block.state.store(RankBlock::attached);
    block.times_attached.store(times + 1);
    failed = wait_for_others([&](const RankBlock& other) { return other.times_attached.load() > times; });
  }
  if (!failed) return;
  blame(failed->rank, failed->why);
  block.state.store(RankBlock::left);
  throw RankFailed(failed->rank, failed->why);
}

/// Waits until ready(block) holds for all other ranks. \returns a failure if it cannot hold for one any more
template <typename Ready>
std::optional<Segment::Failure> Segment::wait_for_others(const Ready& ready) const {
  auto sleep_time = std::chrono::microseconds(10);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    const RankBlock& other = block(rank);
    for (;;) {
      const bool has_ended =
          other.process_ended.load() != 0;  // before the loads below: nothing changes after it is set
      if (ready(other)) break;
      const auto state = other.state.load();
      if (state == RankBlock::failed || state == RankBlock::dead || other.reason_bytes.load() != 0)
        return failure(rank);
      if (has_ended) return Failure{rank, "it has ended, and made fewer communicators than this rank"};
      std::this_thread::sleep_for(sleep_time);
      sleep_time = std::min(2 * sleep_time, std::chrono::microseconds(1000));
    }
  }
  return std::nullopt;
}

RankBlock& Segment::block(int rank) const noexcept {
  // The file begins as zeros, which are valid initial RankBlocks.
  return *std::launder(reinterpret_cast<RankBlock*>(blocks_ + static_cast<std::size_t>(rank) * sizeof(RankBlock)));
}

std::span<std::byte> Segment::ring(int from, int to) const noexcept {
  const int place = from * (ranks_ - 1) + (to < from ? to : to - 1);
  return {rings_ + static_cast<std::size_t>(place) * ring_bytes_, ring_bytes_};
}

std::span<std::byte> Segment::arena(int rank) const noexcept {
  return {arenas_ + static_cast<std::size_t>(rank) * arena_bytes_, arena_bytes_};
}

void Segment::reserve(std::size_t offset, std::size_t bytes) {
  if (offset > arena_bytes_ || bytes > arena_bytes_ - offset)
    throw std::system_error(ENOMEM, std::system_category(),
                            "cannot reserve " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                                " of an arena of " + std::to_string(arena_bytes_) + " bytes");
  if (bytes == 0) return;
  file_.reserve(static_cast<std::size_t>(arena(rank_).data() - memory_.data()) + offset, bytes);
}

void Segment::announce_failure(const std::string& reason) noexcept {
  if (block(rank_).announce_failure(reason)) ring_all_doorbells();
}

Segment::Failure Segment::failure(int rank) const {
  const RankBlock& block = this->block(rank);
  // A rank that ends because of another one may be noticed before that one: report the cause.
  if (const std::uint32_t blamed = block.blamed.load(); blamed != 0)
    return {static_cast<int>(blamed) - 1, block.failure_reason()};
  const std::string reason = block.failure_reason();
  const bool own = !reason.empty() && block.reason_writer.load() == RankBlock::itself;
  return {rank, own ? "it said: " + reason : reason};
}

void Segment::mark_dead(int rank, const std::string& how) noexcept {
  block(rank).mark_dead(how);
  ring_all_doorbells();
}

bool Segment::oversubscribed() const noexcept {
  // Compares the workers of all ranks that share a processor with this one with the processors of all of these.
  const RankBlock& own = block(rank_);
  std::uint64_t workers = 0;
  std::array<std::uint64_t, RankBlock::most_processors / 64> bits{};
  const auto bits_of = [](const RankBlock& block, std::size_t k) {
    return block.processors[k].load(std::memory_order_relaxed);
  };
  for (int rank = 0; rank < ranks_; ++rank) {
    const RankBlock& other = block(rank);
    const std::uint64_t number = other.workers.load(std::memory_order_acquire);
    bool shares = false;
    for (std::size_t k = 0; k < bits.size() && number > 0 && !shares; ++k)
      shares = (bits_of(own, k) & bits_of(other, k)) != 0;
    if (!shares) continue;
    workers += number;
    for (std::size_t k = 0; k < bits.size(); ++k) bits[k] |= bits_of(other, k);
  }
  int processors = 0;
  for (const std::uint64_t each : bits) processors += std::popcount(each);
  return workers > static_cast<std::uint64_t>(processors);
}

void Segment::ring_doorbell(int rank) const noexcept { detail::ring(block(rank).doorbell); }

void Segment::ring_all_doorbells() const noexcept {
  for (int rank = 0; rank < ranks_; ++rank) ring_doorbell(rank);
}

}  // namespace taskgrain::rt::detail
