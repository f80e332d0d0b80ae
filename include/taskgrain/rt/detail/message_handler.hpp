#pragma once

/// Handlers that have messages, and neither tasks nor failures of their own: those of the engine itself, and one beside a
/// flow, which answers for it.

#include "taskgrain/rt/detail/entry.hpp"

namespace taskgrain::rt::detail {

class MessageHandler : public Handler {
 public:
  void run(Worker&, const Payload&) noexcept final {}  // never
  std::string describe(const Payload&) const final { return {}; }
  bool idle() const noexcept final { return true; }
  bool done() const noexcept final { return true; }
  std::size_t waiting(int, std::vector<StuckTask>&, std::size_t) const final { return 0; }
  bool broken() const noexcept final { return false; }
  void stop(const std::exception_ptr&) noexcept final {}
  void forget(int) noexcept final {}
  void reopen() noexcept final {}
};

}  // namespace taskgrain::rt::detail
