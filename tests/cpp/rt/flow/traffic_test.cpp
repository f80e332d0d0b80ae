/// Whether nothing of a flow is on its way, asked while its workers go on.

#include "taskgrain/rt/detail/traffic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "rt/stress.hpp"

namespace taskgrain::rt::detail {
namespace {

/// What a flow does in the wrong order.
enum class Wrong {
  nothing,
  begins_late,   ///< a message is counted as begun after it was sent
  ends_early,    ///< a task is counted as ended before it sends
  inserts_late,  ///< a message is counted as ended before its task waits
  ready_late,    ///< a task is counted as ready after it waits no longer
};

/// A flow on two workers. A message makes a task wait, or ready, or completes one that waits; a task that runs may send
/// messages; and at any time a task of another flow, which counts nothing here, completes one that waits. Each step is
/// one of the things that others see, in the order in which FlowHandler does them.
class Flow {
 public:
  Flow(std::uint64_t seed, Wrong wrong) : dice_(seed), wrong_(wrong) {
    send(workers_[0]);
    for (const auto& act : std::exchange(workers_[0].next, {})) act();
  }

  const Counts& counts(std::size_t w) {
    for (std::uint64_t k = dice_.below(4); k > 0; --k) step();
    return workers_[w].counts;
  }
  /// Tasks of a worker that wait.
  int waiting(std::size_t w) { return counts(w), workers_[w].waiting; }
  bool is_done() {
    return nothing_on_its_way(
        2, [this](std::size_t w) -> const Counts& { return counts(w); }, outside_,
        [this] { return waiting(0) == 0 && waiting(1) == 0; });
  }
  /// Messages under way, and tasks that wait, are ready or run.
  int work() const { return work_; }
  /// \returns whether there is one more
  bool step() {
    if (dice_.below(32) == 0) slow_ = 1 - slow_;
    Worker& me = workers_[dice_.below(12) == 0 ? slow_ : 1 - slow_];
    const auto end = [&] { me.next.push_back([this, &me] { me.counts.end(), --work_; }); };
    if (!me.next.empty()) {
      me.next.front()();
      me.next.pop_front();
    } else if (me.waiting > 0 && dice_.below(8) == 0) {
      complete(me);
    } else if (me.mail > 0) {
      --me.mail;
      if (me.waiting > 0 && dice_.below(2) == 0)
        complete(me), end();
      else if (dice_.below(2) == 0)
        both(me, Wrong::inserts_late, [&me] { ++me.waiting; }, [&me] { me.counts.end(); });
      else
        both(me, Wrong::nothing, [&me] { me.counts.begin(); }, [&me] { ++me.ready, me.counts.end(); });
    } else if (me.ready > 0) {
      --me.ready;
      if (wrong_ == Wrong::ends_early) end();
      for (; messages_left_ > 0 && dice_.below(2) == 0; --messages_left_) send(me);
      if (wrong_ != Wrong::ends_early) end();
    }
    return work_ > 0 && ++steps_ < 500;  // some tasks wait for ever
  }

 private:
  using Act = std::function<void()>;
  struct Worker {
    Counts counts;
    int mail = 0, waiting = 0, ready = 0;
    std::deque<Act> next;
  };

  /// One after the other, or the other way round.
  void both(Worker& me, Wrong wrong, const Act& first, const Act& second) {
    const bool turned = wrong == wrong_ && wrong != Wrong::nothing;
    me.next.push_back(turned ? second : first);
    me.next.push_back(turned ? first : second);
  }
  void send(Worker& me) {
    ++work_;
    both(me, Wrong::begins_late, [&me] { me.counts.begin(); }, [&to = workers_[dice_.below(2)]] { ++to.mail; });
  }
  void complete(Worker& me) {
    both(me, Wrong::ready_late, [&me] { me.counts.begin(); }, [&me] { --me.waiting, ++me.ready; });
  }

  Dice dice_;
  const Wrong wrong_;
  std::size_t slow_ = 0;  // a worker that is held up
  std::array<Worker, 2> workers_;
  Counts outside_;
  int messages_left_ = 5, work_ = 0, steps_ = 0;
};

/// Whether the flow was ever found to be done before it was.
bool is_misjudged(std::uint64_t seed, Wrong wrong) {
  Flow flow(seed, wrong);
  do {
    if (flow.is_done() && flow.work() != 0) return true;
  } while (flow.step());
  return false;
}

TEST(Traffic, IsFoundToHaveEndedOnlyWhenItHas) {
  const auto seeds = static_cast<std::uint64_t>(rounds(20'000));
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    ASSERT_FALSE(is_misjudged(seed, Wrong::nothing)) << "seed " << seed;
  for (const Wrong wrong : {Wrong::begins_late, Wrong::ends_early, Wrong::inserts_late, Wrong::ready_late}) {
    std::uint64_t seed = 0;
    while (seed < 20'000 && !is_misjudged(seed, wrong)) ++seed;
    EXPECT_LT(seed, 20'000U) << "the order of " << static_cast<int>(wrong) << " does not matter";
    RecordProperty("seeds_" + std::to_string(static_cast<int>(wrong)), static_cast<int>(seed));
  }
}

/// ThreadSanitizer would call it a race if that did not follow from the orders of the counts.
TEST(Traffic, ThatHasEndedShowsWhatItWrote) {
  for (std::int64_t n = rounds(500); n > 0; --n) {
    std::array<Counts, 1> counts;
    const Counts outside;
    int written = 0;
    counts[0].begin();
    std::jthread worker([&] {
      written = 1;
      counts[0].end();
    });
    const auto done = [&] {
      return nothing_on_its_way(
          1, [&](std::size_t w) -> const Counts& { return counts[w]; }, outside, [] { return true; });
    };
    for (Backoff backoff; !done();) backoff.wait();
    EXPECT_EQ(written, 1);
  }
}

}  // namespace
}  // namespace taskgrain::rt::detail
