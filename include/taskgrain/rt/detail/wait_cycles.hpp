#pragma once

/// Finds tasks that wait for one another in a circle: each for a future, or for a fork, that the next one runs.

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace taskgrain::rt::detail {

class FutureState;
class Worker;

/// The waits of an engine for which workers sleep.
///
/// What lies on a stack above a wait is a part of what is waited for, so all that a worker runs needs what its last
/// wait is for. Therefore waits that are not over, each for something that the next one's worker runs, and the last for
/// something of the first one's, never end. The worker that comes last finds the others here.
class WaitCycles {
 public:
  /// What a worker waits for. It lives as long as the wait.
  class Wait {
   public:
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

    virtual bool over() const noexcept = 0;
    /// Who runs it; null while that is not known.
    virtual Worker* runner() const noexcept = 0;
    /// Null if it is a fork.
    virtual const FutureState* future() const noexcept { return nullptr; }
    /// Ends the wait for a future with an error that names all of the circle.
    virtual void refuse(const std::string& /*circle*/) noexcept {}

   protected:
    Wait() = default;
    ~Wait() = default;
  };

  explicit WaitCycles(std::size_t workers) : waits_(workers, nullptr) {}

  /// Lives while a worker sleeps. Refuses a wait for a future, of any worker, if this one closes a circle.
  class Entry {
   public:
    Entry(WaitCycles& all, const Worker& worker, Wait& wait) noexcept;
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    WaitCycles& all_;
    const std::size_t worker_;
  };

 private:
  void look(std::size_t first);
  /// The waits from that of a worker to that for what it runs; none if they end elsewhere.
  std::vector<Wait*> circle_of(std::size_t first) const;

  std::mutex mutex_;          // protects the waits, which leave before they end
  std::vector<Wait*> waits_;  // by worker; null where it does not sleep for one
};

}  // namespace taskgrain::rt::detail
