#pragma once

/// The tasks of a Taskflow: functions that were set one by one, or an object whose members they are.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"

namespace taskgrain::rt {
struct StuckTask;
}

namespace taskgrain::rt::detail {

// Not in templates, which each user compiles:
/// \throws UsageError
[[noreturn]] void throw_usage(std::initializer_list<std::string_view> words);
void add_stuck(std::vector<StuckTask>& tasks, std::string task, std::int64_t fulfilled, std::int64_t indegree);

/// A function of a key, called through one pointer with the key in a register. std::function would pass the key through
/// memory and test at each call whether it is empty, a third of what a dependence costs.
template <typename Result, typename Key>
class Function {
 public:
  Function() = default;
  template <typename F>
    requires(std::is_invocable_r_v<Result, F&, Key> && !std::is_same_v<std::remove_cvref_t<F>, Function>)
  Function(F&& function)  // NOLINT: as a lambda is given
      : target_(new std::decay_t<F>(std::forward<F>(function)),
                [](void* target) { delete static_cast<std::decay_t<F>*>(target); }),
        call_([](void* target, Key key) -> Result {
          return static_cast<Result>((*static_cast<std::decay_t<F>*>(target))(key));
        }) {}

  /// \pre it is set
  Result operator()(Key key) const { return call_(target_.get(), key); }
  explicit operator bool() const noexcept { return call_ != nullptr; }

 private:
  std::unique_ptr<void, void (*)(void*)> target_{nullptr, nullptr};
  Result (*call_)(void* target, Key key) = nullptr;
};

/// The type by which functions of a task get its key: small ones by value.
template <typename K>
using KeyOf = std::conditional_t<Payload::fits<K>, K, const K&>;

/// The functions of a Taskflow, which are set one by one. Whoever uses them says what is missing.
template <typename K>
struct Functions {
  using Key = KeyOf<K>;

  Function<int, Key> indegree;
  Function<void, Key> run;
  Function<int, Key> worker;
  Function<int, Key> priority;
  Function<bool, Key> bound;
  bool ranked = false;  // whether tasks have a priority or may be bound
};

template <typename K>
struct Nobody {
  void operator()(KeyOf<K>) const noexcept {}
  void operator()(int, const auto&, const auto&...) const noexcept {}
};

// What an object may have beside indegree and run.
template <typename T, typename K>
concept WithWorker = requires(T& tasks, KeyOf<K> key) {
  { tasks.worker(key) } -> std::convertible_to<int>;
};
template <typename T, typename K>
concept WithPriority = requires(T& tasks, KeyOf<K> key) {
  { tasks.priority(key) } -> std::convertible_to<int>;
};
template <typename T, typename K>
concept WithBound = requires(T& tasks, KeyOf<K> key) {
  { tasks.bound(key) } -> std::convertible_to<bool>;
};
template <typename T, typename K>
concept WithAfter = requires(T& tasks, KeyOf<K> key, const Nobody<K>& notify) { tasks.after(key, notify); };
template <typename T, typename K>
concept WithNumber = requires(const T& tasks, KeyOf<K> key) {
  { tasks.number(key) } -> std::convertible_to<std::size_t>;
};

/// Finds out whether an object has a member of any kind by one of these names, be it a function, a template or
/// overloads. Then `T` and `Names` both have it, and the name is ambiguous in `WithNames`.
struct Names {
  int worker, priority, bound, after, number;
};
template <typename T>
struct WithNames : T, Names {};
template <typename T>
  requires std::is_final_v<T>
struct WithNames<T> : Names {};  // no class can be derived from it: only what has an address is found

/// True if an object's member of this name can be called as it must be, or it has none. A member that cannot would be
/// left out in silence. One with another name is the user's own.
template <typename T, typename K>
constexpr bool worker_is_right = WithWorker<T, K> || (requires { &WithNames<T>::worker; } && !requires { &T::worker; });
template <typename T, typename K>
constexpr bool priority_is_right =
    WithPriority<T, K> || (requires { &WithNames<T>::priority; } && !requires { &T::priority; });
template <typename T, typename K>
constexpr bool bound_is_right = WithBound<T, K> || (requires { &WithNames<T>::bound; } && !requires { &T::bound; });
template <typename T, typename K>
constexpr bool after_is_right = WithAfter<T, K> || (requires { &WithNames<T>::after; } && !requires { &T::after; });
template <typename T, typename K>
constexpr bool number_is_right = WithNumber<T, K> || (requires { &WithNames<T>::number; } && !requires { &T::number; });

/// Tasks that say how many of its ready tasks a worker runs before it looks for messages.
template <typename T>
concept WithAtOnce = requires {
  { T::at_once } -> std::convertible_to<std::size_t>;
};

}  // namespace taskgrain::rt::detail
