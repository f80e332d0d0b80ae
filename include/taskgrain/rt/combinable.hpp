#pragma once

/// Values that tasks compute together: one for each worker, without locks, or for each key. They are combined when the
/// tasks have run.
///
///     rt::Combinable<long> points(runtime);
///     flow.run([&](int block) { points.local() += …; });
///     runtime.wait();
///     const long sum = points.combine();
///
/// A task may run on any worker, so what each worker adds up differs from run to run. The result does not if the
/// operation is exact, as + of integers and the minimum of numbers. Sums of floating-point numbers depend on the order:
/// collect them by key, and they have the same bits each time, with any number of workers and of ranks.
///
///     rt::Collector<int, double> norms(runtime);
///     flow.run(norms.collect([&](int block) { return norm(block); }));
///     runtime.wait();
///     const double sum = norms.reduce();                     // of this rank
///     const double sum = norms.all_reduce(comm);             // or of all

#include "taskgrain/rt/detail/cxx20.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt {

namespace detail {
/// The worker of this runtime whose thread calls; behind all workers, the thread that runs the function of a message.
/// \throws UsageError  it is none of them
std::size_t worker_here(Runtime& runtime);
}  // namespace detail

/// A value for each worker, after oneTBB's `combinable`. The runtime lives longer.
template <typename T>
class Combinable {
 public:
  /// \param initial  of each worker; what the operation leaves as it is: 0 for a sum, -infinity for a maximum
  explicit Combinable(Runtime& runtime, T initial = T())
      : runtime_(runtime), parts_(static_cast<std::size_t>(runtime.workers()) + 1, Part{initial}),
        initial_(std::move(initial)) {
    static_assert(std::is_copy_constructible_v<T>, "each worker gets a copy of the initial value");
  }
  Combinable(const Combinable&) = delete;  // tasks hold its address
  Combinable& operator=(const Combinable&) = delete;

  /// The value of the worker whose thread calls: for tasks, and for functions of messages.
  /// \throws UsageError  any other thread
  T& local() { return parts_[detail::worker_here(runtime_)].value; }

  // -- when no task uses it, as after a `wait`

  /// The values combined in the order of workers. \param op  op(a, b) of two values
  template <typename Op = std::plus<>>
  T combine(Op op = {}) const {
    T result = parts_.front().value;
    for (std::size_t w = 1; w < parts_.size(); ++w) result = static_cast<T>(op(std::move(result), parts_[w].value));
    return result;
  }
  /// Calls `call(value)` for each value, in the order of workers. It may change the value.
  template <typename Call>
  void combine_each(Call call) {
    for (Part& part : parts_) call(part.value);
  }
  /// Gives all workers the initial value.
  void clear() {
    for (Part& part : parts_) part.value = initial_;
  }

 private:
  struct alignas(detail::apart) Part {
    T value;
  };

  Runtime& runtime_;
  std::vector<Part> parts_;  // by worker; the last is of the functions of messages that no worker runs
  const T initial_;
};

/// A value for each key, such as what the tasks of a flow return. Keys are ordered by <. It keeps them all, until they
/// are taken out.
template <typename K, typename T>
class Collector {
 public:
  using Values = std::vector<std::pair<K, T>>;

  explicit Collector(Runtime& runtime) : parts_(runtime) {
    static_assert(std::is_copy_constructible_v<T>, "a value is copied: give a std::shared_ptr to what cannot be");
  }

  /// Adds a value. A task calls it. \throws UsageError  as Combinable::local
  void add(K key, T value) { parts_.local().emplace_back(std::move(key), std::move(value)); }
  /// A function for Taskflow::run that adds what `task(key)` returns.
  template <typename Task>
  auto collect(Task task) {
    return [this, task = std::move(task)](const K& key) { add(key, task(key)); };
  }

  // -- when no task uses it, as after a `wait`. Each call takes out the values, also if it throws
  // \throws UsageError  a key has two values, which have no order; perhaps one is of a run that failed

  /// Drops the values, as after a run that failed or was cancelled.
  void clear() { take_any(); }

  /// The values with their keys, in the order of keys.
  Values take() { return in_order(take_any()); }
  /// The values combined in the order of keys; T() if there are none. \param op  op(a, b) of two values
  template <typename Op = std::plus<>>
  T reduce(Op op = {}) {
    return combine(take(), op);
  }
  /// The same of all ranks together, in one order of keys: a collective call.
  /// \param ranks  a Communicator
  template <typename Ranks, typename Op = std::plus<>>
  T all_reduce(Ranks& ranks, Op op = {}) {
    Values all;
    for (Values& part : ranks.all_gather(take_any())) append(std::move(part), all);
    return combine(in_order(std::move(all)), op);
  }

 private:
  Values take_any() {
    Values all;
    parts_.combine_each([&](Values& own) { append(std::exchange(own, {}), all); });
    return all;
  }
  static void append(Values&& part, Values& to) {
    to.insert(to.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
  }
  static Values in_order(Values values) {
    const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::sort(values.begin(), values.end(), before);
    const auto equal = [&](const auto& a, const auto& b) { return !before(a, b); };
    if (std::adjacent_find(values.begin(), values.end(), equal) != values.end())
      throw UsageError(
          "two values of a Collector have one key, so they have no order; if a run failed or was cancelled, clear() "
          "drops its values");
    return values;
  }
  template <typename Op>
  static T combine(Values all, Op& op) {
    static_assert(std::is_invocable_r_v<T, Op&, T, T>,
                  "give an operation: op(a, b) of two values is their combination");
    if (all.empty()) return T();
    T result = std::move(all.front().second);
    for (std::size_t k = 1; k < all.size(); ++k)
      result = static_cast<T>(op(std::move(result), std::move(all[k].second)));
    return result;
  }

  Combinable<Values> parts_;
};

}  // namespace taskgrain::rt
