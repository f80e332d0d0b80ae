#pragma once

/// Arrays that all ranks read and write: a global address space.
///
///     rt::Communicator comm;
///     rt::Runtime runtime({.communicator = &comm});
///     rt::GlobalMemory memory(runtime);
///     rt::GlobalArray<double> x(memory, n), y(memory, n);
///     rt::parallel_for(y, [&](std::size_t i) {           // each index on the rank that owns it, then a fence
///       const auto near = x.read(i == 0 ? 0 : i - 1, 2);  // a span, wherever the elements are
///       y.write(i, 1)[0] = near[0] + near[1];
///     });
///
/// What a rank writes, others see after the next `fence`.

#include "taskgrain/rt/detail/cxx20.hpp"

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <ranges>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/detail/global_memory.hpp"
#include "taskgrain/rt/detail/scope_exit.hpp"
#include "taskgrain/rt/parallel.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt {

/// The memory that the ranks of a runtime have together. All make one, and make and end its arrays in the same order.
/// It ends before its runtime and after its arrays.
class GlobalMemory {
 public:
  /// All ranks make it. A runtime without a communicator is alone.
  explicit GlobalMemory(Runtime& runtime, GlobalMemoryOptions options = {})
      : runtime_(&runtime), core_(detail::GlobalMemoryCore::make(runtime.options().communicator, options)) {}
  /// All ranks end it. It waits for them.
  ~GlobalMemory() { core_->close(); }
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;

  int rank() const noexcept { return core_->rank(); }
  int ranks() const noexcept { return core_->ranks(); }
  Runtime& runtime() const noexcept { return *runtime_; }

  /// Waits until all ranks have called it. What any of them wrote before it, all read after it. Nothing may be checked
  /// out. A rank calls it in the program, or in what it calls by `fork_join`, and not in a task, a fork or a loop.
  /// \throws RankFailed; UsageError  in a task; another rank makes another call that waits for all; with
  ///   GlobalMemoryOptions::check on all ranks, a race, with both uses
  void fence() { core_->fence(); }

  // -- for the faces
  detail::GlobalMemoryCore& core() const noexcept { return *core_; }
  const std::shared_ptr<detail::GlobalMemoryCore>& shared_core() const noexcept { return core_; }

 private:
  Runtime* runtime_;
  std::shared_ptr<detail::GlobalMemoryCore> core_;
};

/// The size of the blocks of an array. The ranks own them in turn.
struct Blocks {
  std::size_t of = 0;  ///< elements; 0: one block for each rank. 1 is called cyclic
};

/// Elements of a GlobalArray that this rank uses until the checkout ends: a span, in place or a copy. It ends in any
/// thread of the rank.
template <typename T>
class [[nodiscard]] Checkout {
 public:
  Checkout(Checkout&& other) noexcept
      : elements_(other.elements_), core_(other.core_), copy_(std::exchange(other.copy_, nullptr)), mode_(other.mode_) {
  }
  Checkout& operator=(Checkout&&) = delete;
  ~Checkout() {
    if (copy_ != nullptr) core_->check_in(*copy_, mode_);
  }

  std::span<T> elements() const noexcept { return elements_; }
  T* data() const noexcept { return elements_.data(); }
  std::size_t size() const noexcept { return elements_.size(); }
  T* begin() const noexcept { return elements_.data(); }
  T* end() const noexcept { return elements_.data() + elements_.size(); }
  T& operator[](std::size_t k) const noexcept { return elements_[k]; }

 private:
  template <typename>
  friend class GlobalElements;
  Checkout(std::span<T> elements, detail::GlobalMemoryCore& core, detail::GlobalCopy* copy, Mode mode) noexcept
      : elements_(elements), core_(&core), copy_(copy), mode_(mode) {}

  std::span<T> elements_;
  detail::GlobalMemoryCore* core_;
  detail::GlobalCopy* copy_;  // null: in place, or moved from
  Mode mode_;
};

/// The name of an array, as bytes: an argument of a fork, or an element of another array.
template <typename T>
class GlobalReference {
 public:
  std::size_t size() const noexcept { return name_.size; }

 private:
  template <typename>
  friend class GlobalElements;
  explicit GlobalReference(const detail::GlobalName& name) noexcept : name_(name) {}

  detail::GlobalName name_;
};

/// The elements of an array, for a rank that reads and writes them.
///
/// Any thread of a rank checks elements out, uses the span, and ends it. Where the elements are of this host, that is
/// where they are; else a copy, which comes in one message from each host. Between two fences, several may read an
/// element, or one may write it.
template <typename T>
class GlobalElements {
  static_assert(std::is_trivially_copyable_v<T>, "the elements travel as bytes");
  static_assert(!std::is_pointer_v<T> && !detail::is_view<T>, "an address says nothing on another rank");
  static_assert(alignof(T) <= detail::apart, "the memory is aligned to 128 bytes");

 public:
  /// Finds the elements of an array that this rank, or another one, has made.
  /// \throws UsageError  this rank knows that it has ended; the reference is of zeros, or to elements of other size
  GlobalElements(GlobalMemory& memory, const GlobalReference<T>& reference)
      : memory_(&memory), keeps_(memory.core().find(reference.name_, sizeof(T))), storage_(keeps_.get()) {}

  GlobalMemory& memory() const noexcept { return *memory_; }
  std::size_t size() const noexcept { return storage_->layout.size; }
  /// The rank that an element is dealt to. \pre index < size
  int owner(std::size_t index) const noexcept { return storage_->layout.owner(index); }
  /// The name by which other ranks use the elements.
  GlobalReference<T> reference() const noexcept {
    return GlobalReference<T>({storage_->number, size(), storage_->offset});
  }

  // -- checkouts. \throws UsageError  there are no such elements; they do not fit into the cache. RankFailed

  Checkout<const T> read(std::size_t first, std::size_t count,
                         std::source_location where = std::source_location::current()) const {
    return check_out<const T>(first, count, Mode::read, where);
  }
  /// Each element has to be written: what was there is not copied.
  Checkout<T> write(std::size_t first, std::size_t count,
                    std::source_location where = std::source_location::current()) const {
    return check_out<T>(first, count, Mode::write, where);
  }
  Checkout<T> read_write(std::size_t first, std::size_t count,
                         std::source_location where = std::source_location::current()) const {
    return check_out<T>(first, count, Mode::read_write, where);
  }
  /// Fetches elements that this rank reads before the next fence, and does not wait for them.
  void prefetch(std::size_t first, std::size_t count) const {
    check(first, count);
    if (!storage_->all_here) memory_->core().prefetch(*storage_, first, count);
  }

 protected:
  GlobalElements(GlobalMemory& memory, detail::GlobalStorage& storage) noexcept
      : memory_(&memory), storage_(&storage) {}
  detail::GlobalStorage& storage() const noexcept { return *storage_; }

 private:
  void check(std::size_t first, std::size_t count) const {
    if (first > size() || count > size() - first) [[unlikely]]
      throw UsageError(storage_->name + ": elements " + std::to_string(first) + " to " + std::to_string(first) + " + " +
                       std::to_string(count) + ", allowed are 0 to " + std::to_string(size()));
  }
  template <typename Element>
  Checkout<Element> check_out(std::size_t first, std::size_t count, Mode mode,
                              const std::source_location& where) const {
    check(first, count);
    detail::GlobalMemoryCore& core = memory_->core();
    if (storage_->checks) [[unlikely]]
      core.note(*storage_, first, count, mode, where);
    detail::GlobalCopy* copy = nullptr;
    std::byte* const at = storage_->all_here ? storage_->elements + first * sizeof(T)
                                             : core.check_out(*storage_, first, count, mode, copy);
    return {{reinterpret_cast<Element*>(at), count}, core, copy, mode};
  }

  GlobalMemory* memory_;
  std::shared_ptr<detail::GlobalStorage> keeps_;  // null: an array
  detail::GlobalStorage* storage_;
};
template <typename T>
inline constexpr bool detail::is_view<GlobalElements<T>> = true;

/// An array whose elements are dealt out to the ranks, and that all of them read and write. At first they are zeros.
template <typename T>
class GlobalArray : public GlobalElements<T> {
 public:
  /// All ranks make it, where they may call `fence`.
  /// \param name  for errors
  /// \throws UsageError  the ranks give other sizes; as fence; std::bad_alloc  there is no memory, with a rank and a
  ///   number: on all ranks
  GlobalArray(GlobalMemory& memory, std::size_t size, Blocks blocks = {}, std::string name = "array")
      : GlobalElements<T>(memory, memory.core().add(std::move(name), size, sizeof(T), blocks.of)) {}
  /// All ranks end it before the same fence. The next fence frees the memory.
  ~GlobalArray() { this->memory().core().remove(this->storage()); }
  GlobalArray(const GlobalArray&) = delete;
  GlobalArray& operator=(const GlobalArray&) = delete;

  /// The indices of this rank's elements, in ascending order.
  auto own() const {
    const detail::GlobalLayout& layout = this->storage().layout;
    const int rank = this->memory().rank();
    return std::views::iota(std::size_t{0}, layout.before(rank, layout.size)) |
           std::views::transform([&layout, rank](std::size_t k) { return layout.index(rank, k); });
  }
};

/// An array that one rank makes and ends, wherever it likes, also in a task or a fork. All elements are this rank's,
/// and zeros at first. Others use it by its reference, while it lives, and read before its end what they prefetch.
template <typename T>
class OwnArray : public GlobalElements<T> {
 public:
  /// \param name  for errors of this rank
  /// \throws std::bad_alloc, std::system_error  there is no memory
  OwnArray(GlobalMemory& memory, std::size_t size, std::string name = "own array")
      : GlobalElements<T>(memory, memory.core().add_own(std::move(name), size, sizeof(T))) {}
  /// Frees the memory.
  ~OwnArray() { this->memory().core().remove(this->storage()); }
  OwnArray(const OwnArray&) = delete;
  OwnArray& operator=(const OwnArray&) = delete;
};

/// Calls `body(element)` for each element of this rank's range, on its workers, and fences. All ranks call it. The
/// bodies run beside each other, on all ranks; they see what was written before the loop.
/// \throws what a body throws, which fails all other ranks; as GlobalMemory::fence
template <std::ranges::random_access_range Range, typename Body>
  requires std::ranges::sized_range<Range>
void parallel_for(GlobalMemory& memory, Range&& range, const Body& body, Grain grain = {}) {
  using Number = std::ranges::range_difference_t<Range>;
  const auto begin = std::ranges::begin(range);
  detail::failing_all(memory.core(), [&] {
    parallel_for(
        memory.runtime(), std::views::iota(Number{0}, static_cast<Number>(std::ranges::size(range))),
        [&](Number k) {
          memory.core().answer_now_and_then();
          const detail::ScopedValue strand(detail::global_strand, static_cast<std::uint64_t>(k) + 1);
          std::invoke(body, begin[k]);
        },
        grain);
  });
  memory.fence();
}

/// Calls `body(index)` for each index of an array, on a worker of the rank that owns it, and fences. All ranks call it.
template <typename T, typename Body>
void parallel_for(const GlobalArray<T>& array, const Body& body, Grain grain = {}) {
  parallel_for(array.memory(), array.own(), body, grain);
}

/// Combines `transform(element)` of all elements. All ranks call it. Each rank combines its own elements, as the loop
/// over a range does; then the results of the ranks are combined in their order. So the result has the same bits each
/// time, on the same number of ranks.
/// \param combine  also commutative, where a rank has several blocks
/// \returns the same on all ranks
/// \throws what `combine` and `transform` throw, which fails all other ranks; as Communicator::all_reduce
template <typename T, std::copyable Value, typename Combine, typename Transform = std::identity>
Value parallel_reduce(const GlobalArray<T>& array, Value identity, const Combine& combine,
                      const Transform& transform = {}) {
  GlobalMemory& memory = array.memory();
  Runtime& runtime = memory.runtime();
  const Value own = detail::failing_all(memory.core(), [&] {
    return parallel_reduce(runtime, array.own(), std::move(identity), combine,
                           [&](std::size_t index) { return std::invoke(transform, array.read(index, 1)[0]); },
                           {.least = 1000, .fixed = true});
  });
  Communicator* const comm = runtime.options().communicator;
  return comm == nullptr ? own : comm->all_reduce(own, combine);
}

}  // namespace taskgrain::rt
