#pragma once

/// The kinds of active messages that this rank has made, and those of which other ranks have told.
///
/// All ranks make the same kinds in the same order, so that number n is the same kind on all. A rank declares a kind to
/// another before it first sends it a message of that kind.
///   declared_[n][r] = what rank r calls kind n, until this rank makes that kind, and compares

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt::detail {

struct DeclaredKind : MessageKind {
  DeclaredKind(MessageKind&& of, int ranks)
      : MessageKind(std::move(of)), declared_to(new std::atomic<bool>[static_cast<std::size_t>(ranks)]()) {}
  std::unique_ptr<std::atomic<bool>[]> declared_to;  // by rank: whether it knows the text of this kind
};

/// The kinds of messages of this rank. The functions are called under the polling lock.
class MessageKinds {
 public:
  explicit MessageKinds(int ranks) noexcept : ranks_(ranks) {}

  /// \returns the kind, at an address that does not change
  const DeclaredKind& add(MessageKind&& kind);
  /// Null if this rank has not made it.
  const DeclaredKind* find(std::uint32_t number) const noexcept {
    return number < kinds_.size() ? &kinds_[number] : nullptr;
  }
  /// A rank has declared a kind.
  void declare(int from, std::uint32_t number, std::string text) { declared_[number][from] = std::move(text); }
  /// Compares what others have declared with the kind of this rank, if it has made that.
  /// \returns how they differ; empty if they do not
  std::string difference(std::uint32_t number);
  /// The name that a rank gives a kind that this rank has not made.
  std::string name_by(int from, std::uint32_t number) const;

  /// The text that ranks compare: the same on all of them.
  static std::string text(const MessageKind& kind);
  /// A call " of " a type, as people write that.
  static std::string readable(const std::string& call);

 private:
  const int ranks_;
  std::deque<DeclaredKind> kinds_;  // a deque, because pointers to its elements stay valid
  std::map<std::uint32_t, std::map<int, std::string>> declared_;
};

}  // namespace taskgrain::rt::detail
