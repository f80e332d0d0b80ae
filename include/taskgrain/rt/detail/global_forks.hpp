#pragma once

/// The interface behind GlobalForks (src/rt/global/global_forks.cpp).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "taskgrain/rt/detail/global_memory.hpp"

namespace taskgrain::rt::detail {

/// A function that any rank may be given a call of.
struct GlobalCall {
  virtual ~GlobalCall() = default;
  /// \param arguments, result  as bytes, aligned to 16
  virtual void run(const std::byte* arguments, std::byte* result) = 0;

  std::string name, signature;
  std::uint32_t number = 0;
  std::size_t arguments_bytes = 0, result_bytes = 0;
};

/// A fork on the stack of its maker.
struct GlobalFrame {
  enum class State : std::uint8_t {
    queued,
    away,  ///< with another rank, or below on this stack
    done,
    threw
  };

  GlobalCall* call;
  const std::byte* arguments;
  std::byte* result;
  std::uint64_t number = 0;  // among those of this rank
  GlobalFrame *older = nullptr, *newer = nullptr;
  // Threads of the maker's rank change it to `queued` and `away` under the mutex of the core. The thread that runs the
  // call, or receives its answer, stores the end with release, after the result or one of the two below.
  std::atomic<State> state{State::queued};
  std::string error{};          ///< what it threw elsewhere
  std::exception_ptr thrown{};  ///< what it threw here
};

/// Forks of a rank, and calls that it has from others.
///
///   a frame is in the list of its rank while it is queued, in the order of forks; the oldest is given away
///   a rank has one question to each other one under way at most
///   a call that was given begins in a thread that waits, or goes back when none does
///   what a rank has written is at home before it gives a call away, and before it answers one
///   copies are dropped before a call from another rank begins, and when an answer has come
class GlobalForksCore {
 public:
  virtual ~GlobalForksCore() = default;

  static std::shared_ptr<GlobalForksCore> make(Communicator* comm, std::shared_ptr<GlobalMemoryCore> memory);

  virtual int rank() const noexcept = 0;
  virtual void add(GlobalCall& call) = 0;
  virtual void fork(GlobalFrame& frame) = 0;
  /// \returns true if the caller is to run it; else it is done, or threw
  virtual bool join(GlobalFrame& frame) = 0;
  /// \returns when nobody runs it, and nobody will
  virtual void drop(GlobalFrame& frame) noexcept = 0;
  /// Begins a run. All ranks call it, before `called` runs on rank 0 and the others take parts of it.
  virtual void begin(const GlobalCall& called) = 0;
  /// Runs calls of others until rank 0 ends. All ranks but 0 call it.
  virtual void help(std::byte* result, std::size_t bytes) = 0;
  /// Ends the run with its result. Rank 0 calls it. \param error  what the call has thrown
  virtual void end(const std::byte* result, std::size_t bytes, const std::optional<std::string>& error) = 0;
};

}  // namespace taskgrain::rt::detail
