#pragma once

/// The iterations of a task that its device has done. On the device they may overtake one another; a channel says how
/// far they are done without a gap.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "channel.hpp"

namespace taskgrain::rt::detail {

class DoneIterations {
 public:
  /// \param channel  its value is the first iteration that is not done
  explicit DoneIterations(Channel& channel) : channel_(channel) {}

  /// By any thread, once for each iteration.
  void done(std::int64_t iteration) {
    const std::lock_guard lock(mutex_);
    if (iteration != next_) {
      while (iteration - next_ >= static_cast<std::int64_t>(ahead_.size())) grow();
      ahead_[at(iteration)] = true;
      return;
    }
    for (++next_; ahead_[at(next_)]; ++next_) ahead_[at(next_)] = false;
    channel_.raise(next_);
  }
  /// While nobody else uses it: all below `next` are done.
  void reset(std::int64_t next) {
    const std::lock_guard lock(mutex_);
    next_ = next;
    ahead_.assign(ahead_.size(), false);
    channel_.reset(next);
  }

 private:
  std::size_t at(std::int64_t iteration) const noexcept {
    return static_cast<std::size_t>(iteration) & (ahead_.size() - 1);
  }
  void grow() {
    std::vector<bool> larger(2 * ahead_.size());
    larger.swap(ahead_);
    for (std::size_t k = 1; k < larger.size(); ++k) {
      const std::int64_t iteration = next_ + static_cast<std::int64_t>(k);
      ahead_[at(iteration)] = larger[static_cast<std::size_t>(iteration) & (larger.size() - 1)];
    }
  }

  Channel& channel_;
  std::mutex mutex_;  // protects the members below
  std::int64_t next_ = 0;
  // Bit i mod size is set ⇔ iteration i is done, for next < i < next + size; that of next is not set.
  std::vector<bool> ahead_ = std::vector<bool>(8);
};

}  // namespace taskgrain::rt::detail
