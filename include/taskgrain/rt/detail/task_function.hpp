#pragma once

/// The function of a task of a sequence. It is made in a place that is used again and again, called and destroyed
/// there.

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "taskgrain/rt/detail/graph_node.hpp"
#include "taskgrain/rt/task_graph.hpp"

namespace taskgrain::rt::detail {

template <typename F>
decltype(auto) call_with(const Turn& turn, F& function) {
  static_assert(std::is_invocable_v<F&, const Turn&> || std::is_invocable_v<F&>,
                "a task is a function of nothing, or of a const Turn&");
  if constexpr (std::is_invocable_v<F&, const Turn&>)
    return function(turn);
  else if constexpr (std::is_invocable_v<F&>)
    return function();
}

/// The arguments of the function of an asynchronous task.
struct StartTurn : Turn {
  const void* after;  // events of its type
  std::size_t number;
  const Done& done;
  void* event;  // where it puts its own
};

/// The function of an asynchronous task. \pre the turn is a StartTurn
template <typename E, typename F>
void start_with(const Turn& turn, F& start) {
  const auto& own = static_cast<const StartTurn&>(turn);
  ::new (own.event) E(start(turn, Issue<E>{{static_cast<const E*>(own.after), own.number}, own.done}));
}

/// The function of a task. It allocates nothing if the function has at most 64 bytes and moves without exceptions.
class TaskFunction {
 public:
  TaskFunction() = default;
  TaskFunction(TaskFunction&& other) noexcept { take(other); }
  TaskFunction& operator=(TaskFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~TaskFunction() { reset(); }

  /// \param function  of a Turn, or of nothing
  template <typename F>
  void emplace(F function) {
    check_function<F>();
    reset();
    if constexpr (fits<F>) {
      new (bytes_) F(std::move(function));
      kind_ = &kind_of<F>;
    } else {
      new (bytes_) F*(new F(std::move(function)));
      kind_ = &kind_of_box<F>;
    }
  }
  /// \pre it is set
  void operator()(const Turn& turn) { kind_->call(bytes_, turn); }
  /// A copy of a small function, or a call of this one, which stays in its place.
  /// \pre it is set
  Action action() const noexcept {
    if (kind_->copied) return {kind_->call, bytes_};
    const void* pointer[Action::room / sizeof(void*)] = {bytes_};
    return {kind_->call_at, pointer};
  }
  /// Writes nothing if the function needs no destruction: another thread may have just read it.
  void reset() noexcept {
    if (kind_ != nullptr && kind_->destroy != nullptr) std::exchange(kind_, nullptr)->destroy(bytes_);
  }

 private:
  static constexpr std::size_t room = 64;
  template <typename F>
  static constexpr bool fits =
      sizeof(F) <= room && alignof(F) <= alignof(void*) && std::is_nothrow_move_constructible_v<F>;

  struct Kind {
    bool copied;  // an Action has a copy
    Action::Call call;
    Action::Call call_at;                                   // of a pointer to the bytes
    void (*move)(std::byte* from, std::byte* to) noexcept;  // and destroys what it has moved from
    void (*destroy)(std::byte* bytes) noexcept;             // null: there is nothing to do
  };
  template <typename F>
  static F& as(void* bytes) noexcept {
    return *std::launder(static_cast<F*>(bytes));
  }
  template <typename F>
  static constexpr Kind kind_of = {
      std::is_trivially_copyable_v<F> && sizeof(F) <= Action::room && alignof(F) <= alignof(void*),
      [](void* bytes, const Turn& turn) { call_with(turn, as<F>(bytes)); },
      [](void* pointer, const Turn& turn) { call_with(turn, as<F>(*static_cast<void**>(pointer))); },
      [](std::byte* from, std::byte* to) noexcept {
        new (to) F(std::move(as<F>(from)));
        as<F>(from).~F();
      },
      std::is_trivially_destructible_v<F> ? nullptr : +[](std::byte* bytes) noexcept { as<F>(bytes).~F(); },
  };
  template <typename F>
  static constexpr Kind kind_of_box = {
      false,
      [](void* bytes, const Turn& turn) { call_with(turn, *as<F*>(bytes)); },
      [](void* pointer, const Turn& turn) { call_with(turn, *as<F*>(*static_cast<void**>(pointer))); },
      [](std::byte* from, std::byte* to) noexcept { new (to) F*(as<F*>(from)); },
      [](std::byte* bytes) noexcept { delete as<F*>(bytes); },
  };

  void take(TaskFunction& other) noexcept {
    kind_ = std::exchange(other.kind_, nullptr);
    if (kind_ != nullptr) kind_->move(other.bytes_, bytes_);
  }

  const Kind* kind_ = nullptr;  // first, so that it lies in one cache line with a small function
  alignas(void*) std::byte bytes_[room];
};

}  // namespace taskgrain::rt::detail
