#include "taskgrain/rt/detail/worker.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/trace.hpp"

namespace taskgrain::rt::detail {

namespace {

/// Words of a mailbox: all of a worker's together fit its second-level cache.
std::size_t capacity(int workers) { return workers <= 8 ? 1024 : workers <= 64 ? 256 : 64; }

constexpr std::size_t senders_at_once = 8;  // a look at all of many mailboxes would cost more than a task

}  // namespace

/// What was kept back goes as one message. One by one it would go at the pace of the receiver, and where that has no
/// core just now, a mailbox at a time for each turn that the system gives the two. The messages belong to whoever takes
/// the parcel.
class Worker::Parcels final : public Handler {
 public:
  void deliver(Worker& here, const Payload& parcel) noexcept override {
    const std::unique_ptr<std::deque<Entry>> messages(parcel.as<std::deque<Entry>*>());
    for (const Entry& message : *messages) here.deliver(message);
  }
  void drop(const Payload& parcel) noexcept override {
    deliver(*current_, parcel);
  }  // they are counted, and dropped one by one
  void run(Worker&, const Payload&) noexcept override {}  // never
  std::string describe(const Payload&) const override { return {}; }
  std::size_t stuck(std::vector<StuckTask>&, std::size_t) const override { return 0; }
  void abandon() noexcept override {}
};

Worker::Worker(Engine& engine, int index, int workers)
    : engine_(engine), index_(index), stealable_(engine.options().order), bound_(engine.options().order),
      parcels_(std::make_unique<Parcels>()) {
  for (int sender = 0; sender < workers; ++sender)
    mailboxes_.push_back(sender == index ? nullptr : std::make_unique<Mailbox>(capacity(workers)));
}

void Worker::receive_from_peers() {
  if (!kept_back_.empty()) [[unlikely]]
    send_kept_back();
  Entry message;
  for (std::size_t n = std::min(senders_at_once, inboxes_.size()); n > 0; --n) {
    Mailbox& box = *inboxes_[next_inbox_];
    if (++next_inbox_ == inboxes_.size()) next_inbox_ = 0;
    while (box.pop(message)) deliver(message);
  }
}

void Worker::deliver(const Entry& message) {
  ++received_;
  if (engine_.failed()) [[unlikely]]
    message.handler->drop(message.payload);
  else
    message.handler->deliver(*this, message.payload);
}

void Worker::receive_from_outside() {
  {
    const std::lock_guard lock(outside_mutex_);
    outside_taken_.swap(outside_list_);
    outside_.store(false, std::memory_order_relaxed);
  }
  for (const Entry& message : outside_taken_) deliver(message);
  outside_taken_.clear();
}

void Worker::send_from_outside(const Entry& message) {
  engine_.sent_from_outside_.fetch_add(1, std::memory_order_acq_rel);
  {
    const std::lock_guard lock(outside_mutex_);
    outside_list_.push_back(message);
    outside_.store(true, std::memory_order_release);
  }
  wake();
}

void Worker::keep_back(Worker& to, Entry message) {
  auto kept = std::ranges::find(kept_back_, &to, &KeptBack::to);
  if (kept == kept_back_.end()) kept = kept_back_.insert(kept, {&to, std::make_unique<std::deque<Entry>>()});
  kept->messages->push_back(message);
}

void Worker::send_kept_back() {
  std::erase_if(kept_back_, [this](KeptBack& kept) {
    Mailbox& box = *kept.to->mailboxes_[static_cast<std::size_t>(index_)];
    if (!box.push({parcels_.get(), Payload::of(kept.messages.get())})) return false;
    static_cast<void>(kept.messages.release());  // the receiver's
    ++sent_;
    kept.to->wake();
    return true;
  });
}

const Entry* Worker::next_ranked() {
  const bool bound = !bound_.empty() && (stealable_.empty() || bound_.priority() >= stealable_.priority());
  if (!bound && stealable_.empty()) {
    ranked_ = false;
    return take_back();
  }
  // What was offered and not taken is still this worker's, and may come first.
  if (shared_.size() > 0 && offered_priority() > (bound ? bound_.priority() : stealable_.priority()))
    if (const Entry* task = take_back()) return task;
  taken_ = bound ? bound_.pop() : stealable_.pop();  // bound ones first: nobody else can take them
  if (!victims_.empty() && shared_.size() <= 0 && !stealable_.empty()) share();
  return &taken_;
}

const Entry* Worker::take_back() {
  if (shared_.size() <= 0 || !shared_.pop(taken_)) return nullptr;
  took_back_ = true;
  if (!offered_.empty()) offered_.pop_back();
  return &taken_;
}

void Worker::share() {
  // As many as find takers: twice as many where thieves took all that was offered last, half as many where one came
  // back.
  batch_ = took_back_ ? std::max<std::int64_t>(1, batch_ / 2) : std::min(2 * batch_, Deque::capacity / 2);
  took_back_ = false;
  const auto half = static_cast<std::int64_t>((stealable_.size() + 1) / 2);
  const std::int64_t number = std::min(batch_, half);
  offered_.clear();
  if (ranked_)
    share_ranked(number);
  else
    for (std::int64_t n = 0; n < number; ++n) shared_.push(stealable_.pop_to_share());
  wake_a_thief();
}

void Worker::share_ranked(std::int64_t number) {
  // The last is the one that this worker would take back first, so they go in from the lowest priority to the highest.
  for (std::int64_t n = 0; n < number; ++n) {
    const int priority = stealable_.priority();
    offered_.push_back({priority, stealable_.pop_to_share()});
  }
  std::ranges::reverse(offered_);
  for (const Offered& offered : offered_) shared_.push(offered.task);
}

void Worker::wake_a_thief() noexcept {
  for (Worker* thief : victims_)
    if (thief->sleeper_.wake()) return;
}

bool Worker::loot() const noexcept {
  return std::ranges::any_of(victims_, [](const Worker* victim) { return victim->shared_.size() > 0; });
}

bool Worker::steal(Entry& task) {
  for (Worker* victim : victims_) {
    if (victim->shared_.size() <= 0 || !victim->shared_.steal(task)) continue;
    if (victim->shared_.size() > 0) wake_a_thief();
    return true;
  }
  return false;
}

void Worker::execute_traced(const Entry& task) {
  std::string name = task.handler->describe(task.payload);
  const auto begin = TraceLane::Clock::now();
  task.handler->run(*this, task.payload);
  trace_->record(std::move(name), begin, TraceLane::Clock::now());
}

void Worker::publish_idle() {
  if (idle_) return;
  idle_ = true;
  publication_.sent.store(sent_, std::memory_order_release);
  publication_.received.store(received_, std::memory_order_release);
  publication_.epoch.store(publication_.epoch.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  if (index_ != 0) engine_.notify();
}

void Worker::publish_busy() {
  if (!idle_) return;
  idle_ = false;
  publication_.epoch.store(publication_.epoch.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  while (engine_.closed_.load(std::memory_order_acquire)) std::this_thread::yield();
}

}  // namespace taskgrain::rt::detail
