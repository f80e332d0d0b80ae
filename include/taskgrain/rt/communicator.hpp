#pragma once

/// Ranks, which are processes, and active messages between them, after TaskTorrent (Cambier, Qian, Darve 2020, section
/// II-A2).
///
///     rt::Communicator comm;                                // the ranks that taskgrain-run has started
///     rt::Runtime runtime({.communicator = &comm});
///     rt::Taskflow<int> flow(runtime, "step");
///     auto arrive = comm.active_message([&](int task, rt::view<double> halo) { …; flow.fulfill(task); });
///     …
///     arrive.send(rank, task, halo);                        // by a task, or by any thread
///     …
///     runtime.wait();                                       // by all ranks: until nothing is left on any
///
/// With MPI: `rt::MpiCommunicator comm(MPI_COMM_WORLD)` (taskgrain/rt/mpi.hpp).

#include "taskgrain/rt/detail/cxx20.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/forks.hpp"
#include "taskgrain/rt/detail/messages.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/serialize.hpp"

namespace taskgrain::rt {

namespace detail {
/// A name of the type, which all ranks have in common. Without RTTI that needs one compiler.
template <typename T>
const char* name_of() noexcept {
#if defined(__cpp_rtti)
  return typeid(T).name();
#else
  return __PRETTY_FUNCTION__;
#endif
}
/// True for a type that is, or holds, elements that lie elsewhere.
template <typename T>
inline constexpr bool is_view = false;
template <template <typename...> class Holder, typename... Parts>
inline constexpr bool is_view<Holder<Parts...>> = (is_view<Parts> || ...);
template <>
inline constexpr bool is_view<std::string_view> = true;
template <typename T>
inline constexpr bool is_view<view<T>> = true;
template <typename T, std::size_t n>
inline constexpr bool is_view<std::span<T, n>> = true;
/// Functions whose signature says what their arguments are.
template <typename F>
concept HasParameters = requires(F function) { std::function(std::move(function)); };
}  // namespace detail

struct CommunicatorOptions {
  /// The way of packets: "shared" (the memory of a host), "mpi", or "auto", which is shared memory between ranks of one
  /// host, and MPI between hosts. "alone": this process is rank 0 of 1, whatever has started it. The environment
  /// variable TASKGRAIN_TRANSPORT says it where this is "auto".
  std::string transport = "auto";
  /// True: a thread of its own receives messages, and takes a core. False: the workers receive them, between tasks and
  /// when they have none.
  bool progress_thread = false;
  /// The most bytes of messages to another rank that wait in the memory of this one because that one does not take
  /// them. `send` waits while there are so many, and handles what comes meanwhile. 1: no more than one message of each
  /// thread waits. What the functions of messages send is not held back.
  /// The transport itself has room for less than 300 kB more.
  std::size_t queue_bytes = std::size_t{16} << 20;
};

/// A function that this rank calls on others. Make it with Communicator::active_message.
template <typename... Args>
class ActiveMessage {
 public:
  /// Calls the function with these arguments on a rank, which may be this one. The arguments may be changed when it
  /// returns. From any thread.
  ///
  /// It returns at once, unless CommunicatorOptions::queue_bytes wait for that rank already: then it runs functions of
  /// messages until some have gone. So do not hold a lock that such a function takes. It never waits in the function of
  /// a message, before this rank takes messages, or in a thread that is no worker and may not call MPI.
  /// \throws UsageError  there is no such rank
  /// \throws RankFailed  a rank is lost
  void send(int rank, const std::type_identity_t<Args>&... args) const {
    Writer message(messages_->shared_memory());
    kind_->begin(message);
    (Serializer<Args>::write(args, message), ...);
    messages_->send(rank, *kind_, message);
  }

 private:
  friend class Communicator;
  ActiveMessage(detail::Messages& messages, const detail::MessageKind& kind) : messages_(&messages), kind_(&kind) {}

  detail::Messages* messages_;
  const detail::MessageKind* kind_;
};

/// A function that this rank calls on others with many elements, which are not copied on the way if that can be. Make
/// it with Communicator::large_active_message.
template <typename T, typename... Args>
class LargeActiveMessage {
 public:
  /// Sends `body`, which must stay as it is until this rank's function `reusable` has been called. From any thread.
  /// \throws as ActiveMessage::send
  void send(int rank, std::type_identity_t<view<const T>> body, const std::type_identity_t<Args>&... args) const {
    Writer head;
    kind_->begin(head);
    (Serializer<Args>::write(args, head), ...);
    messages_->send_large(rank, *kind_, head, std::as_bytes(body));
  }

 private:
  friend class Communicator;
  LargeActiveMessage(detail::Messages& messages, const detail::MessageKind& kind)
      : messages_(&messages), kind_(&kind) {}

  detail::Messages* messages_;
  const detail::MessageKind* kind_;
};

/// Elements that the other ranks of the host read where they are: a large message out of them is copied once, whatever
/// the kernel allows. Without such ranks it is memory as any other. It ends before its communicator does.
template <typename T>
class Memory {
  static_assert(std::is_trivially_copyable_v<T>, "the elements travel as bytes");
  static_assert(alignof(T) <= detail::apart, "the memory is aligned to 128 bytes");

 public:
  Memory(Memory&& other) noexcept : shared_(other.shared_), elements_(std::exchange(other.elements_, {})) {}
  Memory& operator=(Memory&&) = delete;
  ~Memory() {
    auto* const bytes = reinterpret_cast<std::byte*>(elements_.data());
    if (bytes == nullptr) return;
    shared_ != nullptr ? shared_->release(bytes) : ::operator delete(bytes, std::align_val_t(detail::apart));
  }

  /// The elements of this rank. Any values are in them at the beginning.
  view<T> elements() const noexcept { return elements_; }

 private:
  friend class Communicator;
  Memory(detail::SharedMemory* shared, std::size_t number) : shared_(shared) {
    if (number > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t bytes = number * sizeof(T);
    void* const memory =
        shared != nullptr ? shared->allocate(bytes) : ::operator new(bytes, std::align_val_t(detail::apart));
    elements_ = view<T>(static_cast<T*>(memory), number);
  }

  detail::SharedMemory* const shared_;  // null if there is none
  view<T> elements_;
};

/// The ranks of a program. It must live longer than the Runtime that uses it. A process that a rank has forked is no
/// rank: it must not use the communicator, and its destructor does nothing there.
///
/// When one has ended, all ranks may make the next, which waits for all of them. Two at once are an error where
/// taskgrain-run has started the ranks; MpiCommunicators may be several at once.
///
/// All ranks make the same active messages in the same order. A message that comes before its function was made waits
/// for that. If the functions of two ranks do not match, all ranks fail with an error that names both.
///
/// A rank takes messages from its first `wait`, `progress` or collective call on, when it has made all that their
/// functions need. The functions run one at a time on each rank, in the thread of a worker, between tasks: they may
/// fulfill, send and launch, and not wait. A `send` of a task may run them, too. One that throws fails all ranks, as
/// does a task that throws, or the end of a rank: every wait then throws RankFailed, and a communicator that has failed
/// stays so.
class Communicator {
 public:
  /// Joins the ranks that `taskgrain-run` has started. A program that was started without it is rank 0 of 1.
  /// \throws UsageError  a transport that there is not; this process has such a Communicator already; another launcher,
  ///   such as mpirun or srun, has started several processes, and the transport is not "alone"; RankFailed  it is not
  ///   the first, and a rank has failed or ended before it made this one; std::system_error
  explicit Communicator(CommunicatorOptions options = {});
  /// Waits until what was sent has left this rank. \pre the Runtime is gone
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const noexcept { return messages_->rank(); }
  int ranks() const noexcept { return messages_->ranks(); }
  /// The way of packets: "shared", "mpi", "shared and mpi" (this rank has others on its host, and on other hosts), or
  /// "alone".
  const char* transport() const noexcept { return messages_->transport_name(); }

  /// \param function  takes values, references to const, or views of what Serializer knows
  /// \param name      for errors
  template <typename F>
  auto active_message(F function, std::string name = "active message") {
    static_assert(detail::HasParameters<F>,
                  "the function of an active message has one type for each parameter: no auto, "
                  "no template, no overloads");
    if constexpr (detail::HasParameters<F>) return make(std::function(std::move(function)), std::move(name));
  }

  /// A message with elements that are not copied on the way, if that can be.
  /// \param place     place(args..., number): where the `number` elements go, on the receiver
  /// \param process   process(args...): they are there, on the receiver
  /// \param reusable  reusable(args...): the sender may change its own
  template <typename Place, typename Process, typename Reusable>
  auto large_active_message(Place place, Process process, Reusable reusable,
                            std::string name = "large active message") {
    static_assert(detail::HasParameters<Process>,
                  "`process` of a large message has one type for each parameter: no auto, "
                  "no template, no overloads");
    if constexpr (detail::HasParameters<Process>)
      return make_large(std::move(place), std::function(std::move(process)), std::move(reusable), std::move(name));
  }

  /// Memory for what is sent as a large message.
  /// \throws std::system_error, std::bad_alloc  there is no memory
  template <typename T>
  [[nodiscard]] Memory<T> memory(std::size_t number) {
    return Memory<T>(messages_->shared_memory(), number);
  }

  /// Takes what has come: for threads that wait for something else meanwhile. Waits of the runtime do this themselves.
  void progress() { messages_->progress(); }

  // -- Collective calls, which are MPI's. All ranks make them in the same order, also with respect to `wait`, and each
  // returns when all ranks have made it. Values are of any type that Serializer knows, but for views. They are
  // combined in the order of ranks, ((v0 op v1) op v2) …, so `op` may be any function, and the result has the same bits
  // each time. What `op` throws is thrown where it is called: on all ranks, or on the root. The communicator has not
  // failed then.
  // \throws UsageError  a rank makes another call, or of another type or root; there is no such root: on all ranks.
  //   In a task of the runtime that uses this communicator, or in the function of a message
  // \throws RankFailed  a rank waits for everything (Runtime::wait) and another one in such a call; or ends

  void barrier() { messages_->exchange(Gathered(1), "barrier"); }
  /// \returns the values of all ranks, by rank
  template <typename T>
  std::vector<T> all_gather(const T& value) {
    const Gathered all = exchange("all_gather", &value);
    std::vector<T> values;
    for (const auto& bytes : all) values.push_back(value_of<T>(bytes));
    return values;
  }
  /// \param op  op(a, b) of two values, as std::plus<>() or std::ranges::min. It is called on each rank
  template <typename T, typename Op = std::plus<>>
  T all_reduce(const T& value, Op op = {}) {
    return combine<T>(exchange("all_reduce", &value), op);
  }
  /// \returns the values combined, on rank `root`; elsewhere nothing
  template <typename T, typename Op = std::plus<>>
  std::optional<T> reduce(const T& value, Op op = {}, int root = 0) {
    const Gathered all = exchange("reduce", &value, &root);
    if (rank() != root) return std::nullopt;
    return combine<T>(all, op);
  }
  /// Gives all ranks the value of `root`.
  template <typename T>
  void broadcast(T& value, int root = 0) {
    const Gathered all = exchange("broadcast", rank() == root ? &value : nullptr, &root);
    if (rank() != root) value = value_of<T>(all[static_cast<std::size_t>(root)]);
  }

  // -- for the faces
  detail::Messages& messages() noexcept { return *messages_; }

 protected:
  explicit Communicator(std::unique_ptr<detail::Messages> messages);

 private:
  using Gathered = detail::Messages::Gathered;

  template <typename T>
  Gathered exchange(const char* call, const T* value, const int* root = nullptr) {
    static_assert(!detail::is_view<T>, "the result would be a view of what is gone: give a std::vector, or a string");
    Writer bytes;
    if (value != nullptr) Serializer<T>::write(*value, bytes);
    return exchange(call, detail::name_of<T>(), root, bytes.bytes());
  }
  /// \returns what each rank has given, which may be nothing where only the root needs it
  Gathered exchange(const char* call, const char* type, const int* root, std::span<const std::byte> bytes);
  template <typename T>
  static T value_of(const std::vector<std::byte>& bytes) {
    Reader from(bytes);
    return Serializer<T>::read(from);
  }
  template <typename T, typename Op>
  static T combine(const Gathered& all, Op& op) {
    static_assert(std::is_invocable_r_v<T, Op&, T, T>,
                  "give an operation: op(a, b) of two values is their combination");
    T result = value_of<T>(all.front());
    for (std::size_t rank = 1; rank < all.size(); ++rank)
      result = static_cast<T>(op(std::move(result), value_of<T>(all[rank])));
    return result;
  }

  template <typename... Params>
  auto make(std::function<void(Params...)> function, std::string name) {
    const auto run = [function = std::move(function)](int, Reader& from) {
      auto args = std::tuple<std::decay_t<Params>...>{Serializer<std::decay_t<Params>>::read(from)...};
      std::apply(function, std::move(args));
    };
    return ActiveMessage<std::decay_t<Params>...>(
        *messages_,
        messages_->add(
            {std::move(name), detail::name_of<void(Params...)>(), run, {}, {}, {}, 0, 0, /*may_wait=*/true}));
  }

  template <typename Place, typename Reusable, typename... Params>
  auto make_large(Place place, std::function<void(Params...)> process, Reusable reusable, std::string name) {
    using T = std::remove_pointer_t<decltype(place(std::declval<std::decay_t<Params>&>()..., std::size_t{}))>;
    const auto with = [](auto function) {
      return [function = std::move(function)](Reader& from) {
        auto args = std::tuple<std::decay_t<Params>...>{Serializer<std::decay_t<Params>>::read(from)...};
        return std::apply(function, args);
      };
    };
    const auto where = [place = std::move(place)](Reader& from, std::size_t bytes) {
      auto args = std::tuple<std::decay_t<Params>...>{Serializer<std::decay_t<Params>>::read(from)...};
      T* const to = std::apply([&](auto&... each) { return place(each..., bytes / sizeof(T)); }, args);
      return reinterpret_cast<std::byte*>(to);
    };
    detail::MessageKind kind{std::move(name), detail::name_of<T(Params...)>(), {},
                             where,           with(std::move(process)),        with(std::move(reusable))};
    kind.may_wait = true;
    return LargeActiveMessage<T, std::decay_t<Params>...>(*messages_, messages_->add(std::move(kind)));
  }

  std::unique_ptr<detail::Messages> messages_;
  const unsigned forks_ = detail::forks.load();
};

}  // namespace taskgrain::rt
