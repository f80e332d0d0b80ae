#pragma once

/// A call with a stack of its own that gives way in the middle, so that one thread goes on with several calls that
/// block.

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace taskgrain::rt {

class Fiber {
 public:
  /// \param call  throws nothing, and does not give way while it handles an exception
  explicit Fiber(std::function<void()> call) : call_(std::move(call)) {
    if (stacks().empty()) stacks().push_back(std::make_unique_for_overwrite<std::byte[]>(stack_bytes));
    stack_ = std::move(stacks().back());
    stacks().pop_back();
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_.get();
    own_.uc_stack.ss_size = stack_bytes;
    makecontext(&own_, &Fiber::enter, 0);
#if defined(__SANITIZE_THREAD__)
    tsan_own_ = __tsan_create_fiber(0);
#endif
  }
  /// \pre it has ended
  ~Fiber() {
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(tsan_own_);
#endif
    stacks().push_back(std::move(stack_));
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Goes on until the call gives way or ends. \returns whether it has ended
  bool resume() {
    current() = this;
    switch_to(own_, main_, stack_.get(), stack_bytes);
    current() = nullptr;
    return ended_;
  }
  static bool inside() { return current() != nullptr; }
  /// By the call. Does nothing in what is no fiber.
  static void give_way() {
    Fiber* const self = current();
    if (self != nullptr) self->leave();
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{1} << 18;
  static Fiber*& current() {
    thread_local Fiber* fiber = nullptr;
    return fiber;
  }
  static std::vector<std::unique_ptr<std::byte[]>>& stacks() {
    thread_local std::vector<std::unique_ptr<std::byte[]>> unused;
    return unused;
  }

  static void enter() {
    Fiber& self = *current();
    self.arrive(nullptr);
    self.call_();
    self.ended_ = true;
    self.leave();
  }
  void leave() { switch_to(main_, own_, main_stack_, main_bytes_); }
  void switch_to(ucontext_t& to, ucontext_t& from, [[maybe_unused]] const void* stack,
                 [[maybe_unused]] std::size_t bytes) {
    [[maybe_unused]] void* kept = nullptr;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(ended_ ? nullptr : &kept, stack, bytes);
#endif
#if defined(__SANITIZE_THREAD__)
    if (&from == &main_) tsan_main_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(&to == &own_ ? tsan_own_ : tsan_main_, 0);
#endif
    swapcontext(&from, &to);
    arrive(kept, &from == &own_);
  }
  void arrive([[maybe_unused]] void* kept, [[maybe_unused]] bool in_fiber = true) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(kept, in_fiber ? &main_stack_ : nullptr, in_fiber ? &main_bytes_ : nullptr);
#endif
  }

  const std::function<void()> call_;
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t own_{}, main_{};
  bool ended_ = false;
  const void* main_stack_ = nullptr;
  std::size_t main_bytes_ = 0;
#if defined(__SANITIZE_THREAD__)
  void *tsan_own_ = nullptr, *tsan_main_ = nullptr;
#endif
};

}  // namespace taskgrain::rt
