#pragma once

/// What is behind a Taskflow: the counts of its tasks, and what the engine asks of them.

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

namespace taskgrain::rt::detail {

template <typename K>
class FlowHandler final : public Handler {
 public:
  /// Small keys travel by value.
  using Key = std::conditional_t<Payload::fits<K>, K, const K&>;

  FlowHandler(Engine& engine, std::string name)
      : engine_(engine), workers_(static_cast<unsigned>(engine.workers())), name_(std::move(name)),
        shares_(new Share[workers_]) {
    functions.indegree = [this](Key) -> int { throw UsageError(name_ + ": indegree is not set"); };
    functions.run = [this](Key) { throw UsageError(name_ + ": run is not set"); };
    functions.worker = [workers = std::uint64_t{workers_}](Key key) {
      return static_cast<int>(hash_key<K>(key) % workers);
    };
    engine_.add(*this);
  }
  ~FlowHandler() override { engine_.remove(*this); }
  FlowHandler(const FlowHandler&) = delete;
  FlowHandler& operator=(const FlowHandler&) = delete;

  /// As the setters of Taskflow.
  struct {
    Function<int, Key> indegree;
    Function<void, Key> run;
    Function<int, Key> worker;
    Function<int, Key> priority;
    Function<bool, Key> bound;
    bool ranked = false;  // whether tasks have a priority or may be bound
  } functions;

  [[gnu::noinline]] void fulfill(
      Key key) {  // called, so that the key comes in registers: inlined it would be put together in memory
    const int owner = functions.worker(key);
    if (static_cast<unsigned>(owner) >= workers_) [[unlikely]]
      no_such_worker(key, owner);
    Worker* here = engine_.here();
    if (here == nullptr) [[unlikely]]
      return fulfill_from_outside(owner, key);
    if (here->index() != owner) return here->send(engine_.worker(owner), {this, pack(key)}, words);
    fulfill_here(*here, key);
  }

  // -- Handler
  void deliver(Worker& here, const Payload& message) noexcept override {
    const Unpacked key(message);
    try {
      fulfill_here(here, *key);
    } catch (...) {
      engine_.fail(text(*key));
    }
  }
  void run(Worker&, const Payload& task) noexcept override {
    const Unpacked key(task);
    try {
      functions.run(*key);
    } catch (...) {
      engine_.fail(text(*key));
    }
  }
  void drop(const Payload& payload) noexcept override { Unpacked key(payload); }
  std::string describe(const Payload& payload) const override {
    if constexpr (Payload::fits<K>)
      return text(payload.as<K>());
    else
      return text(*payload.as<K*>());
  }
  std::size_t stuck(std::vector<StuckTask>& tasks, std::size_t most) const override {
    std::size_t total = 0;
    for (std::size_t w = 0; w < workers_; ++w) {
      total += shares_[w].waiting.size();
      shares_[w].waiting.for_each([&](const K& key, std::int32_t left) {
        if (tasks.size() < most) tasks.push_back({text(key), functions.indegree(key) - left, functions.indegree(key)});
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
    std::size_t operator()(const K& key) const noexcept { return hash_key(key); }
  };
  struct Same {
    bool operator()(const K& a, const K& b) const noexcept { return same_key(a, b); }
  };
  /// The data of one worker. Only its thread uses them.
  struct alignas(apart) Share {
    Counters<K> waiting;
    std::unordered_set<K, Hash, Same> ran;  // or wait: all that were fulfilled, where the runtime checks
  };

  /// A key taken out of a payload: by value, or from the box that it travelled in.
  class Unpacked {
   public:
    explicit Unpacked(const Payload& payload) : key_(payload.as<std::conditional_t<Payload::fits<K>, K, K*>>()) {}
    const K& operator*() const noexcept {
      if constexpr (Payload::fits<K>)
        return key_;
      else
        return *key_;
    }

   private:
    std::conditional_t<Payload::fits<K>, K, std::unique_ptr<K>> key_;
  };
  static constexpr std::size_t words = (sizeof(std::conditional_t<Payload::fits<K>, K, K*>) + 7) / 8;  // of a payload
  static Payload pack(const K& key) {
    if constexpr (Payload::fits<K>)
      return Payload::of(key);
    else
      return Payload::of(new K(key));
  }

  std::string text(const K& key) const { return name_ + " " + key_text(key); }

  [[gnu::noinline]] void fulfill_from_outside(int owner, Key key) {
    engine_.worker(owner).send_from_outside({this, pack(key)});
  }

  /// Inlined into tasks that fulfill others; only the counting is inlined, the rest is called.
  [[gnu::always_inline]] void fulfill_here(Worker& here, Key key) {
    Share& share = shares_[static_cast<std::size_t>(here.index())];
    if (std::int32_t* left = share.waiting.find(key); left == nullptr)
      appear(here, share, key);
    else if (--*left == 0)
      complete(here, share, key, left);
  }

  /// The last fulfilment of a task.
  [[gnu::noinline]] void complete(Worker& here, Share& share, Key key, std::int32_t* left) {
    share.waiting.remove(left);
    ready(here, key);
  }

  /// The first fulfilment of a task.
  [[gnu::noinline]] void appear(Worker& here, Share& share, Key key) {
    if (engine_.options().check) [[unlikely]]
      check(share, key);
    const int indegree = functions.indegree(key);
    if (indegree > 1)
      share.waiting.insert(key, indegree - 1);
    else if (indegree < 0) [[unlikely]]
      negative(key, indegree);
    else
      ready(here, key);
  }

  void ready(Worker& here, Key key) {
    if (functions.ranked) [[unlikely]]
      return ready_ranked(here, key);
    here.ready({this, pack(key)});
  }
  [[gnu::noinline]] void ready_ranked(Worker& here, Key key) {
    const Ready how{functions.priority ? functions.priority(key) : 0,
                    functions.bound && functions.bound(key)};  // before the key is in a box: these may throw
    here.ready({this, pack(key)}, how);
  }

  [[gnu::noinline]] void check(Share& share, Key key) {
    if (!share.ran.insert(key).second) too_often(key);
  }

  [[noreturn]] void no_such_worker(const K& key, int worker) const {
    throw UsageError(text(key) + ": worker is " + std::to_string(worker) + ", allowed are 0 to " +
                     std::to_string(workers_ - 1));
  }
  [[noreturn]] void negative(const K& key, int indegree) const {
    throw UsageError(text(key) + ": indegree is " + std::to_string(indegree) + ", allowed are 0 and more");
  }
  [[noreturn]] void too_often(const K& key) const {
    throw UsageError(text(key) + " was fulfilled more often than its indegree, which is " +
                     std::to_string(functions.indegree(key)));
  }

  Engine& engine_;
  const unsigned workers_;
  const std::string name_;
  std::unique_ptr<Share[]> shares_;
};

}  // namespace taskgrain::rt::detail
