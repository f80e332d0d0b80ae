#pragma once

/// An entry of a queue or a mailbox: a handler and 24 bytes of payload.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

class Worker;

/// Bytes of a key, or of whatever else a handler needs. Copied word by word through atomics.
struct Payload {
  std::uint64_t words[3] = {};

  /// What its bytes are a copy of. Pairs and tuples of numbers are, though the standard library's assign themselves in
  /// their own way and are not trivially copyable for that.
  template <typename T>
  static constexpr bool fits =
      std::is_trivially_copy_constructible_v<T> && std::is_trivially_destructible_v<T> && sizeof(T) <= sizeof(words);

  template <typename T>
    requires fits<T>
  static Payload of(const T& value) noexcept {
    Payload payload;
    std::memcpy(payload.words, &value, sizeof(T));
    return payload;
  }
  template <typename T>
    requires fits<T>
  T as() const noexcept {
    alignas(T) std::byte bytes[sizeof(T)];
    std::memcpy(bytes, words, sizeof(T));
    return *reinterpret_cast<T*>(bytes);
  }
};

/// A handler: it receives messages and runs tasks. Taskflow and CompiledGraph are handlers.
class Handler {
 public:
  virtual ~Handler() = default;

  // What goes wrong in these two fails the run: they throw nothing.
  /// A message to this worker has come. Called by the worker's thread.
  virtual void deliver(Worker& here, const Payload& message) noexcept = 0;
  /// Runs a task that was ready. Called by the thread of the worker that has it.
  virtual void run(Worker& here, const Payload& task) noexcept = 0;
  /// A message or task is dropped because the run has failed.
  virtual void drop(const Payload& /*payload*/) noexcept {}
  /// The name and key of a task, for people.
  virtual std::string describe(const Payload& task) const = 0;

  /// Appends the tasks that wait for what can no longer come, up to `most` in all. Called when all workers are idle.
  /// \returns how many there are
  virtual std::size_t stuck(std::vector<StuckTask>& tasks, std::size_t most) const = 0;
  /// Forgets all that is unfinished. Called when all workers are idle.
  virtual void abandon() noexcept = 0;
};

struct Entry {
  Handler* handler = nullptr;
  Payload payload;

  Entry() = default;
  Entry(Handler* to, const Payload& what) noexcept : handler(to), payload(what) {}
  Entry(const Entry&) = default;
  /// Word by word: what was just put together in registers would be stored and loaded again in wider pieces, and wait
  /// for that.
  Entry& operator=(const Entry& other) noexcept {
    handler = other.handler;
    for (int k = 0; k < 3; ++k) payload.words[k] = other.payload.words[k];
    return *this;
  }
};

}  // namespace taskgrain::rt::detail
