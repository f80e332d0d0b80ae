#pragma once

/// Parametrised task graphs, after TaskTorrent (Cambier, Qian, Darve 2020, section II): the graph is given by functions of a task's
/// key and never stored. A task exists from its first fulfilment until it has run.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/counters.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/function.hpp"
#include "taskgrain/rt/detail/key.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt {

/// Tasks with keys of type K: an integer, a tuple of integers, or anything that std::hash and == know.
///
/// The functions are set before the first `fulfill` and called by any worker at any time; what they capture must live until
/// `Runtime::wait` has returned.
template <typename K>
class Taskflow final : public detail::Handler {
 public:
  /// Small keys travel by value.
  using Key = std::conditional_t<detail::Payload::fits<K>, K, const K&>;

  /// \param name  of the tasks, for errors and traces
  explicit Taskflow(Runtime& runtime, std::string name = "task")
      : engine_(detail::engine_of(runtime)), workers_(static_cast<unsigned>(runtime.workers())), name_(std::move(name)), shares_(new Share[workers_]) {
    indegree_ = [this](Key) -> int { throw UsageError(name_ + ": indegree is not set"); };
    run_ = [this](Key) { throw UsageError(name_ + ": run is not set"); };
    worker_ = [workers = std::uint64_t{workers_}](Key key) { return static_cast<int>(detail::hash_key<K>(key) % workers); };
    engine_.add(*this);
  }
  ~Taskflow() override { engine_.remove(*this); }
  Taskflow(const Taskflow&) = delete;
  Taskflow& operator=(const Taskflow&) = delete;

  /// How often a task is fulfilled before it runs; a task of 0 or 1 runs at its first.
  Taskflow& indegree(detail::Function<int, Key> of) { return set(indegree_, std::move(of)); }
  /// What a task does; it fulfills those that depend on it.
  Taskflow& run(detail::Function<void, Key> of) { return set(run_, std::move(of)); }
  /// Which worker keeps count of a task's fulfilments, and runs it unless another one steals it: 0 … workers - 1. By default keys
  /// are spread evenly.
  Taskflow& worker(detail::Function<int, Key> of) { return set(worker_, std::move(of)); }
  /// Among the tasks of a worker that are ready, those of higher priority run first; 0 by default.
  Taskflow& priority(detail::Function<int, Key> of) { return ranked_ = true, set(priority_, std::move(of)); }
  /// Whether a task must not be stolen; by default any may be.
  Taskflow& bound(detail::Function<bool, Key> of) { return ranked_ = true, set(bound_, std::move(of)); }

  /// Fulfills one dependence of a task. From any thread.
  /// \throws UsageError  if a function is missing, or gives what it must not
  [[gnu::noinline]] void fulfill(Key key) {  // called, so that the key comes in registers: inlined it would be put together in memory
    const int owner = worker_(key);
    if (static_cast<unsigned>(owner) >= workers_) [[unlikely]] no_such_worker(key, owner);
    detail::Worker* here = engine_.here();
    if (here == nullptr) [[unlikely]] return fulfill_from_outside(owner, key);
    if (here->index() != owner) return here->send(engine_.worker(owner), {this, pack(key)}, words);
    fulfill_here(*here, key);
  }

  // -- Handler
  void deliver(detail::Worker& here, const detail::Payload& message) noexcept override {
    const Unpacked key(message);
    try {
      fulfill_here(here, *key);
    } catch (...) {
      engine_.fail(text(*key));
    }
  }
  void run(detail::Worker&, const detail::Payload& task) noexcept override {
    const Unpacked key(task);
    try {
      run_(*key);
    } catch (...) {
      engine_.fail(text(*key));
    }
  }
  void drop(const detail::Payload& payload) noexcept override { Unpacked key(payload); }
  std::string describe(const detail::Payload& payload) const override {
    if constexpr (detail::Payload::fits<K>)
      return text(payload.as<K>());
    else
      return text(*payload.as<K*>());
  }
  std::size_t stuck(std::vector<StuckTask>& tasks, std::size_t most) const override {
    std::size_t total = 0;
    for (std::size_t w = 0; w < workers_; ++w) {
      total += shares_[w].waiting.size();
      shares_[w].waiting.for_each([&](const K& key, std::int32_t left) {
        if (tasks.size() < most) tasks.push_back({text(key), indegree_(key) - left, indegree_(key)});
      });
    }
    return total;
  }
  void abandon() noexcept override {
    for (std::size_t w = 0; w < workers_; ++w) {
      shares_[w].waiting.clear();
      shares_[w].ran.clear();
    }
  }

 private:
  struct Hash {
    std::size_t operator()(const K& key) const noexcept { return detail::hash_key(key); }
  };
  struct Same {
    bool operator()(const K& a, const K& b) const noexcept { return detail::same_key(a, b); }
  };
  /// What a worker knows; touched by its thread alone.
  struct alignas(detail::apart) Share {
    detail::Counters<K> waiting;
    std::unordered_set<K, Hash, Same> ran;  // or wait: all that were fulfilled, where the runtime checks
  };

  /// A key taken out of a payload: by value, or from the box that it travelled in.
  class Unpacked {
   public:
    explicit Unpacked(const detail::Payload& payload) : key_(payload.as<std::conditional_t<detail::Payload::fits<K>, K, K*>>()) {}
    const K& operator*() const noexcept {
      if constexpr (detail::Payload::fits<K>)
        return key_;
      else
        return *key_;
    }

   private:
    std::conditional_t<detail::Payload::fits<K>, K, std::unique_ptr<K>> key_;
  };
  static constexpr std::size_t words = (sizeof(std::conditional_t<detail::Payload::fits<K>, K, K*>) + 7) / 8;  // of a payload
  static detail::Payload pack(const K& key) {
    if constexpr (detail::Payload::fits<K>)
      return detail::Payload::of(key);
    else
      return detail::Payload::of(new K(key));
  }

  template <typename F>
  Taskflow& set(F& function, F value) {
    function = std::move(value);
    return *this;
  }
  std::string text(const K& key) const { return name_ + " " + detail::key_text(key); }

  [[gnu::noinline]] void fulfill_from_outside(int owner, Key key) { engine_.worker(owner).send_from_outside({this, pack(key)}); }

  /// Inlined where tasks fulfill one another; all but the counting is called.
  [[gnu::always_inline]] void fulfill_here(detail::Worker& here, Key key) {
    Share& share = shares_[static_cast<std::size_t>(here.index())];
    if (std::int32_t* left = share.waiting.find(key); left == nullptr)
      appear(here, share, key);
    else if (--*left == 0)
      complete(here, share, key, left);
  }

  /// The last fulfilment of a task.
  [[gnu::noinline]] void complete(detail::Worker& here, Share& share, Key key, std::int32_t* left) {
    share.waiting.remove(left);
    ready(here, key);
  }

  /// The first fulfilment of a task.
  [[gnu::noinline]] void appear(detail::Worker& here, Share& share, Key key) {
    if (engine_.options().check) [[unlikely]] check(share, key);
    const int indegree = indegree_(key);
    if (indegree > 1)
      share.waiting.insert(key, indegree - 1);
    else if (indegree < 0) [[unlikely]]
      negative(key, indegree);
    else
      ready(here, key);
  }

  void ready(detail::Worker& here, Key key) {
    if (ranked_) [[unlikely]] return ready_ranked(here, key);
    here.ready({this, pack(key)});
  }
  [[gnu::noinline]] void ready_ranked(detail::Worker& here, Key key) {
    const detail::Ready how{priority_ ? priority_(key) : 0, bound_ && bound_(key)};  // before the key is in a box: these may throw
    here.ready({this, pack(key)}, how);
  }

  [[gnu::noinline]] void check(Share& share, Key key) {
    if (!share.ran.insert(key).second) too_often(key);
  }

  [[noreturn]] void no_such_worker(const K& key, int worker) const {
    throw UsageError(text(key) + ": worker is " + std::to_string(worker) + ", allowed are 0 to " + std::to_string(workers_ - 1));
  }
  [[noreturn]] void negative(const K& key, int indegree) const {
    throw UsageError(text(key) + ": indegree is " + std::to_string(indegree) + ", allowed are 0 and more");
  }
  [[noreturn]] void too_often(const K& key) const {
    throw UsageError(text(key) + " was fulfilled more often than its indegree, which is " + std::to_string(indegree_(key)));
  }

  detail::Engine& engine_;
  const unsigned workers_;
  const std::string name_;
  detail::Function<int, Key> indegree_;
  detail::Function<void, Key> run_;
  detail::Function<int, Key> worker_;
  detail::Function<int, Key> priority_;
  detail::Function<bool, Key> bound_;
  bool ranked_ = false;  // whether tasks have a priority or may be bound
  std::unique_ptr<Share[]> shares_;
};

}  // namespace taskgrain::rt
