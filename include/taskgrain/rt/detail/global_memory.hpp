#pragma once

/// The interface behind GlobalMemory and GlobalArray (src/rt/global).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>

#include "taskgrain/rt/sequence.hpp"

namespace taskgrain::rt {

class Communicator;

struct GlobalMemoryOptions {
  /// The most bytes of copies of what other hosts own. What is checked out has to fit.
  std::size_t cache_bytes = std::size_t{64} << 20;
  /// True: ranks of one host read and write each other's elements where they are. False: each rank is a host of its
  /// own, to try here what a program does on several.
  bool in_place = true;
  /// True: each `fence` looks for races, that is, for two uses of an element since the last fence, of which one writes,
  /// by two ranks or by two calls of the body of a loop. The memory keeps each checkout until then.
  bool check = false;
};

namespace detail {

/// Block-cyclic: element i is of rank (first + i / block) mod ranks.
struct GlobalLayout {
  std::size_t size, block;
  int ranks, first = 0;

  int owner(std::size_t index) const noexcept {
    return static_cast<int>((static_cast<std::size_t>(first) + index / block) % static_cast<std::size_t>(ranks));
  }
  /// The number of a rank's block in each turn.
  std::size_t place(int rank) const noexcept {
    return static_cast<std::size_t>(rank < first ? rank - first + ranks : rank - first);
  }
  /// The number of a rank's elements that lie before an index.
  std::size_t before(int rank, std::size_t index) const noexcept {
    const std::size_t turn = block * static_cast<std::size_t>(ranks), begin = place(rank) * block;
    const std::size_t rest = index % turn;
    return index / turn * block + (rest < begin ? 0 : std::min(rest - begin, block));
  }
  /// The k-th element of a rank.
  std::size_t index(int rank, std::size_t k) const noexcept {
    return (k / block * static_cast<std::size_t>(ranks) + place(rank)) * block + k % block;
  }
};

struct GlobalCopy;

/// The name by which any rank finds an array.
struct GlobalName {
  std::uint64_t number;      ///< the same on all ranks; of one that a rank has made alone, that rank is in it
  std::size_t size, offset;  ///< of the elements in the memory of that rank, if it shares it
};

/// The elements of one array that are of this rank's host, one after another in the order of their indices.
struct GlobalStorage {
  std::uint64_t number;  ///< as in GlobalName
  std::string name;
  GlobalLayout layout;
  std::size_t element_bytes;
  std::byte* elements = nullptr;
  bool all_here = false;                 ///< all ranks are of this host
  bool checks = false;                   ///< GlobalMemoryOptions::check
  std::size_t offset = 0;                ///< as in GlobalName
  mutable std::size_t longest_copy = 0;  ///< the most elements of a copy that was listed since the last fence
};

/// The number of the call that this thread is in, among those that may run beside each other: 0 for the program of the
/// rank, or 1 + the number of the call in a loop.
inline constinit thread_local std::uint64_t global_strand = 0;

/// The part of a rank in the memory of all.
///
///   between two fences no rank writes what another one reads, so a copy made since the last fence is as its home
///   a fence ends when what was written here before it is at home, and all ranks have come to it
///   this rank neither gets nor puts elements again that it has put, until it hears that they have come: messages may
///   overtake each other
class GlobalMemoryCore {
 public:
  virtual ~GlobalMemoryCore() = default;

  /// \param runtime_communicator  null: this rank is alone
  static std::shared_ptr<GlobalMemoryCore> make(Communicator* runtime_communicator, GlobalMemoryOptions options);

  virtual int rank() const noexcept = 0;
  virtual int ranks() const noexcept = 0;
  /// Makes an array of zeros. All ranks call it. \param block  0: as few blocks as ranks
  virtual GlobalStorage& add(std::string name, std::size_t size, std::size_t element_bytes, std::size_t block) = 0;
  /// Makes an array whose elements are all of this rank, which alone calls it.
  virtual GlobalStorage& add_own(std::string name, std::size_t size, std::size_t element_bytes) = 0;
  /// \throws UsageError  it has ended
  virtual std::shared_ptr<GlobalStorage> find(const GlobalName& name, std::size_t element_bytes) = 0;
  /// The next fence frees it; what this rank has made alone, it frees now.
  virtual void remove(GlobalStorage& storage) noexcept = 0;
  /// Does GlobalMemory::fence. All ranks call it.
  virtual void fence() = 0;
  /// Waits as `fence` does. All ranks call it, and use nothing afterwards.
  virtual void close() noexcept = 0;
  /// Waits until what this rank has written is at home, so that another rank may read it.
  virtual void release() = 0;
  /// Forgets copies, so that this rank reads what others have written.
  virtual void acquire() noexcept = 0;
  /// Begins or ends to note uses.
  virtual void look_for_races(bool looks) noexcept = 0;
  /// Answers other hosts, if it has not for some microseconds: between the calls of a loop, which may be long.
  virtual void answer_now_and_then() = 0;
  /// Fails all ranks, because of the exception that is being handled.
  virtual void fail() noexcept = 0;

  /// \param copy  set to what `check_in` wants; null: the elements are in place
  /// \returns     where the elements are
  virtual std::byte* check_out(const GlobalStorage& storage, std::size_t first, std::size_t count, Mode mode,
                               GlobalCopy*& copy) = 0;
  virtual void check_in(GlobalCopy& copy, Mode mode) noexcept = 0;
  virtual void prefetch(const GlobalStorage& storage, std::size_t first, std::size_t count) = 0;
  /// Keeps a use until the next fence, which looks for races.
  virtual void note(const GlobalStorage& storage, std::size_t first, std::size_t count, Mode mode,
                    const std::source_location& where) = 0;
};

/// Calls `call`, which this rank does alone while others wait for it. An exception fails them all.
template <typename Call>
auto failing_all(GlobalMemoryCore& memory, const Call& call) {
  try {
    return call();
  } catch (...) {
    memory.fail();
    throw;
  }
}

}  // namespace detail

}  // namespace taskgrain::rt
