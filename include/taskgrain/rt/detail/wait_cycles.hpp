#pragma once

/// Finds tasks that wait for one another in a circle: each for a future, a fork or a block of a loop that the next one
/// runs.

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace taskgrain::rt::detail {

class FutureState;
class Worker;

/// The waits of an engine that take long.
///
/// While a worker waits, everything that it has begun lies on its stack below that wait, and goes on only when the wait
/// ends. So everything that worker A has begun needs the thing that A waits for. If worker B runs that thing, and B
/// itself waits for something that A runs, neither wait ever ends. Longer circles are alike. Each wait is entered here
/// under one mutex, so the worker that closes a circle finds all the others.
class WaitCycles {
 public:
  /// The thing that a worker waits for. It lives as long as the wait.
  class Wait {
   public:
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

    virtual bool over() const noexcept = 0;
    /// The worker that runs it; null while that is not known.
    virtual Worker* runner() const noexcept = 0;
    /// The future that is waited for; null if it is something else.
    virtual const FutureState* future() const noexcept { return nullptr; }
    /// Ends the wait for a future with an error that names all of the circle.
    virtual void refuse(const std::string& /*circle*/) noexcept {}

   protected:
    Wait() = default;
    ~Wait() = default;
  };

  explicit WaitCycles(std::size_t workers) : waits_(workers, nullptr) {}

  /// A wait of a worker, which is here from the first `enter` on, and while the worker runs nothing.
  class Entry {
   public:
    Entry(WaitCycles& all, const Worker& worker, Wait& wait) noexcept;
    ~Entry() { leave(); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    /// Refuses a wait for a future, of any worker, if this one is in a circle.
    void enter() noexcept;
    void leave() noexcept;

   private:
    WaitCycles& all_;
    const std::size_t worker_;
    Wait& wait_;
    bool is_here_ = false;
  };

 private:
  void look(std::size_t first);
  /// The waits from that of a worker to that for what it runs; none if they end elsewhere.
  std::vector<Wait*> circle_of(std::size_t first) const;

  std::mutex mutex_;          // protects the waits, which leave before they end
  std::vector<Wait*> waits_;  // by worker; null where there is none
};

}  // namespace taskgrain::rt::detail
