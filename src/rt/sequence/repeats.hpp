#pragma once

/// Finds what repeats itself in the tasks that a sequence is given, by a hash of each.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace taskgrain::rt::detail {

inline std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) noexcept {
  hash = (hash ^ more) * 0x9E3779B97F4A7C15;
  return hash ^ hash >> 29;
}

/// The period is the distance to the last two tasks that had these hashes. It lasts as long as each task is like the
/// one a period before; the first that is not begins another.
///   same = how many tasks in a row were like the ones a period before
class Repeats {
 public:
  /// \param longest  period, in tasks
  explicit Repeats(std::size_t longest)
      : longest_(longest), hashes_(std::bit_ceil(longest)), last_(2 * hashes_.size()) {}

  void add(std::uint64_t hash) noexcept {
    const std::uint64_t pair = mixed(std::exchange(before_, mixed(0, hash)), hash);  // not that of the two swapped
    Seen& last = last_[pair & (last_.size() - 1)];
    if (period_ != 0 && hash == next()) {
      ++same_;
    } else {
      const bool seen = last.pair == pair && last.end != 0 && given_ + 1 - last.end <= longest_;
      period_ = seen ? given_ + 1 - last.end : 0;
      same_ = seen ? 2 : 0;
    }
    at(given_) = hash;
    last = {pair, ++given_};
  }
  /// The hash of the task that comes, if the tasks go on to repeat themselves. \pre there is a period
  std::uint64_t next() const noexcept { return hashes_[(given_ - period_) & (hashes_.size() - 1)]; }
  /// The number of upcoming tasks that are predicted to repeat, in whole periods. 0: nothing is predicted.
  std::size_t expected() const noexcept {
    constexpr std::size_t least = 32;  // so that a launch costs little
    if (period_ == 0) return 0;
    const std::size_t tasks = (least + period_ - 1) / period_ * period_;
    return same_ >> std::max(doubt_, 0) >= tasks ? tasks : 0;
  }
  /// Notes whether the expected tasks came. With more than two misses for each time that they came, a repetition must
  /// be twice as long to be expected again, and so on, so that misses cost little.
  void was(bool right) noexcept { doubt_ = std::clamp(doubt_ + (right ? -2 : 1), -4, 20); }
  void forget() noexcept { period_ = same_ = 0; }

 private:
  struct Seen {
    std::uint64_t pair = 0;  // of a task and the one before it
    std::size_t end = 0;     // how many tasks were given with it; 0: none
  };
  std::uint64_t& at(std::size_t number) noexcept { return hashes_[number & (hashes_.size() - 1)]; }

  const std::size_t longest_;
  std::vector<std::uint64_t> hashes_;  // of the last tasks
  std::vector<Seen> last_;             // by pair; of two that meet, the later
  std::uint64_t before_ = 0;           // of the hash of the last task
  std::size_t given_ = 0, period_ = 0, same_ = 0;
  int doubt_ = 0;
};

}  // namespace taskgrain::rt::detail
