#pragma once

/// A function of a key, called through one pointer with the key in registers. (std::function passes arguments by
/// reference, through memory, and asks at each call whether it is empty; here that would be a third of what a
/// dependence costs.)

#include <memory>
#include <type_traits>
#include <utility>

namespace taskgrain::rt::detail {

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

}  // namespace taskgrain::rt::detail
