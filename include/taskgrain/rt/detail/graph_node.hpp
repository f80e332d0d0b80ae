#pragma once

/// The parts of a node of a graph: its function, the start of its device, and its name.

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "taskgrain/rt/issue.hpp"

namespace taskgrain::rt {
struct Turn;
}

namespace taskgrain::rt::detail {

/// The runtime destroys the functions of tasks where nobody could catch.
template <typename F>
constexpr void check_function() noexcept {
  static_assert(std::is_nothrow_destructible_v<F>, "the destructor of a task's function may not throw");
}

/// A call and up to 32 bytes beside it; a larger function lies elsewhere, among those that the graph owns.
class Action {
 public:
  Action() = default;
  template <typename F>
  Action(F function, std::vector<std::shared_ptr<void>>& owned) {
    check_function<F>();
    if constexpr (std::is_trivially_copyable_v<F> && sizeof(F) <= sizeof(bytes_) && alignof(F) <= alignof(void*)) {
      std::memcpy(bytes_, &function, sizeof(F));
      call_ = [](void* bytes, const Turn& turn) { (*static_cast<F*>(bytes))(turn); };
    } else {
      auto kept = std::make_shared<F>(std::move(function));
      F* pointer = kept.get();
      std::memcpy(bytes_, &pointer, sizeof pointer);
      owned.push_back(std::move(kept));
      call_ = [](void* bytes, const Turn& turn) { (**static_cast<F**>(bytes))(turn); };
    }
  }
  using Call = void (*)(void* bytes, const Turn& turn);
  static constexpr std::size_t room = 32;
  /// \param bytes  as many as there is room for
  Action(Call call, const void* bytes) noexcept : call_(call) { std::memcpy(bytes_, bytes, room); }

  void operator()(const Turn& turn) { call_(bytes_, turn); }
  explicit operator bool() const noexcept { return call_ != nullptr; }

 private:
  Call call_ = nullptr;
  alignas(void*) std::byte bytes_[room];
};

/// The start of an asynchronous task, and what the runtime does with its events, without their type.
///
/// Two events are of the same type if these are the same object.
struct EventType {
  std::size_t size;
  void (*copy)(void* to, const void* from) noexcept;
  void (*relocate)(void* to, void* from) noexcept;  ///< move, and destroy what is left
  void (*destroy)(void* event) noexcept;
};

template <typename E>
inline constexpr EventType event_type{
    sizeof(E), [](void* to, const void* from) noexcept { ::new (to) E(*static_cast<const E*>(from)); },
    [](void* to, void* from) noexcept {
      ::new (to) E(std::move(*static_cast<E*>(from)));
      std::destroy_at(static_cast<E*>(from));
    },
    [](void* event) noexcept { std::destroy_at(static_cast<E*>(event)); }};

struct Start {
  const EventType* type = nullptr;
  void* function = nullptr;  ///< the graph owns it
  /// Calls it with `number` events and puts what it returns where `event` points.
  void (*call)(void* function, const Turn& turn, const void* after, std::size_t number, const Done& done,
               void* event) = nullptr;

  template <typename E, typename F>
  static Start of(F& function) noexcept {
    return {&event_type<E>, &function,
            [](void* f, const Turn& turn, const void* after, std::size_t number, const Done& done, void* event) {
              ::new (event) E((*static_cast<F*>(f))(turn, Issue<E>{{static_cast<const E*>(after), number}, done}));
            }};
  }
};

/// The names of the tasks of a graph, for errors and traces.
class TaskNames {
 public:
  explicit TaskNames(std::string graph) : graph_(std::move(graph)) {}

  const std::string& graph() const noexcept { return graph_; }
  /// \param name  empty: the task is called by its number
  void name(std::size_t task, std::string name) {
    if (name.empty()) return;
    if (names_.size() <= task) names_.resize(task + 1);
    names_[task] = std::move(name);
  }
  std::string text(std::size_t task) const {
    const bool named = task < names_.size() && !names_[task].empty();
    return graph_ + " " + (named ? names_[task] : std::to_string(task));
  }

 private:
  std::string graph_;
  std::vector<std::string> names_;  // as far as any was given
};

}  // namespace taskgrain::rt::detail
