#pragma once

/// Lets a worker sleep without missing work. Publishing work costs nothing extra.
///
/// The sleeper stores "asleep" and then loads the work; the waker stores the work and then loads whether the other is
/// asleep. If no store buffer delays the store of either beyond its load, at least one of the two sees the other's
/// store (Dekker). The waker is on the hot path and has only a compiler barrier; the sleeper makes every core of the
/// process pass a full barrier (membarrier(2)). Where the kernel has no such call, the waker has a full fence, too.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace taskgrain::rt::detail {

/// The barrier of a waker, between its store of work and its check whether a thread sleeps.
void light_barrier() noexcept;
/// The barrier of a sleeper, between its store of "asleep" and its last check for work. \returns false if the kernel
/// refuses it: then other cores may not have passed a barrier
bool heavy_barrier() noexcept;

/// True if heavy_barrier is one for all cores, so that light_barrier need not be one.
/// \pre register_barriers was called
extern bool asymmetric_barriers;
/// Registers this process with the kernel, when it is first called: before there are threads that sleep, and at the
/// latest before main.
void register_barriers() noexcept;

inline void light_barrier() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (!asymmetric_barriers) std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// Rings: wakes the thread that sleeps on a doorbell (Sleeper::sleep_unless). After work was published.
void ring(std::atomic<std::uint32_t>& doorbell) noexcept;

class Sleeper {
 public:
  static constexpr auto for_ever = std::chrono::nanoseconds::max();

  /// Publishes that its thread, which calls it, is asleep, checks `work()`, and sleeps if that is false, until it is
  /// woken. Does not sleep if the kernel refuses the barrier, because it could miss a wake-up.
  /// \param most  it may return after this time
  /// \param doorbell  null, or a futex word in shared memory that is 1 while it sleeps: another process that has
  ///   published work passes a full fence, exchanges it for 0, and wakes its sleeper (`ring`)
  template <typename Work>
  void sleep_unless(const Work& work, std::chrono::nanoseconds most = for_ever,
                    std::atomic<std::uint32_t>* doorbell = nullptr) {
    const std::uint32_t awake = state_.load(std::memory_order_relaxed);
    const std::uint32_t sleeping = awake | asleep;
    state_.store(sleeping, std::memory_order_relaxed);
    if (doorbell != nullptr) doorbell->store(1, std::memory_order_relaxed);
    const bool sleeps = heavy_barrier() && !work();
    while (sleeps && state_.load(std::memory_order_acquire) == sleeping &&
           (doorbell == nullptr || doorbell->load(std::memory_order_acquire) == 1)) {
      doorbell == nullptr ? block(sleeping, most) : block(sleeping, most, *doorbell);
      if (most != for_ever) break;
    }
    if (doorbell != nullptr) doorbell->store(0, std::memory_order_relaxed);
    state_.store(awake, std::memory_order_relaxed);  // a waker may have done so already
  }
  /// Wants senders to set a bit from now on (Inbox::notify). Its thread calls it. \returns false if the kernel refuses
  /// the barrier: then a sender may not have seen this
  bool want_notices() noexcept {
    state_.store(notices, std::memory_order_relaxed);
    if (heavy_barrier()) return true;
    state_.store(0, std::memory_order_relaxed);
    return false;
  }

  /// Wakes the thread. Anyone calls it, after work was published. \returns whether it slept
  bool wake() noexcept {
    light_barrier();
    return (state_.load(std::memory_order_relaxed) & asleep) != 0 && wake_now();
  }
  /// True if the thread is awake and polls all mailboxes, so that no wake-up and no bit is needed. Anyone calls it,
  /// after work was published.
  bool attentive() const noexcept {
    light_barrier();
    return state_.load(std::memory_order_relaxed) == 0;
  }

 private:
  static constexpr std::uint32_t asleep = 1, notices = 2;

  bool wake_now() noexcept;
  /// futex wait while the state is `as`; may return spuriously.
  void block(std::uint32_t as, std::chrono::nanoseconds most) noexcept;
  /// The same, on the state and on the doorbell while that is 1.
  void block(std::uint32_t as, std::chrono::nanoseconds most, std::atomic<std::uint32_t>& doorbell) noexcept;

  // Bit `asleep`: set by its thread, cleared by its thread or a waker. Bit `notices`: written by its thread.
  std::atomic<std::uint32_t> state_{0};
};

}  // namespace taskgrain::rt::detail
