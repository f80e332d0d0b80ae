#pragma once

/// A loop that its owner divides ahead, into a block for each worker, instead of waiting for thieves (the static
/// schedule of OpenMP's work-sharing loops). It costs a cache line to each worker and one back.
///
/// The owner offers the blocks of a round, and takes part itself. Block k, from 1 on, is of one other worker, in all
/// rounds, so that a loop that is repeated finds its data where they were. That worker or the owner claims it,
/// whichever comes first: a worker that has something else to do never delays the loop.
///   claimed ≤ round; a compare-and-swap that raises it to the round gives the block to its thread, and to no other
/// When a round ends, each of its blocks was claimed, and has ended. So a worker that has read the number of an older
/// round claims nothing, and one that has claimed a block may read what the owner wrote before it offered the round.
///
/// The two words of a block are on lines of their own. A worker that claims its block each time keeps the first; the
/// owner waits at the second.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

class WorkSharing {
 public:
  /// Runs a block of a loop. \returns whether the loop goes on; it keeps what a block throws
  using Run = bool (*)(const void* loop, std::uint32_t block) noexcept;
  /// The bytes of a description of a loop.
  static constexpr std::size_t most_bytes = apart - 3 * sizeof(void*);

  /// The block of one worker, for all rounds.
  class Block {
   public:
    /// \returns whether it is the caller's now. By its worker and by the owner, for a round that was offered.
    bool claim(std::uint64_t round) noexcept {
      std::uint64_t last = claimed_.load(std::memory_order_relaxed);
      return last < round && claimed_.compare_exchange_strong(last, round, std::memory_order_relaxed);
    }
    bool claimed(std::uint64_t round) const noexcept { return claimed_.load(std::memory_order_relaxed) >= round; }

    // -- by the worker that has claimed it

    void begin(std::uint64_t round) noexcept { state_.store(begun * round, std::memory_order_release); }
    /// \returns whether the owner sleeps until this
    bool end(std::uint64_t round) noexcept {
      return state_.exchange(begun * round + ended_bit, std::memory_order_acq_rel) == begun * round + awaited_bit;
    }

    // -- by the owner

    /// It ran here.
    void end_here(std::uint64_t round) noexcept { state_.store(begun * round + ended_bit, std::memory_order_relaxed); }
    /// True if its worker is known to have claimed it.
    bool has_begun(std::uint64_t round) const noexcept {
      return state_.load(std::memory_order_relaxed) >= begun * round;
    }
    bool ended(std::uint64_t round) const noexcept {
      return state_.load(std::memory_order_acquire) == begun * round + ended_bit;
    }
    /// Asks to be woken at its end. \returns whether it has begun and that is still to come
    bool await(std::uint64_t round) noexcept {
      std::uint64_t state = begun * round;
      return state_.compare_exchange_strong(state, state + awaited_bit, std::memory_order_relaxed) ||
             state == begun * round + awaited_bit;
    }

   private:
    static constexpr std::uint64_t awaited_bit = 1, ended_bit = 2, begun = 4;

    alignas(apart) std::atomic<std::uint64_t> claimed_{0};  // a round
    alignas(apart) std::atomic<std::uint64_t> state_{0};    // four times the last round that has begun, and the bits
  };

  // -- by the owner

  /// \param blocks  of any round, at most
  /// \returns false if there is no memory
  bool make_room(std::uint32_t blocks) noexcept {
    if (!blocks_) blocks_.reset(new (std::nothrow) Block[blocks]);
    return blocks_ != nullptr;
  }
  /// Offers the blocks 1, …, blocks − 1 of a loop. \pre there is room, and the last round has ended
  /// \param loop  copied, so that it comes with the line at which the others look, and they need none of the stack
  /// \returns the round
  template <typename Loop>
  std::uint64_t offer(Run how, const Loop& loop, std::uint32_t blocks) noexcept {
    static_assert(std::is_trivially_copyable_v<Loop> && sizeof(Loop) <= most_bytes && alignof(Loop) <= alignof(Run));
    run_ = how;
    std::memcpy(loop_, &loop, sizeof(Loop));
    const std::uint64_t round = (offered_.load(std::memory_order_relaxed) >> blocks_bits) + 1;
    offered_.store(round << blocks_bits | blocks, std::memory_order_release);
    return round;
  }
  Block& block(std::uint32_t number) noexcept { return blocks_[number]; }
  /// Says whether the loop lies below what the owner steals from now on. \returns what it said before
  bool bury(bool is_below) noexcept {
    const bool before = buried_.load(std::memory_order_relaxed);
    if (before != is_below) buried_.store(is_below, std::memory_order_relaxed);
    return before;
  }

  // -- by others

  /// \pre the caller waits for what the owner has stolen, and has acquired that
  bool buried() const noexcept { return buried_.load(std::memory_order_relaxed); }

  /// The round in which this block is offered, or was claimed before; 0 if there is none.
  std::uint64_t offers(std::uint32_t block) const noexcept {
    const std::uint64_t offered = offered_.load(std::memory_order_acquire);
    __builtin_prefetch(&loop_[most_bytes - 1]);  // the second line comes with the first
    const std::uint64_t round = block < (offered & most_blocks) ? offered >> blocks_bits : 0;
    return round == 0 || blocks_[block].claimed(round) ? 0 : round;
  }
  /// Runs a block that the caller has claimed, or is the owner's.
  bool run(std::uint32_t block) const noexcept { return run_(loop_, block); }

 private:
  static constexpr int blocks_bits = 16;
  static constexpr std::uint64_t most_blocks = (1 << blocks_bits) - 1;

  // The owner writes these. Others read the word, and the rest once it offers them a block or they have claimed that.
  alignas(apart) std::atomic<std::uint64_t> offered_{0};  // the round, and how many blocks it has in 16 bits
  std::unique_ptr<Block[]> blocks_;
  Run run_ = nullptr;
  alignas(Run) std::byte loop_[most_bytes];
  std::atomic<bool> buried_{false};  // the owner writes it; workers that wait for what it has stolen read it
};

}  // namespace taskgrain::rt::detail
