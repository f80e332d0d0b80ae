#pragma once

/// Calls that other ranks may take: recursion in parallel over all ranks.
///
///     rt::GlobalForks forks(memory);
///     rt::GlobalFunction<long(int)> fib = forks.function([&](int n) -> long {
///       if (n < 20) return serial_fib(n);
///       auto left = fib.fork(n - 1);
///       const long right = fib(n - 2);
///       return left.join() + right;
///     }, "fib");
///     const long result = forks.run(fib, 40);  // by all ranks

#include "taskgrain/rt/detail/cxx20.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "taskgrain/rt/detail/global_forks.hpp"
#include "taskgrain/rt/fork_join.hpp"
#include "taskgrain/rt/global_array.hpp"

namespace taskgrain::rt {

/// A call that another rank has run threw; the message is that of the exception.
struct ThrownElsewhere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace detail {

/// The message of `ThrownElsewhere` on other ranks, for an exception of this rank.
inline std::string text_for_others(int rank, const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ThrownElsewhere& elsewhere) {  // which says where
    return elsewhere.what();
  } catch (...) {
    return "rank " + std::to_string(rank) + ": " + message_of_current();
  }
}

template <typename Signature>
struct TypedCall;

/// True for a type that travels as its bytes.
template <typename T>
inline constexpr bool travels =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !is_view<T> && alignof(T) <= 16;
template <>
inline constexpr bool travels<void> = true;

template <typename R, typename... Args>
struct TypedCall<R(Args...)> final : GlobalCall {
  static_assert((travels<std::decay_t<Args>> && ...), "arguments go to another rank as bytes");
  static_assert(travels<R>, "the result comes from another rank as bytes");
  using Kept = std::conditional_t<std::is_void_v<R>, Nothing, R>;

  TypedCall(std::function<R(Args...)> calls, std::string named) : function(std::move(calls)) {
    name = std::move(named);
    signature = name_of<R(Args...)>();
    arguments_bytes = (std::size_t{0} + ... + room<std::decay_t<Args>>);
    result_bytes = sizeof(Kept);
  }
  template <typename T>
  static constexpr std::size_t room = (sizeof(T) + 15) / 16 * 16;
  static constexpr std::size_t room_of_all = (std::size_t{16} + ... + room<std::decay_t<Args>>);

  static void keep(std::byte* to, const std::decay_t<Args>&... args) {
    ((std::memcpy(to, &args, sizeof args), to += room<std::decay_t<Args>>), ...);
  }
  /// Runs it with arguments that `keep` has written.
  R call_with(const std::byte* from) const {
    [[maybe_unused]] const auto next = [&]<typename T>(std::type_identity<T>) {
      alignas(T) std::byte bytes[sizeof(T)];
      std::memcpy(bytes, from, sizeof bytes);
      from += room<T>;
      return *std::launder(reinterpret_cast<T*>(bytes));
    };
    // Braces, so that they are read from left to right.
    const std::tuple<std::decay_t<Args>...> args{next(std::type_identity<std::decay_t<Args>>())...};
    return std::apply(function, args);
  }
  void run(const std::byte* from, std::byte* result) override {
    if constexpr (std::is_void_v<R>) {
      call_with(from);
    } else {
      const R value = call_with(from);
      std::memcpy(result, &value, sizeof value);
    }
  }

  const std::function<R(Args...)> function;
};

}  // namespace detail

/// A call of a GlobalFunction that another rank may take while this one goes on: as rt::Fork, whose rules it has.
template <typename Signature>
class GlobalFork;
template <typename R, typename... Args>
class [[nodiscard]] GlobalFork<R(Args...)> {
  using Call = detail::TypedCall<R(Args...)>;

 public:
  GlobalFork(detail::GlobalForksCore& core, Call& call, const std::decay_t<Args>&... args)
      : core_(&core), frame_{&call, arguments_, result_} {
    detail::check_stack();
    Call::keep(arguments_, args...);
    core_->fork(frame_);
  }
  GlobalFork(const GlobalFork&) = delete;
  GlobalFork& operator=(const GlobalFork&) = delete;
  ~GlobalFork() {
    if (core_ != nullptr) core_->drop(frame_);
  }

  /// Waits for the call, or makes it here. \returns what it returns
  /// \throws what it throws here; ThrownElsewhere; RankFailed; UsageError  it was joined before
  R join() {
    if (core_ == nullptr) throw UsageError("a GlobalFork is joined once");
    const bool here = core_->join(frame_);
    core_ = nullptr;
    if (here) return static_cast<Call*>(frame_.call)->call_with(arguments_);
    if (frame_.thrown) std::rethrow_exception(std::exchange(frame_.thrown, nullptr));
    if (frame_.state.load() == detail::GlobalFrame::State::threw) throw ThrownElsewhere(frame_.error);
    if constexpr (!std::is_void_v<R>) return *std::launder(reinterpret_cast<R*>(result_));
  }

 private:
  detail::GlobalForksCore* core_;  // null once it is joined
  detail::GlobalFrame frame_;
  alignas(16) std::byte arguments_[Call::room_of_all];
  alignas(16) std::byte result_[sizeof(typename Call::Kept)];
};

/// A function that all ranks have, and whose calls any of them may take. Copies are the same function.
template <typename Signature>
class GlobalFunction;
template <typename R, typename... Args>
class GlobalFunction<R(Args...)> {
 public:
  /// A plain call.
  R operator()(const std::decay_t<Args>&... args) const { return call_->function(args...); }
  /// Makes a call that another rank may take. Only code that `GlobalForks::run` runs may fork.
  [[nodiscard]] GlobalFork<R(Args...)> fork(const std::decay_t<Args>&... args) const {
    return {*core_, *call_, args...};
  }

 private:
  friend class GlobalForks;
  GlobalFunction(detail::GlobalForksCore& core, detail::TypedCall<R(Args...)>& call) : core_(&core), call_(&call) {}

  detail::GlobalForksCore* core_;
  detail::TypedCall<R(Args...)>* call_;
};

/// Calls over all ranks. All make one, and its functions in the same order. It ends before its memory.
///
/// A call reads from global arrays what its maker wrote before the fork, on whichever rank it runs; and its maker reads
/// after the join what the call wrote. Calls that run beside each other write nothing in common.
class GlobalForks {
 public:
  /// All ranks make it.
  explicit GlobalForks(GlobalMemory& memory)
      : memory_(&memory),
        core_(detail::GlobalForksCore::make(memory.runtime().options().communicator, memory.shared_core())) {}
  GlobalForks(const GlobalForks&) = delete;
  GlobalForks& operator=(const GlobalForks&) = delete;

  /// Makes a function. All ranks make the same ones in the same order.
  /// \param function  its arguments and its result travel as bytes
  /// \param name      for errors, and to see that all ranks have the same
  template <typename F>
  auto function(F function, std::string name) {
    return make(std::function(std::move(function)), std::move(name));
  }

  /// Calls the function on rank 0, where it may fork. The others take what it forks. All ranks call it, in the program.
  /// \returns what it returns, on all ranks
  /// \param args  those of rank 0 count
  /// \throws what it throws, elsewhere ThrownElsewhere; RankFailed; UsageError  the ranks have other functions
  template <typename R, typename... Args>
  R run(const GlobalFunction<R(Args...)>& function, const std::type_identity_t<std::decay_t<Args>>&... args) {
    core_->begin(*function.call_);
    typename detail::TypedCall<R(Args...)>::Kept result{};
    auto* const bytes = reinterpret_cast<std::byte*>(&result);
    std::exception_ptr thrown;
    fork_join(memory_->runtime(), [&] {
      const detail::ScopedValue inside(detail::in_program, false);  // a fence would wait for ranks that take forks
      try {
        if (core_->rank() != 0) return core_->help(bytes, sizeof result);
        if constexpr (std::is_void_v<R>)
          function(args...);
        else
          result = function(args...);
      } catch (const RankFailed&) {
        throw;
      } catch (...) {
        thrown = std::current_exception();
      }
      if (core_->rank() == 0)
        detail::failing_all(memory_->core(), [&] {  // the text, too: the others help until they hear of the end
          std::optional<std::string> text;
          if (thrown) text = detail::text_for_others(0, thrown);
          core_->end(bytes, sizeof result, text);
        });
    });
    memory_->fence();  // before a rank leaves by an exception, all know of it
    if (thrown) std::rethrow_exception(thrown);
    if constexpr (!std::is_void_v<R>) return result;
  }

 private:
  template <typename R, typename... Args>
  GlobalFunction<R(Args...)> make(std::function<R(Args...)> function, std::string name) {
    auto call = std::make_unique<detail::TypedCall<R(Args...)>>(std::move(function), std::move(name));
    auto& made = *call;
    core_->add(made);
    calls_.push_back(std::move(call));
    return {*core_, made};
  }

  GlobalMemory* memory_;
  std::shared_ptr<detail::GlobalForksCore> core_;
  std::deque<std::unique_ptr<detail::GlobalCall>> calls_;
};

}  // namespace taskgrain::rt
