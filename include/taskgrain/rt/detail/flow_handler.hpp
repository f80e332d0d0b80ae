#pragma once

/// The handler of a Taskflow: it counts the fulfilments of tasks, and runs them when they are ready.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/flow_share.hpp"
#include "taskgrain/rt/detail/flow_tasks.hpp"
#include "taskgrain/rt/detail/key.hpp"
#include "taskgrain/rt/detail/packed_key.hpp"
#include "taskgrain/rt/detail/surely.hpp"
#include "taskgrain/rt/detail/tasks.hpp"
#include "taskgrain/rt/detail/trace.hpp"
#include "taskgrain/rt/detail/traffic.hpp"

namespace taskgrain::rt::detail {

template <typename K, typename Tasks>
class FlowHandler final : public Handler {
 public:
  using Key = KeyOf<K>;

  FlowHandler(Engine& engine, Tasks&& of, std::string name)
      : tasks(std::move(of), std::move(name), static_cast<unsigned>(engine.workers())), engine_(engine),
        workers_(static_cast<unsigned>(engine.workers())), check_(engine.options().check),
        first_traced_(engine.trace() == nullptr || sequence ? 0 : engine.trace()->add()),
        untraced_(first_traced_ != 0 ? nullptr : &engine), shares_(new Share[workers_]) {
    if constexpr (WithNumber<Tasks, K>)
      for (unsigned w = 0; w < workers_; ++w) shares_[w].waiting.number_by(tasks.functions);
  }

  FlowTasks<K, Tasks> tasks;
  std::atomic<bool> has_dropped{false};  // since who reads it has reset it

  [[gnu::noinline]] void fulfill(
      Key key) {  // not inlined, so that the key comes in registers: inlined, the compiler builds it in memory first
    const int owner = tasks.owner_of(key);
    Worker* here = Engine::here(untraced_);
    if (here != nullptr) [[likely]] {
      Share& share = share_of(here->index());  // not of the owner, for which the user may have to divide
      if (here->index() == owner) [[likely]]
        return fulfill_here(*here, share, key);
    }
    if (static_cast<unsigned>(owner) >= workers_) [[unlikely]]
      tasks.no_such_worker(key, owner);
    if (here == nullptr) [[unlikely]]
      return first_traced_ != 0 ? fulfill_traced(owner, key) : fulfill_from_outside(owner, key);
    send(*here, owner, key);
  }

  void fulfill_after(Key key) {
    if (Worker* here = Engine::here(untraced_)) return notify_successors(*here, share_of(here->index()), key);
    const ForEach notify{[this](Key next) { fulfill(next); }};
    tasks.functions.after(key, notify);
  }

  // -- Handler
  Handler* companion() noexcept override { return WithAfter<Tasks, K> ? &notifications_ : nullptr; }
  void deliver(Worker& here, const Payload& message) noexcept override {
    receive(here, message);
    share_of(here.index()).counts.end();
  }
  void run(Worker& here, const Payload& task) noexcept override {
    const UnpackedKey<K> key(task);
    if constexpr (WithAtOnce<Tasks>) return run_batch(here, *key);
    Share& share = share_of(here.index());
    run_here(here, share, *key);
    share.counts.end();
  }
  void lost(const Payload& payload) noexcept override {
    const UnpackedKey<K> key(payload);
    share_of(engine_.here()->index()).counts.end();
  }
  std::string describe(const Payload& payload) const override { return tasks.text(packed_key<K>(payload)); }
  [[gnu::cold]] TracedTask traced(const Payload& payload) override {
    const auto& key = packed_key<K>(payload);
    if constexpr (sequence)
      return tasks.functions.traced(key);
    else {
      const TracedTask task = engine_.trace()->begun(first_traced_, traced_name(key));
      if constexpr (WithAfter<Tasks, K>) {
        const ForEach notify{[&](Key next) { engine_.trace()->fulfilled(first_traced_, traced_name(next), task); }};
        tasks.functions.after(key, notify);
      }
      return task;
    }
  }
  bool idle() const noexcept override {
    return nothing_on_its_way([] { return true; });
  }
  bool done() const noexcept override {
    if (held()) return false;  // first: if a hold has just ended, the counts below include what it fulfilled
    return nothing_on_its_way([this] {
      return std::all_of(&shares_[0], &shares_[workers_], [](const Share& share) { return share.waiting.size() == 0; });
    });
  }
  std::size_t waiting(int worker, std::vector<StuckTask>& found, std::size_t most) const override {
    const auto& waiting = share_of(worker).waiting;
    waiting.for_each([&](const K& key, std::int32_t left) {
      if (found.size() >= most) return;
      try {
        add_stuck(found, tasks.text(key), tasks.functions.indegree(key) - left, tasks.functions.indegree(key));
      } catch (...) {
        add_stuck(found, joined({tasks.text(key), ", whose indegree throws"}), 0, left);
      }
    });
    return waiting.size();
  }
  bool broken() const noexcept override { return failed(); }
  void stop(const std::exception_ptr&) noexcept override {
    failed_.store(true, std::memory_order_release);
    has_dropped.store(true, std::memory_order_release);
  }
  void reopen() noexcept override { failed_.store(false, std::memory_order_release); }
  void forget(int worker) noexcept override {
    share_of(worker).waiting.clear();
    share_of(worker).ran.clear();
    if (first_traced_ != 0) engine_.trace()->forget(first_traced_);
  }
  void run_ended(int worker) noexcept override { share_of(worker).ran.clear(); }

 private:
  /// True for the flow of a sequence, whose tasks have numbers of their own. A user's function by this name returns
  /// something else.
  static constexpr bool sequence = requires(Tasks& of, Key key) {
    { of.traced(key) } -> std::same_as<TracedTask>;
  };
  using Share = FlowShare<K, Tasks>;

  Share& share_of(int worker) const noexcept { return shares_[static_cast<std::size_t>(worker)]; }
  template <typename Between>
  bool nothing_on_its_way(const Between& between) const noexcept {
    const auto of = [this](std::size_t w) -> const Counts& { return shares_[w].counts; };
    return detail::nothing_on_its_way(workers_, of, outside_, between);
  }

  [[gnu::noinline]] void fulfill_from_outside(int owner, Key key) {
    const Payload message = Payload::of(pack_key<K>(key));
    outside_.begin_outside();
    try {
      engine_.worker(owner).inject({number(), message});
    } catch (...) {
      outside_.end_outside();
      const UnpackedKey<K> lost(message);
      throw;
    }
  }

  /// Two keys that read alike also differ in their hash.
  [[gnu::noinline, gnu::cold]] std::string traced_name(const K& key) const {
    return joined({tasks.text(key), " ", number_text(hash_key(key))});
  }
  [[gnu::noinline, gnu::cold]] void fulfill_traced(int owner, Key key) {
    Worker* const here = engine_.here();
    const TracedTask by = here == nullptr ? TracedTask() : here->trace()->running();
    engine_.trace()->fulfilled(first_traced_, traced_name(key), by);
    if (here == nullptr) return fulfill_from_outside(owner, key);
    here->index() == owner ? fulfill_here(*here, share_of(owner), key) : send(*here, owner, key);
  }
  void send(Worker& here, int owner, Key key) {
    const PackedKey<K> packed = pack_key<K>(key);
    share_of(here.index()).counts.begin();
    here.send(owner, number(), packed);
  }
  void receive(Worker& here, const Payload& message) noexcept {
    const UnpackedKey<K> key(message);
    if (failed()) [[unlikely]]
      return;
    try {
      fulfill_here(here, share_of(here.index()), *key);
    } catch (...) {
      fail(*key);
    }
  }
  void run_here(Worker& here, [[maybe_unused]] Share& share, Key key) noexcept {
    if (failed()) [[unlikely]]
      return;
    try {
      tasks.functions.run(key);
      if constexpr (WithAfter<Tasks, K>) notify_successors(here, share, key);
    } catch (...) {
      fail(key);
    }
  }

  /// The function that `after` calls with each successor, where a task has run, and where a worker is notified of that.
  /// \tparam ran  the task has run here: then other workers that own successors are notified
  template <bool ran>
  struct Notify {
    FlowHandler& flow;
    Worker& here;
    Share& share;
    const K& key;  // of the task that has run

    [[gnu::always_inline]] void operator()(Key next) const {
      const int owner = flow.tasks.owner_of(next);
      if (owner == here.index()) [[likely]]
        return flow.fulfill_here(here, share, next);
      if constexpr (ran) flow.notify(here, share, owner, key, next);
    }
    /// \param range  of successors that `owner` owns
    /// \param key_of  makes a key of an element. A parameter, because the compiler keeps the iterator of a
    ///   std::views::transform in memory, and each step of the loop then waits for the one before it.
    template <typename Range, typename KeyOfElement = std::identity>
    [[gnu::always_inline]] void operator()(int owner, const Range& range, const KeyOfElement& key_of = {}) const {
      if (owner == here.index()) [[likely]] {
        flow.fulfill_all(here, share, range, key_of);
      } else if constexpr (ran) {
        for (const auto& element : range) return flow.notify(here, share, owner, key, key_of(element));
      }
    }
  };
  /// The function that `after` calls with each successor in a thread outside, and for a trace.
  struct ForEach {
    std::function<void(Key)> each;

    void operator()(Key next) const { each(next); }
    template <typename Range, typename KeyOfElement = std::identity>
    void operator()(int, const Range& range, const KeyOfElement& key_of = {}) const {
      for (const auto& element : range) each(key_of(element));
    }
  };
  /// Fulfills the successors of a task here; each other worker that has some gets one message.
  void notify_successors(Worker& here, Share& share, const K& key) {
    share.notified.next_task();
    const Notify<true> notify{*this, here, share, key};
    tasks.functions.after(key, notify);
  }
  [[gnu::noinline]] void notify(Worker& here, Share& share, int owner, Key key, Key next) {
    if (static_cast<unsigned>(owner) >= workers_) [[unlikely]]
      tasks.no_such_worker(next, owner);
    if (!share.notified.add(owner, workers_)) return;
    const PackedKey<K> packed = pack_key<K>(key);
    share.counts.begin();
    here.send(owner, notifications_.number(), packed);
  }
  /// Takes the messages of `notify`.
  struct Notifications final : MessageHandler {
    explicit Notifications(FlowHandler& of) : flow(of) {}
    void deliver(Worker& here, const Payload& message) noexcept override { flow.deliver_notification(here, message); }
    void lost(const Payload& payload) noexcept override { flow.lost(payload); }

    FlowHandler& flow;
  };
  void deliver_notification(Worker& here, const Payload& message) noexcept {
    const UnpackedKey<K> key(message);
    if constexpr (WithAfter<Tasks, K>) {
      try {
        const Notify<false> notify{*this, here, share_of(here.index()), *key};
        if (!failed()) [[likely]]
          tasks.functions.after(*key, notify);
      } catch (...) {
        fail(*key);
      }
    }
    share_of(here.index()).counts.end();
  }

  /// Runs a task, and as many more of the batch of this worker as may run at once. What is left is queued again, behind
  /// its first task.
  void run_batch(Worker& here, Key first) noexcept {
    Share& share = share_of(here.index());
    const std::size_t ran = share.batch.run(first, Tasks::at_once, [&](Key key) { run_here(here, share, key); });
    if (!share.batch.closes()) queue_batch(here, share);
    share.counts.end(ran);  // last, because who waits for the flow may destroy it then
  }
  void queue_batch(Worker& here, Share& share) noexcept {
    try {
      if (share.batch.not_now()) [[unlikely]]
        while (!share.batch.empty()) here.ready(number(), share.batch.pop());
      if (!share.batch.closes()) lead(here, share.batch.pop());
    } catch (...) {
      engine_.fail(*this, tasks.name);
      for (; !share.batch.empty(); share.counts.end()) share.batch.pop();
      share.batch.closes();
    }
  }
  /// The first of a batch is bound, so that this worker runs what follows.
  void lead(Worker& here, Key key) {
    here.ready({number(), Payload::of(pack_key<K>(key))}, {.priority = 0, .bound = true});
  }

  /// Not inlined and cold: the code for exceptions would take registers from tasks that do not fail.
  [[gnu::noinline, gnu::cold]] void fail(const K& key) noexcept {
    engine_.fail(*this, surely([&] { return tasks.text(key); }));
  }

  /// Inlined into tasks, because counting down is a load, a decrement and a branch. The first and the last fulfilment
  /// are calls.
  [[gnu::always_inline]] void fulfill_here(Worker& here, Share& share, Key key) {
    if constexpr (WithNumber<Tasks, K>) {
      auto& slot = share.waiting.slots().at(tasks.functions.number(key));
      if (!share.waiting.count_down(slot, key)) first_or_last(here, share, key, slot);
    } else {
      find_and_fulfill(here, share, key);
    }
  }
  template <typename Range, typename KeyOfElement>
  [[gnu::always_inline]] void fulfill_all(Worker& here, Share& share, const Range& range, const KeyOfElement& key_of) {
    if constexpr (WithNumber<Tasks, K>) {
      auto slots = share.waiting.slots();  // in registers, but for what happens once or twice for a task
      for (const auto& element : range) {
        const K key = key_of(element);
        auto& slot = slots.at(tasks.functions.number(key));
        if (share.waiting.count_down(slot, key)) continue;
        first_or_last(here, share, key, slot);
        slots = share.waiting.slots();
      }
    } else {
      for (const auto& element : range) find_and_fulfill(here, share, key_of(element));
    }
  }
  /// Not inlined, so that a loop over keys has registers for what it looks up each time.
  template <typename Slot>
  [[gnu::noinline]] void first_or_last(Worker& here, Share& share, Key key, Slot& slot) {
    if (share.waiting.waits_for_one(slot, key)) {
      share.counts.begin();  // first, as in `complete`
      share.waiting.take_out(slot);
      begun(here, share, key);
    } else if (share.waiting.is_free(slot)) {
      appear(here, share, key, [&](std::int32_t count) { share.waiting.fill(slot, key, count); });
    } else {
      find_and_fulfill(here, share, key);
    }
  }
  [[gnu::always_inline]] void find_and_fulfill(Worker& here, Share& share, Key key) {
    if (std::int32_t* left = share.waiting.find(key); left == nullptr)
      appear(here, share, key);
    else if (--*left == 0)
      complete(here, share, key, left);
  }

  /// The last fulfilment of a task.
  [[gnu::noinline]] void complete(Worker& here, Share& share, Key key, std::int32_t* left) {
    share.counts.begin();  // before it leaves the table: `done` reads the table's size between ended and begun
    share.waiting.remove(left);
    begun(here, share, key);
  }

  /// The first fulfilment of a task.
  [[gnu::noinline]] void appear(Worker& here, Share& share, Key key) {
    appear(here, share, key, [&](std::int32_t count) { share.waiting.insert(key, count); });
  }
  template <typename Insert>
  [[gnu::always_inline]] void appear(Worker& here, Share& share, Key key, const Insert& insert) {
    if (check_) [[unlikely]]
      check(here, share, key);
    const int indegree = tasks.functions.indegree(key);
    if (indegree > 1)
      insert(indegree - 1);
    else if (indegree < 0) [[unlikely]]
      tasks.negative(key, indegree);
    else
      share.counts.begin(), begun(here, share, key);
  }

  /// A task is ready. \pre counted as begun
  [[gnu::always_inline]] void begun(Worker& here, Share& share, Key key) {
    if constexpr (WithAtOnce<Tasks>)
      if (share.batch.push_if_open(key)) [[likely]]
        return;
    ready(here, share, key);
  }
  void ready(Worker& here, Share& share, Key key) {
    if (tasks.ranked()) [[unlikely]]
      return ready_ranked(here, share, key);
    if constexpr (WithAtOnce<Tasks>)
      if (untraced_ != nullptr && !share.batch.one_by_one()) return join_batch(here, share, key);
    here.ready(number(), pack_begun(share, key));
  }
  void join_batch(Worker& here, Share& share, Key key) {
    if (share.batch.open()) {
      try {
        return lead(here, key);
      } catch (...) {
        share.batch.closes();
        throw;
      }
    }
    try {
      share.batch.push(key);
    } catch (...) {
      share.counts.end();
      throw;
    }
  }
  /// Packs a key as pack_key does. If the key cannot be copied, counts its task as ended.
  static PackedKey<K> pack_begun(Share& share, Key key) {
    try {
      return pack_key<K>(key);
    } catch (...) {
      share.counts.end();
      throw;
    }
  }
  [[gnu::noinline]] void ready_ranked(Worker& here, Share& share, Key key) {
    Ready how;
    try {
      how = tasks.rank_of(key);
    } catch (...) {
      share.counts.end();
      throw;
    }
    here.ready({number(), Payload::of(pack_begun(share, key))}, how);
  }

  [[gnu::noinline]] void check(Worker& here, Share& share, Key key) {
    tasks.check_owner(key, here);
    if (!share.ran.insert(key).second) tasks.too_often(key);
  }

  Engine& engine_;
  const unsigned workers_;
  const bool check_;
  const std::uint64_t first_traced_;
  const Engine* const untraced_;  // null where there is a trace, which shows task by task: so `fulfill` need not ask
  const std::unique_ptr<Share[]> shares_;
  Notifications notifications_{*this};
  Counts outside_;
};

}  // namespace taskgrain::rt::detail
