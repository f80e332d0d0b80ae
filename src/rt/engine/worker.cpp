#include "taskgrain/rt/detail/worker.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "engine/work.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/trace.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt::detail {

/// Messages for which a mailbox had no room are sent as one message, a pointer to a batch, which the receiver then
/// owns. Sent one by one they would wait for the receiver to empty the mailbox; if both share a core, once for each
/// time slice.
class Worker::OverflowBatches final : public MessageHandler {
 public:
  void deliver(Worker& here, const Payload& batch) noexcept override {
    const std::unique_ptr<std::deque<Entry>> messages(batch.as<std::deque<Entry>*>());
    for (const Entry& message : *messages) here.deliver(message);
  }
};

/// A mailbox between two workers is made at the first message, which the sender puts into its overflow while it
/// requests the mailbox. The sender allocates its memory, so that a lack of memory fails the send and not the receiver.
class Worker::MailboxRequests final : public MessageHandler {
 public:
  struct Request {
    Worker* sender;
    void* memory;
    std::size_t capacity;
  };
  void deliver(Worker& here, const Payload& message) noexcept override {
    const auto request = message.as<Request>();
    Mailbox& box = here.inbox_.open(request.memory, request.capacity, here.sleeper_);
    request.sender->outboxes_[static_cast<std::size_t>(here.index())].store(&box, std::memory_order_release);
  }
};

std::unique_ptr<Handler> Worker::make_overflow_batches() { return std::make_unique<OverflowBatches>(); }
std::unique_ptr<Handler> Worker::make_mailbox_requests() { return std::make_unique<MailboxRequests>(); }

Worker::Worker(Engine& engine, int index, int workers)
    : engine_(engine), index_(index), stealable_(engine.options().order, workers), bound_(engine.options().order),
      spins_before_steal_(least_spins_before_steal), closed_(Mailbox::make(Mailbox::memory(0), 0, 0)),
      inbox_(static_cast<std::size_t>(workers - 1)),
      outboxes_(std::make_unique<std::atomic<Mailbox*>[]>(static_cast<std::size_t>(workers))) {
  for (int k = 0; k < workers; ++k)
    outboxes_[static_cast<std::size_t>(k)].store(closed_.get(), std::memory_order_relaxed);
}

void Worker::receive_from_workers() {
  if (!overflow_.empty()) [[unlikely]]
    send_overflow();
  inbox_.take([this](const Entry& message) { deliver(message); });
}

void Worker::deliver(const Entry& message) {
  ++received_;
  engine_.handlers_.numbered[message.handler].deliver(*this, message.payload);
}

void Worker::reset_current() noexcept {
  current_ = nullptr;
  worker_index = -1;
}

void Worker::inject(const Entry& message) {
  engine_.made_in().check_process();
  const Engine::ExternalThread inside(engine_);  // the message may let another thread end the runtime
  injected_.put(message, [this] { engine_.outside_.sent.fetch_add(1, std::memory_order_acq_rel); });
  wake();
}

void Worker::push_overflow(int to, Entry message) try {
  const auto kept = std::ranges::find(overflow_, to, &Overflow::to);
  if (kept != overflow_.end()) return kept->messages->push_back(message);
  Overflow first{to, std::make_unique<std::deque<Entry>>(1, message)};
  overflow_.reserve(overflow_.size() + 1);
  if (outboxes_[static_cast<std::size_t>(to)].load(std::memory_order_relaxed) == closed_.get()) request_mailbox(to);
  overflow_.push_back(std::move(first));
} catch (...) {
  --sent_;
  engine_.handlers_.numbered[message.handler].lost(message.payload);
  throw;
}

void Worker::request_mailbox(int of) {
  Worker& receiver = engine_.worker(of);
  const std::size_t capacity = receiver.inbox_.next_capacity();
  const auto release = [](void* memory) { ::operator delete(memory, std::align_val_t(apart)); };
  std::unique_ptr<void, decltype(release)> memory(Mailbox::memory(capacity), release);
  receiver.inject(
      {engine_.mailbox_requests_->number(), Payload::of(MailboxRequests::Request{this, memory.get(), capacity})});
  static_cast<void>(memory.release());  // the receiver owns it
}

void Worker::send_overflow() {
  std::erase_if(overflow_, [this](Overflow& kept) {
    Mailbox& box = *outboxes_[static_cast<std::size_t>(kept.to)].load(std::memory_order_acquire);
    if (!box.push(engine_.overflow_batches_->number(), kept.messages.get())) return false;
    static_cast<void>(kept.messages.release());  // the receiver owns it
    ++sent_;
    Worker& receiver = engine_.worker(kept.to);
    if (!receiver.sleeper_.attentive()) notify(receiver, box);
    return true;
  });
}

void Worker::leave() noexcept {
  try {
    for (; !overflow_.empty(); overflow_.pop_back()) {
      Overflow& kept = overflow_.back();
      const Payload batch = Payload::of(kept.messages.get());
      engine_.worker(kept.to).inject({engine_.overflow_batches_->number(), batch});  // there is always room
      static_cast<void>(kept.messages.release());                                    // the receiver owns it
    }
  } catch (const std::bad_alloc&) {  // no memory: they are sent when a thread waits again
  }
  if (!stealable_.any_to_share()) return;
  stealable_.share();
  wake_a_thief();
}

void Worker::notify(Worker& receiver, const Mailbox& box) noexcept {
  receiver.inbox_.notify(box);
  receiver.sleeper_.wake();
}

void Worker::ready_slowly(Entry task, Ready how) {
  if (how.priority != 0) ranked_ = true;
  bool requested = false;
  try {
    requested = (how.bound ? bound_ : stealable_).push_slowly(task, how.priority);
  } catch (...) {
    engine_.handlers_.numbered[task.handler].lost(task.payload);
    throw;
  }
  if (requested) share();
}

const Entry* Worker::next_ranked() {
  for (;;) {
    const bool none = stealable_.empty();  // read once: thieves may take the rest at any time
    if (none && bound_.empty()) {
      ranked_ = false;
      stealable_.forget_priorities();
      return nullptr;
    }
    // Of equal priority, bound tasks first, because no other worker can take them.
    const bool bound = !bound_.empty() && (none || bound_.priority() >= stealable_.priority());
    const Entry* const task = bound ? bound_.pop() : stealable_.pop();
    if (stealable_.can_share()) share();
    if (task != nullptr) return task;  // else a thief was quicker
  }
}

void Worker::share() {
  if (!stealable_.can_share()) return;
  stealable_.share();
  wake_a_thief();
}

void Worker::wake_a_thief() noexcept {
  light_barrier();  // as in Sleeper::wake: a sleeper says that it parks, and then checks for work once more
  if (engine_.awake_.asleep() == 0) return;
  for (Worker* thief : victims_)
    if (thief->sleeper_.wake()) return;
}

Worker* Worker::victim() noexcept {
  constexpr std::size_t at_once = 4;  // checking all of many victims would take longer than a task
  for (std::size_t n = std::min(at_once, victims_.size()); n > 0; --n) {
    Worker& one = *victims_[next_victim_];
    StealableRange& range = one.stealable_.range();
    if (range.left() > 0) return &one;  // it stays next_victim_
    range.request();
    if (++next_victim_ == victims_.size()) next_victim_ = 0;
  }
  return nullptr;
}

void Worker::request_work() noexcept {
  stealable_.range().request();
  branches_.request();
}

bool Worker::any_to_steal() noexcept {
  bool any = false;
  engine_.awake_.each([&](int k) {
    Worker& victim = engine_.worker(k);
    victim.request_work();
    any = any || victim.stealable_.range().left() > 0 || victim.branches_.any() ||
          victim.loops_.offers(block_of(victim)) != 0;
  });
  return any;
}

bool Worker::steal(Worker& victim) {
  using Clock = std::chrono::steady_clock;
  constexpr int times_as_long = 8;
  const auto begin = Clock::now();
  publish_busy();
  const auto number = static_cast<Clock::rep>(stealable_.steal(victim.stealable_));
  if (number == 0) return false;
  if (victim.stealable_.range().left() > 0) wake_a_thief();
  const Entry* const task = next();
  if (task == nullptr) return true;  // others have stolen all of it from this worker
  const auto middle = Clock::now();
  execute(*task);
  const auto theft = middle - begin, one = Clock::now() - middle;
  const bool worth_it = number * one >= times_as_long * theft && one >= theft;
  spins_before_steal_ = worth_it ? 0
                                 : std::clamp(2 * spins_before_steal_, least_spins_before_steal,
                                              most_spins_before_steal_per_worker * engine_.workers());
  return true;
}

void Worker::execute_traced(const Entry& task) {
  std::string name = "?";
  TracedTask of;
  try {
    name = engine_.handlers_.numbered[task.handler].describe(task.payload);
    of = engine_.handlers_.numbered[task.handler].traced(task.payload);
  } catch (...) {  // no memory
  }
  const auto run = [&] { engine_.handlers_.numbered[task.handler].run(*this, task.payload); };
  of.number == TracedTask::none ? run() : trace_->run(std::move(name), of, run);
}

void Worker::publish_idle() {
  if (idle_state_.is_idle()) return;
  idle_state_.idle(sent_, received_);
  if (index_ == 0) return;
  // Dekker: this worker has stored its epoch, and then loads whom worker 0 awaits; worker 0 stores that, and then loads
  // the epoch before it sleeps.
  light_barrier();
  if (engine_.completion_.awaits(static_cast<std::size_t>(index_))) engine_.worker(0).wake();
  engine_.main_.notify_others();
}

void Worker::publish_busy() {
  if (idle_state_.is_idle()) idle_state_.busy();
}

}  // namespace taskgrain::rt::detail
