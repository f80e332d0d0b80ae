#include "rank_failure.hpp"

#include <new>
#include <span>
#include <string_view>

#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

void RankFailure::raise() const {
  const std::lock_guard lock(mutex_);
  throw RankFailed(rank_, why_);
}

bool RankFailure::is_own() const noexcept {
  const std::lock_guard lock(mutex_);
  return rank_ == outbox_.rank();
}

void RankFailure::fail(const char* what) noexcept {
  if (!set(outbox_.rank(), what) || outbox_.transport() == nullptr) return;
  try {
    outbox_.transport()->announce_failure(what);
  } catch (const std::bad_alloc&) {
  }
  tell_all();
}

void RankFailure::fail_for(int rank, const std::string& what) noexcept {
  if (rank == outbox_.rank()) return fail(what.c_str());
  if (set(rank, what)) tell_all();
}

void RankFailure::tell_all() noexcept {
  for (int other = 0; other < outbox_.ranks(); ++other)
    if (other != outbox_.rank()) tell(other);
}

void RankFailure::tell(int other) noexcept {
  try {
    int of = 0;
    std::string reason;
    {
      const std::lock_guard lock(mutex_);
      of = rank_;
      reason = why_.substr(0, outbox_.transport()->most_bytes() / 2);
    }
    outbox_.send_control(other, Control::failure, std::as_bytes(std::span(&of, 1)), reason);
  } catch (const std::bad_alloc&) {  // the transport has announced the reason
  }
}

void RankFailure::lost(int rank, const std::string& why) noexcept {
  bool is_news = false;
  try {
    constexpr std::string_view said = "it said: ";
    constexpr std::string_view unsaid = "; it has not said which tasks were pending there";
    if (why.starts_with(said)) {  // the words of the message that its end has overtaken
      is_news = set(rank, why.substr(said.size()));
    } else {
      is_news = set(rank, why.ends_with(unsaid) ? why : why + std::string(unsaid));
    }
  } catch (const std::bad_alloc&) {
    is_news = set(rank, "");
  }
  // The lost rank may only have been stopped. If it goes on, it must not wait for this rank. Other ranks notice its
  // loss themselves.
  if (is_news && rank != outbox_.rank()) tell(rank);
}

bool RankFailure::set(int of, const std::string& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (failed_.load(std::memory_order_relaxed)) return false;
    Transport* const transport = outbox_.transport();
    if (of != outbox_.rank() && transport != nullptr) transport->blame(of, why);
    rank_ = of;
    try {
      why_ = why;
    } catch (const std::bad_alloc&) {  // then without a reason
    }
    if (transport != nullptr) transport->abandon();
    failed_.store(true, std::memory_order_release);
  }
  engine_.notify();
  return true;
}

}  // namespace taskgrain::rt::detail
