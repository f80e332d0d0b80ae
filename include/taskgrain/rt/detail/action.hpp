#pragma once

/// What a task of a graph does, kept so that a record of a task is contiguous.

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace taskgrain::rt {
struct Turn;
}

namespace taskgrain::rt::detail {

/// A call and up to 32 bytes beside it; a larger function lies elsewhere, among those that the graph owns.
class Action {
 public:
  Action() = default;
  template <typename F>
  Action(F function, std::vector<std::shared_ptr<void>>& owned) {
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
  void operator()(const Turn& turn) { call_(bytes_, turn); }
  explicit operator bool() const noexcept { return call_ != nullptr; }

 private:
  void (*call_)(void* bytes, const Turn& turn) = nullptr;
  alignas(void*) std::byte bytes_[32];
};

}  // namespace taskgrain::rt::detail
