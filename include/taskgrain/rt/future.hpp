#pragma once

/// Futures: values of tasks that are still to come. Several may read one, and tasks may follow it.
///
///     rt::Runtime runtime;
///     const rt::SharedFuture<double> a = rt::async(runtime, [] { return 1.5; });
///     const rt::SharedFuture<double> b = a.then([](double value) { return 2 * value; });
///     const double sum = rt::when_all({a, b}).then([=] { return a.get() + b.get(); }).get();

#include "taskgrain/rt/detail/cxx20.hpp"

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/fork_join.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt {

namespace detail {

class FutureState;

/// The place of a task among those that wait for a future.
struct Follower {
  FutureState* task;
  Follower* next;
};

/// What the copies of a future share, and the task that makes it. It is ready when all futures before it have ended:
///   missing = those of them that have not, and 1 until it was told of all
///   followers = those who wait for it, or the mark `ended`, after which nobody else is added
class FutureState {
 public:
  FutureState(const FutureState&) = delete;
  FutureState& operator=(const FutureState&) = delete;

  Engine& engine() const noexcept { return engine_; }
  bool ended() const noexcept { return followers_.load(std::memory_order_acquire) == &ended_mark; }
  /// Why there is no value; null if there is one. \pre ended
  const std::exception_ptr& failure() const noexcept { return failure_; }
  void keep() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  /// Lets it run when these have ended. Called once.
  void follow(const std::vector<FutureState*>& before) noexcept;
  /// Runs it, and lets go those who wait for it.
  void run() noexcept;
  /// Until it has ended. \throws as SharedFuture::get
  void wait();

 protected:
  /// \param before  how many it will follow
  FutureState(Engine& engine, std::size_t before)
      : engine_(engine), among_followers_(before == 0 ? nullptr : new Follower[before]) {}
  virtual ~FutureState() = default;

 private:
  /// Calls, keeps what comes back, and forgets the call.
  virtual void call() = 0;
  bool add(Follower& one) noexcept;
  void one_ended() noexcept;
  void submit() noexcept;

  static inline Follower ended_mark{};

  Engine& engine_;
  std::exception_ptr failure_;                         // written before the mark
  std::atomic<Follower*> followers_{nullptr};          // a stack, by anyone
  std::atomic<std::size_t> missing_{1};                // by those who end
  std::atomic<bool> awaited_{false};                   // by threads that wait
  std::atomic<std::uint32_t> references_{2};           // of the first future, and of the task that has not run yet
  const std::unique_ptr<Follower[]> among_followers_;  // its places in the stacks of those before it
};

template <typename T>
class ValueState : public FutureState {
 public:
  using FutureState::FutureState;
  std::optional<std::conditional_t<std::is_void_v<T>, Nothing, T>> value;  // written before the mark
};

template <typename T, typename Call>
class FutureTask final : public ValueState<T> {
 public:
  FutureTask(Engine& engine, std::size_t before, Call call) : ValueState<T>(engine, before), call_(std::move(call)) {}

 private:
  void call() override {
    // Now, and not with the last future: a chain of futures that end one another could be too deep for the stack.
    const auto forget = [](std::optional<Call>* of) { of->reset(); };
    const std::unique_ptr<std::optional<Call>, decltype(forget)> forgets(&call_, forget);
    if constexpr (std::is_void_v<T>) {
      std::invoke(*call_);
      this->value.emplace();
    } else {
      this->value.emplace(std::invoke(*call_));
    }
  }

  std::optional<Call> call_;
};

}  // namespace detail

/// The result of a call that runs as a task. Copies are the same future, and any thread may have one. It may outlive
/// its runtime, but nothing can follow it then.
template <typename T>
class SharedFuture {
  static_assert(!std::is_reference_v<T>, "the call returns a reference: return a pointer");

 public:
  SharedFuture(const SharedFuture& other) noexcept : state_(other.state_) { state_->keep(); }
  SharedFuture& operator=(const SharedFuture& other) noexcept {
    other.state_->keep();
    std::exchange(state_, other.state_)->release();
    return *this;
  }
  ~SharedFuture() { state_->release(); }

  /// Whether the call has ended, with a value or an exception.
  bool ready() const noexcept { return state_->ended(); }
  /// What the call has returned. A thread that is no worker waits for it, and works meanwhile.
  /// \throws what the call has thrown; UsageError  a task calls it before it is ready: let another task follow it
  std::conditional_t<std::is_void_v<T>, void, std::add_lvalue_reference_t<const T>> get() const {
    if (!ready()) state_->wait();
    if (state_->failure()) std::rethrow_exception(state_->failure());
    if constexpr (!std::is_void_v<T>) return *state_->value;
  }
  /// Calls `call(value)`, or `call()` where there is no value, in a task when this future is ready. If this one has an
  /// exception, the call does not run, and the other future has the same exception.
  /// \throws std::bad_alloc
  template <typename Call>
  auto then(Call call) const {
    auto with_value = [of = *this, call = std::move(call)]() mutable {
      if constexpr (std::is_void_v<T>) {
        of.get();
        return std::invoke(call);
      } else {
        return std::invoke(call, of.get());
      }
    };
    return SharedFuture<decltype(with_value())>(state_->engine(), std::move(with_value), {state_});
  }

 private:
  template <typename>
  friend class SharedFuture;
  template <typename>
  friend class AllOf;
  template <std::invocable Call>
  friend auto async(Runtime& runtime, Call call);

  template <typename Call>
  SharedFuture(detail::Engine& engine, Call call, const std::vector<detail::FutureState*>& before)
      : state_(new detail::FutureTask<T, Call>(engine, before.size(), std::move(call))) {
    state_->follow(before);
  }

  detail::ValueState<T>* state_;
};

/// Calls `call()` in a task. \returns its result, when it comes \throws std::bad_alloc
template <std::invocable Call>
auto async(Runtime& runtime, Call call) {
  return SharedFuture<std::invoke_result_t<Call&>>(detail::engine_of(runtime), std::move(call), {});
}

/// What comes after several futures.
template <typename T>
class [[nodiscard]] AllOf {
 public:
  explicit AllOf(std::vector<SharedFuture<T>> futures) : futures_(std::move(futures)) {
    if (futures_.empty()) throw UsageError("when_all has no future to wait for");
    for (const SharedFuture<T>& one : futures_)
      if (&one.state_->engine() != &futures_.front().state_->engine())
        throw UsageError("when_all has futures of two runtimes, of which one could end before the other");
  }

  /// Calls `call(futures)`, or `call()`, in a task when all are ready. If one has an exception, the call does not run,
  /// and the result is the exception of the first that has one.
  /// \throws std::bad_alloc
  template <typename Call>
  auto then(Call call) && {
    std::vector<detail::FutureState*> before;
    for (const SharedFuture<T>& one : futures_) before.push_back(one.state_);
    auto with_futures = [futures = std::move(futures_), call = std::move(call)]() mutable {
      for (const SharedFuture<T>& one : futures) one.get();
      if constexpr (std::invocable<Call&, const std::vector<SharedFuture<T>>&>)
        return std::invoke(call, std::as_const(futures));
      else
        return std::invoke(call);
    };
    return SharedFuture<decltype(with_futures())>(before[0]->engine(), std::move(with_futures), before);
  }

 private:
  std::vector<SharedFuture<T>> futures_;
};

/// \throws UsageError  there are none
template <typename T>
AllOf<T> when_all(std::vector<SharedFuture<T>> futures) {
  return AllOf<T>(std::move(futures));
}

}  // namespace taskgrain::rt
