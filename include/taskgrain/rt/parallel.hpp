#pragma once

/// Loops over ranges, on forks: for, reduce, scan, sort. They are plain calls in a task of the runtime, and may nest.
///
///     rt::Runtime runtime;
///     rt::parallel_for(runtime, std::views::iota(0, n), [&](int i) { c[i] = a[i] + b[i]; });
///     const double sum = rt::parallel_reduce(runtime, c, 0.0, std::plus<>());

#include "taskgrain/rt/detail/cxx20.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <mutex>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/fork_join.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt {

/// The division of a range.
struct Grain {
  /// Elements that stay together; 1 or more.
  std::size_t least = 1;
  /// True: the range is divided into blocks of `least`, and always the same ones, whatever the number of workers and
  /// whoever is idle. Then a reduction has the same result each time, also where the order of operations tells, as for
  /// floating point. False: a range is divided while others have nothing to do, and not when all are busy.
  bool fixed = false;
};

namespace detail {

/// True if the parts of a range have something to join.
template <typename Part>
inline constexpr bool joins = requires(Part part) { part.join(std::move(part)); };

template <typename Part>
void join(Part& part, Part right) {
  if constexpr (joins<Part>) part.join(std::move(right));
}

/// Runs `part(first, last)` over pieces of a range, those to the right by copies of the empty part, which are joined to
/// it from the left.
template <typename Part>
void divide_fixed(std::size_t first, std::size_t last, std::size_t least, const Part& empty, Part& part) {
  if (last - first <= least) return part(first, last);
  const std::size_t middle = first + ((last - first + least - 1) / least + 1) / 2 * least;
  Fork right([&] {
    Part of_right = empty;
    divide_fixed(middle, last, least, empty, of_right);
    return of_right;
  });
  divide_fixed(first, middle, least, empty, part);
  join(part, right.join());
}

/// The same; it goes on by itself, and halves what is left when another worker asks (Tzannes, Caragea, Barua and
/// Vishkin, Lazy binary-splitting, PPoPP 2010). It looks for that about each microsecond, and after 256 elements at the
/// latest.
template <typename Part>
void divide_lazily(std::size_t first, std::size_t last, std::size_t least, const Part& empty, Part& part) {
  using Clock = std::chrono::steady_clock;
  constexpr auto short_time = std::chrono::microseconds(2), long_time = std::chrono::microseconds(8);
  constexpr std::size_t looks = 8, most = 256;
  if (last - first <= least) return part(first, last);
  const Worker& here = *Worker::current();
  auto before = Clock::now();
  for (std::size_t chunk = least; first < last;) {  // from one reading of the clock to the next
    if ((last - first) / 2 >= least && here.wanted()) {
      const std::size_t middle = first + (last - first) / 2;
      Fork right([&] {
        Part of_right = empty;
        divide_lazily(middle, last, least, empty, of_right);
        return of_right;
      });
      divide_lazily(first, middle, least, empty, part);
      return join(part, right.join());
    }
    const std::size_t end = (last - first) / 2 < chunk ? last : first + chunk;
    const std::size_t block = std::max(least, std::min(chunk / looks, most));
    do {
      const std::size_t stop = (end - first) / 2 < block ? end : first + block;
      part(first, stop);
      first = stop;
    } while (first < end && !here.wanted());
    if (first == last) return;
    const auto now = Clock::now();
    if (now - before < short_time)
      chunk *= now - before < short_time / 8 ? 8 : 2;
    else if (now - before > long_time)
      chunk = std::max(chunk / 2, least);
    before = now;
  }
}

template <typename What>
consteval bool small_and_trivial() {
  if constexpr (std::is_object_v<What> && std::is_copy_constructible_v<What> && std::is_trivially_copyable_v<What>)
    return sizeof(What) <= WorkSharing::most_bytes - 4 * sizeof(void*) && alignof(What) <= alignof(void*);
  return false;
}

/// Holds a function by value if it is small and trivial: other workers then read it on a line that they read anyway.
template <typename What>
using Held = std::conditional_t<small_and_trivial<What>(), What, std::reference_wrapper<const What>>;

/// A loop that is divided ahead, into a block for each worker. Each is then divided lazily.
template <typename Part>
class SharedLoop {
 public:
  SharedLoop(std::size_t number, std::size_t least, std::uint32_t blocks, const Part& empty, Part& part)
      : blocks_(blocks), part_(part), loop_{number, least, blocks, this, Held<Part>(empty)},
        parts_(joins<Part> ? blocks - 1 : 0, empty) {}

  void run(Worker& here) {
    here.share_loop(&run_block, loop_, blocks_);
    if (thrown_) std::rethrow_exception(thrown_);
    for (Part& right : parts_) join(part_, std::move(right));
  }

 private:
  struct Loop {
    std::size_t begin_of(std::size_t block) const noexcept {
      return number / blocks * block + std::min<std::size_t>(block, number % blocks);
    }
    std::size_t number, least;
    std::uint32_t blocks;
    SharedLoop* outcome;
    Held<Part> empty;
  };

  static bool run_block(const void* of, std::uint32_t block) noexcept {
    const Loop& loop = *static_cast<const Loop*>(of);
    const std::size_t first = loop.begin_of(block), last = loop.begin_of(block + std::size_t{1});
    try {
      if constexpr (joins<Part>) {
        SharedLoop& outcome = *loop.outcome;
        divide_lazily<Part>(first, last, loop.least, loop.empty,
                            block == 0 ? outcome.part_ : outcome.parts_[block - 1]);
      } else {
        Part part = loop.empty;
        divide_lazily<Part>(first, last, loop.least, loop.empty, part);
      }
      return true;
    } catch (...) {
      SharedLoop& outcome = *loop.outcome;
      const std::lock_guard lock(outcome.mutex_);
      if (block < outcome.throws_) outcome.thrown_ = std::current_exception();
      outcome.throws_ = std::min(outcome.throws_, block);
      return false;
    }
  }

  const std::uint32_t blocks_;
  Part& part_;
  const Loop loop_;
  std::vector<Part> parts_;  // of the blocks from 1 on, if there is something to join
  std::mutex mutex_;         // protects what was thrown, and by which block
  std::exception_ptr thrown_;
  std::uint32_t throws_ = UINT32_MAX;
};

template <typename Part>
void divide(Runtime& runtime, std::size_t number, Grain grain, const Part& empty, Part& part) {
  if (grain.least == 0) throw UsageError("grain.least is 0, allowed are 1 and more");
  if (number == 0) return;
  grain.least = std::min(grain.least, number);
  fork_join(runtime, [&] {
    const ScopedValue elsewhere(in_program, false);  // other workers may run parts of it
    if (grain.fixed) return divide_fixed(0, number, grain.least, empty, part);
    Worker& here = *Worker::current();
    const std::size_t most = number / grain.least;  // blocks
    if (const std::size_t blocks = most < 2 ? 1 : std::min<std::size_t>(here.blocks_of_loop(), most); blocks > 1)
      SharedLoop<Part>(number, grain.least, static_cast<std::uint32_t>(blocks), empty, part).run(here);
    else
      divide_lazily(0, number, grain.least, empty, part);
  });
}

}  // namespace detail

/// Calls `body(element)` for each element of a range with random access and a size, in any order and on any worker.
/// \throws what a body throws, of several the first from the left that is known; the calls that have not begun may be
///   dropped. UsageError  grain.least is 0, or as Runtime::wait
template <std::ranges::random_access_range Range, typename Body>
  requires std::ranges::sized_range<Range>
void parallel_for(Runtime& runtime, Range&& range, const Body& body, Grain grain = {}) {
  struct Part {
    std::ranges::iterator_t<Range> begin;
    detail::Held<Body> body;

    void operator()(std::size_t first, std::size_t last) const {
      using Difference = std::ranges::range_difference_t<Range>;
      const auto end = begin + static_cast<Difference>(last);
      for (auto at = begin + static_cast<Difference>(first); at != end; ++at) std::invoke(body, *at);
    }
  };
  Part part{std::ranges::begin(range), detail::Held<Body>(body)};
  detail::divide(runtime, std::ranges::size(range), grain, part, part);
}

/// `identity ∘ transform(first) ∘ transform(second) ∘ …`, where `a ∘ b` is `combine(a, b)`: any grouping, in this
/// order.
/// \param combine  associative, but for rounding; `combine(identity, a)` is a
/// \throws as parallel_for
template <std::ranges::random_access_range Range, std::copyable Value, typename Combine,
          typename Transform = std::identity>
  requires std::ranges::sized_range<Range>
Value parallel_reduce(Runtime& runtime, Range&& range, Value identity, const Combine& combine,
                      const Transform& transform = {}, Grain grain = {}) {
  struct Part {
    std::ranges::iterator_t<Range> begin;
    detail::Held<Combine> combine;
    detail::Held<Transform> transform;
    Value value;

    void operator()(std::size_t first, std::size_t last) {
      using Difference = std::ranges::range_difference_t<Range>;
      Value sum = std::move(value);  // a local, so that the loop keeps it in a register
      const auto end = begin + static_cast<Difference>(last);
      for (auto at = begin + static_cast<Difference>(first); at != end; ++at)
        sum = std::invoke(combine, std::move(sum), std::invoke(transform, *at));
      value = std::move(sum);
    }
    void join(Part right) { value = std::invoke(combine, std::move(value), std::move(right.value)); }
  };
  const Part empty{std::ranges::begin(range), detail::Held<Combine>(combine), detail::Held<Transform>(transform),
                   std::move(identity)};
  Part part = empty;
  detail::divide(runtime, std::ranges::size(range), grain, empty, part);
  return std::move(part.value);
}

/// Writes `combine(…combine(combine(identity, first), second)…, k-th)` to the k-th place of `out`, for each k: the
/// prefix sums. It reads the range twice. `out` may be its first place.
/// \param combine, identity  as of parallel_reduce
/// \throws as parallel_for
template <std::ranges::random_access_range Range, std::random_access_iterator Out, std::copyable Value,
          typename Combine = std::plus<>>
  requires std::ranges::sized_range<Range>
void parallel_scan(Runtime& runtime, Range&& range, Out out, Value identity, const Combine& combine = {}) {
  static_assert(std::is_reference_v<std::iter_reference_t<Out>>,
                "blocks would write into one word of a vector of bits");
  const std::size_t number = std::ranges::size(range);
  const std::size_t blocks = std::min(number, 4 * static_cast<std::size_t>(runtime.workers()));
  const auto begin = std::ranges::begin(range);
  const auto place = [&](std::size_t block) { return static_cast<std::ptrdiff_t>(block * number / blocks); };
  struct Sum {  // a vector of bool would have several in one word
    Value value;
  };
  std::vector<Sum> sums(blocks + 1, Sum{identity});
  parallel_for(runtime, std::views::iota(std::size_t{0}, blocks), [&](std::size_t block) {
    Value sum = identity;
    for (auto k = place(block); k < place(block + 1); ++k) sum = std::invoke(combine, std::move(sum), begin[k]);
    sums[block + 1].value = std::move(sum);
  });
  for (std::size_t block = 1; block <= blocks; ++block)
    sums[block].value = std::invoke(combine, sums[block - 1].value, std::move(sums[block].value));
  parallel_for(runtime, std::views::iota(std::size_t{0}, blocks), [&](std::size_t block) {
    Value sum = sums[block].value;
    for (auto k = place(block); k < place(block + 1); ++k)
      out[k] = sum = std::invoke(combine, std::move(sum), begin[k]);
  });
}

namespace detail {

/// Quicksort whose halves are forks. Where it divides badly, or little is left, the library sorts.
template <typename Iterator, typename Less>
void sort_by_forks(Iterator begin, Iterator end, const Less& less, int depth) {
  constexpr std::ptrdiff_t small = 4096;
  if (end - begin <= small || depth == 0) return std::sort(begin, end, less);
  // The median of three pseudo-medians would be better for some orders; nine values do for the rest.
  const auto median = [&](Iterator a, Iterator b, Iterator c) {
    return less(*a, *b) ? (less(*b, *c) ? b : less(*a, *c) ? c : a) : (less(*a, *c) ? a : less(*b, *c) ? c : b);
  };
  const auto of_three = [&](std::ptrdiff_t at) {
    const auto step = (end - begin) / 16;
    return median(begin + at * step, begin + (at + 1) * step, begin + (at + 2) * step);
  };
  std::iter_swap(begin, median(of_three(1), of_three(6), of_three(11)));
  const auto lower = std::partition(begin + 1, end, [&](const auto& one) { return less(one, *begin); });
  std::iter_swap(begin, lower - 1);  // the pivot, to its place
  const auto upper = std::partition(lower, end, [&](const auto& one) { return !less(*(lower - 1), one); });
  Fork right([&] { sort_by_forks(upper, end, less, depth - 1); });
  sort_by_forks(begin, lower - 1, less, depth - 1);
  right.join();
}

}  // namespace detail

/// Sorts a range in place; equal elements may change their order. `less` is a strict weak order.
/// \throws as parallel_for; what `less` throws leaves the elements in any order, as does what a move throws
template <std::ranges::random_access_range Range, typename Less = std::less<>>
  requires std::ranges::sized_range<Range>
void parallel_sort(Runtime& runtime, Range&& range, const Less& less = {}) {
  fork_join(runtime, [&] {
    const auto number = static_cast<std::size_t>(std::ranges::size(range));
    const auto begin = std::ranges::begin(range);
    const auto is_less = [&](const auto& a, const auto& b) { return std::invoke(less, a, b); };
    detail::sort_by_forks(begin, begin + static_cast<std::ranges::range_difference_t<Range>>(number), is_less,
                          2 * static_cast<int>(std::bit_width(number)));
  });
}

}  // namespace taskgrain::rt
