/// The inbox: whatever its senders send comes, whether it looks at their mailboxes by itself or wants notices, and
/// though it sleeps.

#include "taskgrain/rt/detail/inbox.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "rt/asleep.hpp"
#include "rt/stress.hpp"

namespace taskgrain::rt::detail {
namespace {

/// One receiver, and a thread for each sender. The receiver makes their mailboxes one after another while they send.
class Post {
 public:
  explicit Post(int senders) : inbox_(static_cast<std::size_t>(senders)), boxes_(static_cast<std::size_t>(senders)) {}

  /// \returns how many messages came of those that each sends
  std::int64_t run(std::int64_t each, std::uint64_t seed) {
    std::vector<std::jthread> threads;
    for (std::size_t k = 0; k < boxes_.size(); ++k)
      threads.emplace_back([this, k, each, seed] { send(k, each, Dice(seed + k)); });
    const std::int64_t all = each * std::ssize(boxes_);
    std::jthread receiver([&] { receive(all, Dice(~seed)); });
    if (!eventually([&] { return received_ == all; })) {  // it sleeps though there is something for it
      over_ = true;
      sleeper_.wake();
    }
    receiver.join();
    return received_;
  }

 private:
  void send(std::size_t k, std::int64_t each, Dice dice) {
    for (Backoff backoff; boxes_[k] == nullptr && !over_;) backoff.wait();
    for (std::int64_t n = 0; n < each && !over_; ++n) {
      Mailbox& box = *boxes_[k];
      dice.tarry(200);
      for (Backoff backoff; !box.push(entry_of(k).handler, static_cast<std::uint64_t>(n)) && !over_;) backoff.wait();
      if (sleeper_.attentive()) continue;
      inbox_.notify(box);
      sleeper_.wake();
    }
  }
  void receive(std::int64_t all, Dice dice) {
    std::vector<std::uint64_t> next(boxes_.size(), 0);
    for (std::size_t opened = 0; received_ < all && !over_;) {
      if (opened < boxes_.size() && (received_ >= std::ssize(boxes_) || dice.below(4) == 0 || inbox_.empty())) {
        const std::size_t capacity = std::size_t{4} << dice.below(4);
        boxes_[opened++] = &inbox_.open(Mailbox::memory(capacity), capacity, sleeper_);
      }
      inbox_.take([&](const Entry& entry) {
        std::size_t k = 0;
        while (entry.handler != entry_of(k).handler) ++k;
        ASSERT_EQ(entry.payload.words[0], next[k]++);
        ++received_;
      });
      dice.tarry(300);
      if (opened == boxes_.size()) sleeper_.sleep_unless([&] { return !inbox_.empty() || received_ == all || over_; });
    }
  }

  Inbox inbox_;
  Sleeper sleeper_;
  std::vector<std::atomic<Mailbox*>> boxes_;
  std::atomic<std::int64_t> received_{0};
  std::atomic<bool> over_{false};
};

class Senders : public testing::TestWithParam<int> {};

TEST_P(Senders, AreAllHeard) {
  const Race race(200, 1);
  for (std::int64_t n = 0; race.has(n); ++n) {
    Post post(GetParam());
    const std::int64_t each = 400 / GetParam() + 2;
    ASSERT_EQ(post.run(each, static_cast<std::uint64_t>(n) << 32), each * GetParam()) << "round " << n;
  }
}

// Below, at and beyond the number from which it wants notices; and more than there are bits.
INSTANTIATE_TEST_SUITE_P(Inbox, Senders, testing::Values(1, 2, 4, 5, 12, 70));

TEST(Inbox, IsEmptyUntilItIsTold) {
  Inbox inbox(20);
  Sleeper sleeper;
  std::vector<Mailbox*> boxes;
  for (int k = 0; k < 20; ++k) boxes.push_back(&inbox.open(Mailbox::memory(4), 4, sleeper));
  const auto take = [&] {
    int taken = 0;
    inbox.take([&](const Entry&) { ++taken; });
    return taken;
  };
  EXPECT_FALSE(sleeper.attentive());
  EXPECT_FALSE(inbox.empty());  // somebody may have sent before it wanted notices
  EXPECT_EQ(take(), 0);
  EXPECT_TRUE(inbox.empty());
  for (Mailbox* box : boxes) box->push(entry_of(0).handler, 0);
  EXPECT_TRUE(inbox.empty());
  inbox.notify(*boxes[13]);
  EXPECT_FALSE(inbox.empty());
  EXPECT_EQ(take(), 1);
  for (const Mailbox* box : boxes) inbox.notify(*box);
  EXPECT_EQ(take(), 19);
  EXPECT_TRUE(inbox.empty());
}

TEST(Inbox, OfFewNeedsNoNotices) {
  Inbox inbox(4);
  Sleeper sleeper;
  for (int k = 0; k < 4; ++k) inbox.open(Mailbox::memory(4), 4, sleeper).push(entry_of(0).handler, 0);
  EXPECT_TRUE(sleeper.attentive());
  int taken = 0;
  inbox.take([&](const Entry&) { ++taken; });
  EXPECT_EQ(taken, 4);
}

}  // namespace
}  // namespace taskgrain::rt::detail
