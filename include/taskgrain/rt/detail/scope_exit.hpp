#pragma once

/// A call at the end of a scope, and another value of a variable until then.

#include <utility>

namespace taskgrain::rt::detail {

/// Calls `call` where its scope ends, also by an exception (std::experimental::scope_exit).
template <typename Call>
class ScopeExit {
 public:
  explicit ScopeExit(Call call) noexcept : call_(std::move(call)) {}
  ~ScopeExit() { call_(); }
  ScopeExit(const ScopeExit&) = delete;
  ScopeExit& operator=(const ScopeExit&) = delete;

 private:
  Call call_;
};

/// While it lives, the variable has this value.
template <typename T>
class ScopedValue {
 public:
  ScopedValue(T& variable, T value) noexcept : variable_(variable), before_(std::exchange(variable, value)) {}
  ~ScopedValue() { variable_ = before_; }
  ScopedValue(const ScopedValue&) = delete;
  ScopedValue& operator=(const ScopedValue&) = delete;

 private:
  T& variable_;
  const T before_;
};

}  // namespace taskgrain::rt::detail
