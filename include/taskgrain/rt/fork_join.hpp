#pragma once

/// Calls that may run beside the one that makes them, and are waited for: recursion in parallel.
///
///     int fib(int n) {
///       if (n < 2) return n;
///       rt::Fork left([=] { return fib(n - 1); });
///       const int right = fib(n - 2);
///       return left.join() + right;
///     }
///     rt::Runtime runtime;
///     const int result = rt::fork_join(runtime, [] { return fib(30); });

#include "taskgrain/rt/detail/cxx20.hpp"

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>
#include <variant>

#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/scope_exit.hpp"
#include "taskgrain/rt/detail/split_deque.hpp"
#include "taskgrain/rt/detail/worker.hpp"
#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt {

namespace detail {

/// The address below which a fork is refused: its branches would overflow the stack of this thread. The highest one
/// while it is not known.
inline constinit thread_local std::uintptr_t stack_end = UINTPTR_MAX;
/// The address below which half of the stack lies; 0 while it is not known.
inline constinit thread_local std::uintptr_t stack_middle = 0;
/// Finds both out. \throws UsageError  the stack ends soon after the address
void check_stack(std::uintptr_t address);
/// \throws UsageError  the stack is nearly used up
[[gnu::always_inline]] inline void check_stack() {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (here < stack_end) [[unlikely]]
    check_stack(here);
}

struct Nothing {};

/// True while this thread runs, in `fork_join`, code that no other thread could run, as the program outside does.
inline constinit thread_local bool in_program = false;

/// The result of a call, or the exception that it has thrown.
template <typename Result>
class Outcome {
 public:
  template <typename Call>
  void run(Call& call) noexcept {
    try {
      if constexpr (std::is_void_v<Result>)
        std::invoke(call);
      else
        held_.template emplace<1>(std::invoke(call));
    } catch (...) {
      held_.template emplace<2>(std::current_exception());
    }
  }
  Result take() {
    if (std::exception_ptr* const thrown = std::get_if<2>(&held_))
      std::rethrow_exception(std::exchange(*thrown, nullptr));
    if constexpr (!std::is_void_v<Result>) return std::get<1>(std::move(held_));
  }

 private:
  std::variant<std::monostate, std::conditional_t<std::is_void_v<Result>, Nothing, Result>, std::exception_ptr> held_;
};

}  // namespace detail

/// A call that another worker may take while this one goes on. If none has taken it, it runs in `join`, as a plain
/// call. A program with forks does what it does without them, where the calls touch nothing in common.
///
/// It needs a worker: make it in `fork_join`, or in a task of any face. It stays where it was made, and ends in the
/// thread that made it. While `join` waits for what another worker has taken, the thread runs parts of that.
///
/// What the call throws, `join` throws. A fork that ends without `join`, because its scope was left by an exception, is
/// dropped if nobody has begun it, and waited for otherwise; what it returns or throws then is lost.
template <typename Call>
  requires std::invocable<Call&>
class [[nodiscard]] Fork final : detail::Branch {
 public:
  using Result = std::invoke_result_t<Call&>;
  static_assert(!std::is_reference_v<Result>, "the call returns a reference: return a pointer");

  /// \throws UsageError  no worker calls, or the stack is nearly used up
  explicit Fork(Call call) : Branch(&run_stolen), call_(std::move(call)), worker_(detail::Worker::current()) {
    detail::check_stack();
    if (worker_ == nullptr) [[unlikely]]
      throw UsageError("a Fork needs a worker: make it in rt::fork_join, or in a task");
    worker_->fork(*this);
  }
  Fork(const Fork&) = delete;
  Fork& operator=(const Fork&) = delete;
  ~Fork() {
    if (worker_ != nullptr) [[unlikely]]
      worker_->drop(*this);
  }

  /// Waits for the call, or makes it here. \returns what it returns
  /// \throws what it throws; UsageError  it was joined before, or another thread made the fork
  Result join() {
    detail::Worker* const worker = std::exchange(worker_, nullptr);
    if (worker == nullptr || worker != detail::Worker::current()) [[unlikely]]
      refuse(worker);
    if (worker->unfork(*this)) {
      if (detail::in_program) [[unlikely]]
        return run_in_program();
      return std::invoke(call_);
    }
    return outcome_.take();
  }

 private:
  static void run_stolen(Branch& branch) noexcept {
    auto& fork = static_cast<Fork&>(branch);
    fork.outcome_.run(fork.call_);
  }
  [[gnu::noinline]] Result run_in_program() {
    const detail::ScopedValue elsewhere(detail::in_program, false);  // another worker could have taken it
    return std::invoke(call_);
  }
  [[noreturn, gnu::noinline]] void refuse(detail::Worker* worker) {
    worker_ = worker;
    throw UsageError(worker == nullptr ? "a Fork is joined once" : "a Fork is joined by the thread that made it");
  }

  [[no_unique_address]] Call call_;
  detail::Worker* worker_;  // null once it is joined
  detail::Outcome<Result> outcome_;
};

/// Calls something on worker 0, which may fork there, and waits. Worker 0 is a thread that waits: this one, unless
/// another waits for the runtime. In a task of this runtime it is a plain call.
/// \returns what the call returns
/// \throws what it throws; UsageError  a task of another runtime calls that a task of this one waits for;
///   std::system_error  there are no threads
template <typename Call>
  requires std::invocable<Call&>
auto fork_join(Runtime& runtime, Call&& call) {
  using Result = std::invoke_result_t<Call&>;
  static_assert(!std::is_reference_v<Result>, "the call returns a reference: return a pointer");
  detail::Engine& engine = detail::engine_of(runtime);
  if (engine.here() != nullptr) return std::invoke(call);
  detail::Outcome<Result> outcome;
  engine.waiting().on_worker(0, [&](int) {
    const detail::ScopedValue here(detail::in_program, true);
    outcome.run(call);
  });
  return outcome.take();
}

}  // namespace taskgrain::rt
