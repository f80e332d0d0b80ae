/// The mailbox: what was sent comes, whole, once, in its order, and what was written before is seen.

#include "taskgrain/rt/detail/mailbox.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>

#include "rt/stress.hpp"

namespace taskgrain::rt::detail {
namespace {

Mailbox::Owner mailbox_of(std::size_t capacity) { return Mailbox::make(Mailbox::memory(capacity), capacity, 0); }

/// Words of the payload that are sent of an entry: 1 to 3.
std::size_t words_of(std::uint64_t number) { return 1 + static_cast<std::size_t>(mixed(number) % 3); }

/// Sends the first words of an entry's payload.
bool push(Mailbox& mailbox, const Entry& entry, std::size_t words) {
  const auto& payload = entry.payload.words;
  switch (words) {
    case 1:
      return mailbox.push(entry.handler, payload[0]);
    case 2:
      return mailbox.push(entry.handler, std::array{payload[0], payload[1]});
    default:
      return mailbox.push(entry.handler, entry.payload);
  }
}
bool push(Mailbox& mailbox, std::uint64_t number) { return push(mailbox, entry_of(number), words_of(number)); }

/// Whether an entry is that of its number, as far as it was sent.
bool intact(const Entry& entry) {
  const Entry expected = entry_of(number_of(entry));
  return entry.handler == expected.handler &&
         std::equal(entry.payload.words, entry.payload.words + words_of(number_of(entry)), expected.payload.words);
}

/// Takes the next entry, which must be that of `number`.
void expect_next(Mailbox& mailbox, std::uint64_t number) {
  Entry entry;
  ASSERT_FALSE(mailbox.empty());
  ASSERT_TRUE(mailbox.pop(entry));
  EXPECT_EQ(number_of(entry), number);
  EXPECT_TRUE(intact(entry));
}

TEST(Mailbox, IsEmptyAtFirst) {
  const auto owner = mailbox_of(8);
  Mailbox& mailbox = *owner;
  Entry entry = entry_of(5);
  EXPECT_TRUE(mailbox.empty());
  EXPECT_FALSE(mailbox.pop(entry));
  EXPECT_EQ(number_of(entry), 5u) << "an entry that did not come was written";
}

class MailboxOf : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Capacities, MailboxOf, testing::Values(4, 8, 512), testing::PrintToStringParamName());

TEST_P(MailboxOf, GoesRoundWithAnyNumberOfEntries) {
  const std::uint64_t capacity = GetParam();
  const auto owner = mailbox_of(capacity);
  Mailbox& mailbox = *owner;
  Dice dice(capacity);
  std::uint64_t sent = 0, received = 0;
  std::size_t slots = 0;
  for (int turn = 0; turn < 1000; ++turn) {
    for (std::uint64_t more = dice.below(capacity + 2); more > 0; --more) {
      const bool fits = slots + words_of(sent) <= capacity;
      ASSERT_EQ(push(mailbox, sent), fits);
      if (fits) slots += words_of(sent++);
    }
    for (std::uint64_t less = dice.below(capacity + 1); less > 0 && received < sent; --less) {
      slots -= words_of(received);
      expect_next(mailbox, received++);
    }
    ASSERT_EQ(mailbox.empty(), sent == received);
  }
}

TEST_P(MailboxOf, BringsEntriesWholeAndInOrder) {
  const auto owner = mailbox_of(GetParam());
  Mailbox& mailbox = *owner;
  std::atomic<bool> sending{true};
  std::uint64_t messages = 0;
  std::thread sender([&] {
    for (const Race race(1'000'000); race.has(static_cast<std::int64_t>(messages)); ++messages)
      for (Backoff backoff; !push(mailbox, messages);) backoff.wait();
    sending = false;
  });
  std::uint64_t in_order = 0, whole = 0, n = 0;
  for (Backoff backoff; sending || !mailbox.empty();) {
    Entry entry;
    if (!mailbox.pop(entry)) {
      backoff.wait();
      continue;
    }
    backoff = {};
    in_order += number_of(entry) == n++;
    whole += intact(entry);
  }
  sender.join();
  EXPECT_GT(messages, 0U);
  EXPECT_EQ(in_order, messages);
  EXPECT_EQ(whole, messages);
  EXPECT_TRUE(mailbox.empty());
}

/// Plain memory goes to the other thread and back: what the one wrote before push, the other sees after pop.
/// (ThreadSanitizer would call it a race if that did not follow from the orders of the mailboxes.)
TEST(Mailbox, ShowsWhatWasWrittenBefore) {
  const auto there_owner = mailbox_of(4), back_owner = mailbox_of(4);
  Mailbox &there = *there_owner, &back = *back_owner;
  std::thread other([&] {
    for (;;) {
      Entry entry;
      for (Backoff backoff; !there.pop(entry);) backoff.wait();
      auto* value = entry.payload.as<std::int64_t*>();
      if (value == nullptr) return;
      ++*value;
      push(back, entry, 3);
    }
  });
  const auto value = std::make_unique<std::int64_t>(0);
  std::int64_t wrong = 0;
  const Race race(100'000);
  for (std::int64_t turn = 0; race.has(turn); ++turn) {
    *value = 3 * turn;
    there.push(entry_of(0).handler, value.get());
    Entry entry;
    for (Backoff backoff; !back.pop(entry);) backoff.wait();
    wrong += *value != 3 * turn + 1;
  }
  there.push(entry_of(0).handler, static_cast<std::int64_t*>(nullptr));
  other.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace taskgrain::rt::detail
