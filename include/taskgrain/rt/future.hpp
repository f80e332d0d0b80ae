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
#include <new>
#include <optional>
#include <source_location>
#include <span>
#include <string>
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
  FutureState* before;  // the future, which the task's call keeps until it has run
  Follower* next;
};

/// The task that makes a future, and the state that all copies of the future share. It may run when all futures
/// before it have ended. `missing_` counts down to that:
///   > 0: the futures before it that have not ended, 1 until `follow` has seen all of them, and 1 for each thread that
///        looks at them in `one_before`
///   0: it may run
///   −1 − k: worker k runs it, or has run it
/// `followers_` holds the tasks that wait for it. Its end puts `ended_mark` there, and then nobody can be added.
class FutureState {
 public:
  Engine& engine() const noexcept { return engine_; }
  bool ended() const noexcept { return followers_.load(std::memory_order_acquire) == &ended_mark; }
  /// True if nobody runs it yet, and anyone may.
  bool may_run() const noexcept { return missing_.load(std::memory_order_acquire) == 0; }
  /// The worker that runs it or has run it; null if nobody has begun.
  Worker* runner() const noexcept;
  /// Its file and line.
  std::string made_at() const;
  /// The future that its worker had begun before it and has not ended. \pre it runs
  const FutureState* below() const noexcept { return below_; }
  /// The exception of the call; null if there is a value. \pre ended
  const std::exception_ptr& failure() const noexcept { return failure_; }
  void keep() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  /// Lets it run when `before(0)`, … have ended. Called once.
  template <typename Before>
  void follow(const Before& before) noexcept {
    std::int64_t over = 1;
    for (std::size_t k = 0; k < before_; ++k) {
      FutureState& one = before(k);
      new (&places_[k]) Follower{this, &one, nullptr};
      if (!one.add(places_[k])) ++over;
    }
    are_over(over);
  }
  /// Runs it on a worker, if nobody else does or has. \returns whether it did
  bool run(Worker& here) noexcept;
  /// Waits until it has ended. \throws as SharedFuture::get
  void wait();
  /// Asks that all workers are woken at its end. \returns whether that is still to come
  bool await() noexcept {
    awaited_.store(true, std::memory_order_seq_cst);
    return followers_.load(std::memory_order_seq_cst) != &ended_mark;
  }

 protected:
  /// \param places  room for as many as it will follow
  FutureState(Engine& engine, Follower* places, std::size_t before, const std::source_location& where)
      : engine_(engine), made_at_(where), places_(places), before_(before),
        missing_(static_cast<std::int64_t>(before) + 1) {}
  virtual ~FutureState() = default;

 private:
  /// Calls, keeps what comes back, and forgets the call.
  virtual void call() = 0;
  bool add(Follower& one) noexcept;
  /// Takes `number` off `missing`.
  void are_over(std::int64_t number) noexcept;
  void submit() noexcept;
  /// Runs it, and first those before it, as far as nobody else does, and waits for the others.
  void run_or_await(Worker& here);
  /// A future before it that has not ended, kept: first those that nobody runs. Null if there is none, or it may run.
  /// \param next  where to look; 0 at first
  FutureState* one_before(std::size_t& next) noexcept;

  static inline Follower ended_mark{};

  Engine& engine_;
  const std::source_location made_at_;
  Follower* const places_;  // in the stacks of those before it
  const std::size_t before_;
  FutureState* below_ = nullptr;               // the worker that runs it writes this
  std::exception_ptr failure_;                 // the worker that runs it writes this before the mark
  std::atomic<Follower*> followers_{nullptr};  // a stack; any thread pushes, and the end takes all at once
  std::atomic<std::int64_t> missing_;          // as above; those before it, threads that look, and its worker change it
  std::atomic<bool> awaited_{false};           // set by threads that wait, before they look for the mark
  std::atomic<std::uint32_t> references_{2};   // at first that of the first future, and that of the task in a queue
};

template <typename T>
class ValueState : public FutureState {
 public:
  using FutureState::FutureState;
  std::optional<std::conditional_t<std::is_void_v<T>, Nothing, T>> value;  // written before the mark
};

/// The places lie behind it, in the same allocation.
template <typename T, typename Call>
class FutureTask final : public ValueState<T> {
 public:
  struct Places {
    std::size_t number;
  };

  FutureTask(Engine& engine, std::size_t before, const std::source_location& where, Call call)
      : ValueState<T>(engine, reinterpret_cast<Follower*>(this + 1), before, where), call_(std::move(call)) {}

  static void* operator new(std::size_t bytes, Places places) {
    bytes += places.number * sizeof(Follower);
    if constexpr (is_aligned_more)
      return ::operator new(bytes, std::align_val_t{alignof(FutureTask)});
    else
      return ::operator new(bytes);
  }
  static void operator delete(void* at) noexcept {
    if constexpr (is_aligned_more)
      ::operator delete(at, std::align_val_t{alignof(FutureTask)});
    else
      ::operator delete(at);
  }
  static void operator delete(void* at, Places) noexcept { operator delete(at); }

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

  static constexpr bool is_aligned_more = alignof(std::optional<Call>) > __STDCPP_DEFAULT_NEW_ALIGNMENT__ ||
                                          alignof(ValueState<T>) > __STDCPP_DEFAULT_NEW_ALIGNMENT__;

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

  /// True if the call has ended, with a value or an exception.
  bool ready() const noexcept { return state_->ended(); }
  /// The value that the call has returned. A task, or a call under fork_join, runs the call itself if nobody has begun
  /// it, and the calls that it follows; else it waits. A thread that is no worker of this runtime waits, and works
  /// meanwhile.
  /// \throws what the call has thrown; UsageError  futures get one another in a circle, the stack is nearly used up, or
  ///   the caller may not wait; std::bad_alloc
  std::conditional_t<std::is_void_v<T>, void, std::add_lvalue_reference_t<const T>> get() const {
    if (!ready()) state_->wait();
    if (state_->failure()) std::rethrow_exception(state_->failure());
    if constexpr (!std::is_void_v<T>) return *state_->value;
  }
  /// Calls `call(value)`, or `call()` where there is no value, in a task when this future is ready. If this one has an
  /// exception, the call does not run, and the other future has the same exception.
  /// \throws std::bad_alloc
  template <typename Call>
  auto then(Call call, const std::source_location& where = std::source_location::current()) const {
    auto with_value = [of = *this, call = std::move(call)]() mutable {
      if constexpr (std::is_void_v<T>) {
        of.get();
        return std::invoke(call);
      } else {
        return std::invoke(call, of.get());
      }
    };
    return SharedFuture<decltype(with_value())>(state_->engine(), std::move(with_value), std::span(this, 1), where);
  }

 private:
  template <typename>
  friend class SharedFuture;
  template <typename>
  friend class AllOf;
  template <std::invocable Call>
  friend auto async(Runtime& runtime, Call call, const std::source_location& where);

  template <typename Call, typename Of>
  SharedFuture(detail::Engine& engine, Call call, std::span<const SharedFuture<Of>> before,
               const std::source_location& where) {
    using Task = detail::FutureTask<T, Call>;
    state_ = new (typename Task::Places{before.size()}) Task(engine, before.size(), where, std::move(call));
    state_->follow([&](std::size_t k) -> detail::FutureState& { return *before[k].state_; });
  }

  detail::ValueState<T>* state_;
};

/// Calls `call()` in a task. \returns its result, when it comes \throws std::bad_alloc
template <std::invocable Call>
auto async(Runtime& runtime, Call call, const std::source_location& where = std::source_location::current()) {
  using Future = SharedFuture<std::invoke_result_t<Call&>>;
  return Future(detail::engine_of(runtime), std::move(call), std::span<const Future>(), where);
}

/// Several futures, and a place to say what follows all of them.
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
  auto then(Call call, const std::source_location& where = std::source_location::current()) && {
    const std::span<const SharedFuture<T>> before(futures_);  // which stay where they are when the vector moves
    detail::Engine& engine = before[0].state_->engine();
    auto with_futures = [futures = std::move(futures_), call = std::move(call)]() mutable {
      for (const SharedFuture<T>& one : futures) one.get();
      if constexpr (std::invocable<Call&, const std::vector<SharedFuture<T>>&>)
        return std::invoke(call, std::as_const(futures));
      else
        return std::invoke(call);
    };
    return SharedFuture<decltype(with_futures())>(engine, std::move(with_futures), before, where);
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
