#pragma once

/// The start of an asynchronous task, and what the runtime does with its events, without their type.

#include <cstddef>
#include <memory>
#include <new>

#include "taskgrain/rt/issue.hpp"

namespace taskgrain::rt {
struct Turn;
}

namespace taskgrain::rt::detail {

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

}  // namespace taskgrain::rt::detail
