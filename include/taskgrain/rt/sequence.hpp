#pragma once

/// Implicit tasks (sequential task flow): tasks in program order that name the data they read and write. The sequence
/// infers their order: a task comes after the last task before it that wrote the data it uses, and after those that
/// read the data it writes.
///
///     rt::Sequence sequence(runtime);
///     rt::Data a = sequence.data(x), b = sequence.data(y);
///     sequence.task({write(a)}, [&] { x = … });
///     sequence.task({read(a), write(b)}, [&] { y = f(x); });
///     sequence.wait();
///
/// A part of a program that repeats itself (`loop`, `trace`) becomes a compiled graph (Yadav et al., "On the Duality of
/// Task and Actor Programming Models", section 5): its dependences are inferred once.

#include "taskgrain/rt/detail/cxx20.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "taskgrain/rt/detail/task_function.hpp"
#include "taskgrain/rt/runtime.hpp"
#include "taskgrain/rt/task_graph.hpp"

namespace taskgrain::rt {

class Sequence;

/// The use that a task makes of data.
enum class Mode : std::uint8_t {
  read,
  write,  ///< and does not read what was there
  read_write,
  commutative,  ///< reads and writes; tasks that do so one after the other run in any order, but not at the same time
  reduce,       ///< a part of a sum: see Sequence::reduce
};

namespace detail {
class DataRegistry;
class SequenceCore;

/// Rows of bytes at equal distances.
struct Region {
  std::uintptr_t begin;
  std::size_t row_bytes, rows, stride;
};
}  // namespace detail

struct DataOptions {
  int home = -1;       ///< the worker of tasks that write it; -1: the next one in turn
  std::string name{};  ///< its name in errors; empty: its number
  int rank = -1;       ///< the rank whose tasks write it, and whose initial value counts; -1: all have the same
};

/// One use of data by a task; `read`, `write`, `read_write` and `commutative` make it.
struct Access {
  std::uint64_t id;
  std::uint32_t index;
  Mode mode;
};

/// A data handle: it names an object, a range of an array, a block of a matrix, or a set of these. Data may overlap:
/// whoever writes a part comes after those that use the whole. It may be destroyed while tasks use it, what it names
/// may not.
class Data {
 public:
  Data() = default;  ///< names nothing
  Data(Data&& other) noexcept
      : registry_(std::move(other.registry_)), id_(std::exchange(other.id_, 0)), index_(other.index_) {}
  Data& operator=(Data&& other) noexcept {
    registry_.swap(other.registry_);
    std::swap(id_, other.id_);
    std::swap(index_, other.index_);
    return *this;
  }
  ~Data();

  Access access(Mode mode) const noexcept { return {id_, index_, mode}; }
  // Friends, so that they hide no other `read` and `write`, such as the system's.
  friend Access read(const Data& data) noexcept { return data.access(Mode::read); }
  friend Access write(const Data& data) noexcept { return data.access(Mode::write); }
  friend Access read_write(const Data& data) noexcept { return data.access(Mode::read_write); }
  friend Access commutative(const Data& data) noexcept { return data.access(Mode::commutative); }

 private:
  friend class Sequence;

  std::shared_ptr<detail::DataRegistry> registry_;  // null: of nothing
  std::uint64_t id_ = 0;
  std::uint32_t index_ = 0;
};

/// The result of a task. Copies are the same result. Tasks that `read` it may take it.
template <typename T>
class Future {
 public:
  /// \pre the calling task reads it, or Sequence::wait has returned it
  /// \throws UsageError  the task has not run, or has failed
  const T& operator*() const {
    if (!state_->value) [[unlikely]]
      throw UsageError("a future has no value: its task has not run, or has failed");
    return *state_->value;
  }
  const T* operator->() const { return &**this; }
  friend Access read(const Future& future) noexcept { return future.state_->data.access(Mode::read); }

 private:
  friend class Sequence;

  struct State {
    Data data;
    std::optional<T> value;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

struct TaskOptions {
  int worker = -1;     ///< its worker, unless another steals it; -1: the home of the first data that it writes
  int priority = 0;    ///< among the ready tasks of a worker, higher ones run first; not in loops and traces
  std::string name{};  ///< its name in errors and traces; empty: its number
  int rank = -1;       ///< its rank; -1: that of the first data that it writes and that has one, or else reads
};

struct SequenceOptions {
  std::string name = "sequence";
  /// The most tasks that are given ahead of the oldest that has not ended. At this number, `task` runs tasks itself
  /// until there is room. A power of two, at most 2^30.
  std::size_t window = 1024;
  /// The longest repetition of tasks that the sequence finds without a loop or a trace, and runs as a trace. It has at
  /// most so many tasks, for each of which 40 bytes are kept, or more; 0: there are no automatic traces. Tasks that
  /// look like the next repetition start when it is complete, or when the sequence waits. Not across ranks, nor where
  /// the runtime has a trace.
  std::size_t automatic_traces = 0;
  /// The most numbers of traces that are known. Beyond, the one that was not called for longest is forgotten.
  std::size_t traces = 256;
};

/// One thread gives tasks to a sequence, and waits for them; tasks do not.
///
/// If a task throws, tasks that have not started are dropped, and the next call that gives a task or waits throws its
/// failure. Then the sequence can be used again.
class Sequence {
 public:
  /// \throws UsageError  the window is no power of two up to 2^30; automatic traces are more than 2^24 tasks long
  explicit Sequence(Runtime& runtime, SequenceOptions options = {});
  /// A sequence of all ranks. They make the same data, give the same tasks and wait for the same, in one order. Each
  /// rank has the memory that its own tasks use. A task runs on one rank, and reads what others have written before it.
  /// \throws UsageError  also, the runtime has another communicator; traces are to be automatic
  Sequence(Runtime& runtime, Communicator& ranks, SequenceOptions options = {});
  /// Waits. It prints an exception that nobody has waited for.
  ~Sequence();
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  // -- data. By the thread that gives tasks, but not in a loop or a trace

  /// Names an object. A container of contiguous elements, such as std::vector, is named with its elements; a view, such
  /// as std::span, stands for its elements alone. Whatever else an object points to has other names.
  /// \throws UsageError  a home that does not exist
  template <typename T>
  Data data(T&& object, DataOptions options = {}) {
    static_assert(!std::is_pointer_v<std::remove_cvref_t<T>>,
                  "name what it points to: data(*p), data(std::span(p, n))");
    if constexpr (requires { std::data(object), std::size(object); }) {
      static_assert(std::is_lvalue_reference_v<T> || std::ranges::enable_borrowed_range<std::remove_cvref_t<T>>,
                    "the elements must outlive the tasks that use them");
      const detail::Region elements{address(std::data(object)), std::size(object) * sizeof(*std::data(object)), 1, 0};
      const bool travels =
          as_bytes<decltype(*std::data(object))> && !std::is_same_v<std::remove_cvref_t<T>, std::string>;
      if constexpr (std::ranges::enable_borrowed_range<std::remove_cvref_t<T>>)
        return data({elements}, options, travels);
      else
        return data(elements, of(object), options, travels);
    } else {
      static_assert(std::is_lvalue_reference_v<T>, "the object must outlive the tasks that use it");
      return data({{address(&object), sizeof(object), 1, 0}}, options, as_bytes<T>);
    }
  }
  /// A block of a matrix. \param stride  elements from one row to the next
  template <typename T>
  Data block(T* first, std::size_t rows, std::size_t columns, std::size_t stride, DataOptions options = {}) {
    return data({{address(first), columns * sizeof(T), rows, stride * sizeof(T)}}, options, as_bytes<T>);
  }
  /// The union of these, such as a region of a mesh.
  Data together(std::initializer_list<const Data*> parts, DataOptions options = {});
  /// Data without memory: a file, or an order that you want.
  Data token(DataOptions options = {});

  // -- tasks

  /// A task: `function(turn)` or `function()`. Its result, if it has one, is a Future, for which it allocates.
  /// \throws UsageError  data of another sequence; data used in two ways that exclude each other; a worker that does
  ///   not exist; a task calls
  /// \throws as wait
  template <typename F>
  auto task(std::span<const Access> accesses, F function, TaskOptions options = {}) {
    using R = Result<F>;
    if constexpr (std::is_void_v<R>) {
      begin(accesses, nullptr, std::move(options)).emplace(std::move(function));
      end();
    } else {
      Future<R> future;
      future.state_->data = result(future.state_, of(future.state_->value), as_bytes<R>);
      const Access result = write(future.state_->data);
      begin(accesses, &result, std::move(options))
          .emplace([state = future.state_, function = std::move(function)](const Turn& turn) mutable {
            state->value.emplace(detail::call_with(turn, function));
          });
      end();
      return future;
    }
  }
  template <typename F>
  auto task(std::initializer_list<Access> accesses, F function, TaskOptions options = {}) {
    return task(std::span(accesses.begin(), accesses.size()), std::move(function), std::move(options));
  }
  /// A task whose work a device does: `start(turn, issue)` gives it to the device and returns at once, with the
  /// device's event (TaskGraph::async_task). It ends when the device is done. In a loop or a trace, asynchronous tasks
  /// with events of one type are started one after the other, and wait on the device; else there are no events to wait
  /// for.
  /// \tparam E  the type of the event
  /// \throws as task
  template <DeviceEvent E, typename F>
    requires std::is_invocable_r_v<E, F&, const Turn&, const Issue<E>&>
  void async_task(std::span<const Access> accesses, F start, TaskOptions options = {}) {
    begin(accesses, nullptr, std::move(options), &detail::event_type<E>)
        .emplace([start = std::move(start)](const Turn& turn) mutable { detail::start_with<E>(turn, start); });
    end();
  }
  template <DeviceEvent E, typename F>
    requires std::is_invocable_r_v<E, F&, const Turn&, const Issue<E>&>
  void async_task(std::initializer_list<Access> accesses, F start, TaskOptions options = {}) {
    async_task<E>(std::span(accesses.begin(), accesses.size()), std::move(start), std::move(options));
  }
  /// A task whose result is added to `target`: target = operation(target, result). Such tasks run at the same time, and
  /// their results are kept until the data is used in another way, or waited for. They are added in the order of the
  /// program, each by its own operation, so any number of workers gives the same bits. A sum that is refused when it is
  /// to be added is dropped; if there is no memory for that, it stays open. If an operation throws, a target that is
  /// trivially copyable keeps its value; another is as the operations have left it.
  /// \param data       of the target
  /// \param accesses   other data
  /// \throws as task
  template <typename T, typename Operation, typename F>
  void reduce(const Data& data, T& target, Operation operation, std::span<const Access> accesses, F function,
              TaskOptions options = {}) {
    static_assert(std::is_convertible_v<Result<F>, T>, "the task returns what is added to the target");
    using Sum = Reduction<T, Operation>;
    auto sum = std::static_pointer_cast<Sum>(joined_reduction(data, &Sum::fold, &target));
    if (!sum) {
      sum = std::make_shared<Sum>(target);
      open_reduction(data, &Sum::fold, &target, sum);
    }
    const Access access = data.access(Mode::reduce);
    std::optional<T>& part = sum->parts.emplace_back(std::move(operation)).value;
    add_part(data, sum, of(part), as_bytes<T>);
    detail::TaskFunction& place = begin(accesses, &access, std::move(options));
    keep(data, sum);
    place.emplace([&part, function = std::move(function)](const Turn& turn) mutable {
      part.emplace(detail::call_with(turn, function));
    });
    end();
  }
  template <typename T, typename Operation, typename F>
  void reduce(const Data& data, T& target, Operation operation, std::initializer_list<Access> accesses, F function,
              TaskOptions options = {}) {
    reduce(data, target, std::move(operation), std::span(accesses.begin(), accesses.size()), std::move(function),
           std::move(options));
  }

  /// Runs what `body` gives, so many times. It is called once: its tasks are those of each iteration, which they find
  /// in their Turn. Iterations follow each other by what they use, without a barrier.
  ///
  /// Tasks of a loop are not stolen and have no priority; those that commute keep the order of the program. Waits,
  /// other loops, and new data are not allowed in it.
  /// \throws UsageError  iterations below 0
  /// \throws as task, and what `body` throws: then nothing was given
  void loop(std::int64_t iterations, const std::function<void()>& body, const std::string& name = "loop");
  /// Runs what `body` gives, as if it stood there alone. If it gives tasks with the same accesses as an earlier call
  /// for the same number, their dependences are known, and the functions of this call run in the graph that was
  /// compiled then: from the second call on. A body with other accesses is analysed task by task.
  /// \param id  of your choice
  /// \throws as loop
  void trace(std::uint64_t id, const std::function<void()>& body, const std::string& name = "trace");
  struct TraceStatistics {
    std::size_t replayed = 0;  ///< calls of `trace` that ran in a graph
    std::size_t analysed = 0;  ///< calls whose dependences were inferred one by one
    std::size_t compiled = 0;  ///< graphs, of loops too
    std::size_t launched = 0;  ///< launches of these; calls of a trace one after the other may be one
    std::size_t missed = 0;    ///< automatic traces that began, and ended with a task that was not expected
  };
  const TraceStatistics& statistics() const noexcept;

  // -- waits

  /// Works until all tasks have ended. Across ranks, those of this rank: what fails elsewhere is thrown by the next
  /// call that needs another rank.
  /// \throws TaskFailed  a task threw
  /// \throws UsageError  a task calls, or a loop or trace gives its tasks
  void wait();
  /// Works until the tasks that use the data have ended. Across ranks, all have its value then.
  /// \throws as wait
  void wait(const Data& data);
  /// \returns the result, which lives as long as a copy of the future
  template <typename T>
  const T& wait(const Future<T>& future) {
    wait(future.state_->data);
    return *future;
  }
  template <typename T>
  T wait(Future<T>&& future) {
    return wait(std::as_const(future));
  }

 private:
  template <typename T>
  static std::uintptr_t address(T* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer);
  }
  template <typename T>
  static detail::Region of(const T& object) noexcept {
    return {address(&object), sizeof(object), 1, 0};
  }
  /// True if another rank can have its bytes.
  template <typename T>
  static constexpr bool as_bytes = std::is_trivially_copyable_v<std::remove_cvref_t<T>>;
  template <typename F>
  using Result = std::remove_cvref_t<decltype(detail::call_with(std::declval<const Turn&>(), std::declval<F&>()))>;

  /// The sum that a group of tasks adds to a target.
  template <typename T, typename Operation>
  struct Reduction {
    explicit Reduction(T& of) : target(of) {}

    struct Part {
      explicit Part(Operation&& how) : operation(std::move(how)) {}

      [[no_unique_address]] Operation operation;
      std::optional<T> value{};  // of the task
    };
    T& target;
    std::deque<Part> parts;  // in program order; the tasks have their addresses

    static void fold(void* sum) {
      auto& [target, parts] = *static_cast<Reduction*>(sum);
      std::conditional_t<as_bytes<T>, T, T&> total = target;  // a copy that costs something is not made
      for (Part& part : parts) {
        if (!part.value) continue;
        total = part.operation(std::move(total), std::move(*part.value));
        part.value.reset();
      }
      if constexpr (as_bytes<T>) target = total;
    }
  };

  Data data(std::initializer_list<detail::Region> regions, const DataOptions& options, bool travels = true) {
    return data(std::span(regions.begin(), regions.size()), {}, options, travels);
  }
  Data data(const detail::Region& elements, const detail::Region& object, const DataOptions& options, bool travels) {
    const bool same = elements.begin == object.begin && elements.row_bytes == object.row_bytes;
    return data(std::span(&elements, 1), std::span(&object, same ? 0 : 1), options, travels);
  }
  /// \param objects  that have these regions; their bytes do not go to other ranks
  Data data(std::span<const detail::Region> regions, std::span<const detail::Region> objects,
            const DataOptions& options, bool travels);
  Data data(std::uint32_t index);
  /// The data of a task's result. \param owner  of its memory
  Data result(const std::shared_ptr<void>& owner, const detail::Region& region, bool travels);
  /// Adds a part to the open reduction. Across ranks, each part is data.
  void add_part(const Data& data, const std::shared_ptr<void>& owner, const detail::Region& region, bool travels);
  /// Checks a task, and returns the place for its function. It is given when `end` returns.
  /// \param event  of an asynchronous task
  detail::TaskFunction& begin(std::span<const Access> accesses, const Access* also, TaskOptions&& options,
                              const detail::EventType* event = nullptr);
  void end();
  /// Adds the parts of a sum.
  using Fold = void (*)(void* sum);
  /// The open reduction of this kind and target; null if there is none, and then none of another is open.
  std::shared_ptr<void> joined_reduction(const Data& data, Fold kind, const void* target);
  void open_reduction(const Data& data, Fold kind, const void* target, std::shared_ptr<void> sum);
  /// Keeps a sum while its tasks may run, if it was dropped meanwhile.
  void keep(const Data& data, const std::shared_ptr<void>& sum);

  const std::unique_ptr<detail::SequenceCore> core_;
};

}  // namespace taskgrain::rt
