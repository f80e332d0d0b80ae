/// Forks that other ranks take. A rank that has nothing to do asks one rank after another, those of its host first. A
/// rank that is asked answers when it forks, joins or looks for work itself, because what it has written must be at
/// home before.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/backoff.hpp"
#include "global/victims.hpp"
#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/detail/global_forks.hpp"
#include "taskgrain/rt/detail/scope_exit.hpp"
#include "taskgrain/rt/detail/worker.hpp"
#include "taskgrain/rt/global_forks.hpp"

namespace taskgrain::rt::detail {

namespace {

class GlobalForksOfRanks final : public GlobalForksCore {
 public:
  using State = GlobalFrame::State;

  GlobalForksOfRanks(Communicator* comm, std::shared_ptr<GlobalMemoryCore> memory)
      : comm_(comm), memory_(std::move(memory)), victims_(comm) {}
  void make_messages(const std::shared_ptr<GlobalForksOfRanks>& self);

  int rank() const noexcept override { return comm_ == nullptr ? 0 : comm_->rank(); }
  void add(GlobalCall& call) override {
    call.number = static_cast<std::uint32_t>(calls_.size());
    calls_.push_back(&call);
  }
  void fork(GlobalFrame& frame) override;
  bool join(GlobalFrame& frame) override;
  void drop(GlobalFrame& frame) noexcept override;
  void begin(const GlobalCall& called) override;
  void help(std::byte* result, std::size_t bytes) override;
  void end(const std::byte* result, std::size_t bytes, const std::optional<std::string>& error) override;

 private:
  /// A call of another rank.
  struct Taken {
    int home;
    std::uint64_t frame;
    std::uint32_t call;
    std::vector<std::byte> arguments;
  };

  int ranks() const noexcept { return comm_ == nullptr ? 1 : comm_->ranks(); }
  /// Counts a thread that waits, and so takes calls of others, or (-1) one that runs something meanwhile. When nobody
  /// waits, those that have not begun go back.
  class Waiting {
   public:
    Waiting(GlobalForksOfRanks& of, int by) : of_(of), by_(by) { change(by_); }
    ~Waiting() { change(-by_); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    void change(int by) noexcept {
      std::list<Taken> unwanted;
      {
        const std::lock_guard lock(of_.mutex_);
        of_.waiting_ += by;
        if (of_.waiting_ == 0) unwanted.swap(of_.taken_);
      }
      try {
        for (const Taken& taken : unwanted) of_.tell(of_.return_, taken.home, taken.frame);
      } catch (const std::exception&) {  // each wait says that a rank has failed
      }
    }

    GlobalForksOfRanks& of_;
    const int by_;
  };

  /// Sends a message. Where it cannot, all ranks fail: another one waits for it.
  template <typename... Params, typename... Args>
  void tell(const std::optional<ActiveMessage<Params...>>& message, int to, const Args&... args) {
    failing_all(*memory_, [&] { message->send(to, args...); });
  }
  void unlink(GlobalFrame& frame) noexcept;
  void take_messages();
  bool take_back(GlobalFrame& frame) noexcept;
  void returned(std::uint64_t number);
  void answer();
  void ended(std::uint64_t number, State how, view<std::byte> result);
  template <typename Done>
  void work_until(const Done& done);
  bool work();
  void ask();
  void run(GlobalFrame& frame);
  void run(const Taken& taken);
  void leave();

  Communicator* const comm_;
  const std::shared_ptr<GlobalMemoryCore> memory_;
  std::vector<GlobalCall*> calls_;
  // `begin` sets runs_ at its end, and `leave` clears it, both under the mutex. A question that comes meanwhile is
  // queued under the mutex, too, so `leave` answers all of these afterwards. Other questions get "no fork".
  // `begin` clears over_ before the ranks meet there, so no message of this run has come yet. Rank 0 sets it in `end`.
  // Elsewhere the message `end_` sets it, with release after result_ and threw_, which `help` reads then.
  std::atomic<bool> runs_{false}, over_{false};
  std::atomic<int> questions_{0};  // questions_of_.size()
  std::mutex mutex_;               // protects the members below
  GlobalFrame *oldest_ = nullptr, *newest_ = nullptr;
  std::uint64_t frames_ = 0;
  std::unordered_map<std::uint64_t, GlobalFrame*> away_;
  int giving_ = 0;                // threads that send one of these
  std::deque<int> questions_of_;  // ranks that wait for an answer
  Victims victims_;
  std::list<Taken> taken_;         // answers that have not begun
  int waiting_ = 0;                // threads that take calls of others
  std::vector<std::byte> result_;  // of the run, or the message of what it threw
  bool threw_ = false;

  std::optional<ActiveMessage<int>> ask_;
  std::optional<ActiveMessage<int>> nothing_;
  std::optional<ActiveMessage<std::uint64_t>> return_;
  std::optional<ActiveMessage<int, std::uint64_t, std::uint32_t, view<std::byte>>> give_;
  std::optional<ActiveMessage<std::uint64_t, bool, view<std::byte>>> answer_;
  std::optional<ActiveMessage<bool, view<std::byte>>> end_;
};

void GlobalForksOfRanks::make_messages(const std::shared_ptr<GlobalForksOfRanks>& self) {
  ask_ = comm_->active_message(
      [self](int from) {
        const std::lock_guard lock(self->mutex_);
        if (!self->runs_.load()) return self->tell(self->nothing_, from, self->rank());
        self->questions_of_.push_back(from);
        self->questions_.store(static_cast<int>(self->questions_of_.size()), std::memory_order_release);
      },
      "question for a fork");
  nothing_ = comm_->active_message(
      [self](int from) {
        const std::lock_guard lock(self->mutex_);
        self->victims_.answered(from);
      },
      "no fork");
  give_ = comm_->active_message(
      [self](int home, std::uint64_t frame, std::uint32_t call, view<std::byte> arguments) {
        const std::lock_guard lock(self->mutex_);
        self->victims_.answered(home);
        if (self->waiting_ == 0) return self->tell(self->return_, home, frame);
        self->taken_.push_back({home, frame, call, {arguments.begin(), arguments.end()}});
      },
      "fork");
  return_ = comm_->active_message([self](std::uint64_t frame) { self->returned(frame); }, "fork that is not taken");
  answer_ = comm_->active_message(
      [self](std::uint64_t frame, bool threw, view<std::byte> result) {
        self->ended(frame, threw ? State::threw : State::done, result);
      },
      "result of a fork");
  end_ = comm_->active_message(
      [self](bool threw, view<std::byte> result) {
        {
          const std::lock_guard lock(self->mutex_);
          self->threw_ = threw;
          self->result_.assign(result.begin(), result.end());
        }
        self->over_.store(true, std::memory_order_release);
      },
      "end of forks");
}

// -- forks of this rank

void GlobalForksOfRanks::fork(GlobalFrame& frame) {
  if (!runs_.load(std::memory_order_relaxed)) throw UsageError("a GlobalFork is made in what GlobalForks::run calls");
  if (ranks() > 1) comm_->messages().check_may_wait();  // the join may have to
  {
    const std::lock_guard lock(mutex_);
    frame.number = frames_++;
    frame.older = newest_;
    (newest_ == nullptr ? oldest_ : newest_->newer) = &frame;
    newest_ = &frame;
  }
  try {
    take_messages();
  } catch (...) {  // a rank has failed, and the frame ends
    drop(frame);
    throw;
  }
}

/// Takes what has come, and answers who has asked.
void GlobalForksOfRanks::take_messages() {
  if (ranks() == 1) return;
  comm_->progress();
  if (questions_.load(std::memory_order_relaxed) > 0) answer();
}

void GlobalForksOfRanks::unlink(GlobalFrame& frame) noexcept {
  (frame.older == nullptr ? oldest_ : frame.older->newer) = frame.newer;
  (frame.newer == nullptr ? newest_ : frame.newer->older) = frame.older;
}

bool GlobalForksOfRanks::join(GlobalFrame& frame) {
  take_messages();
  while (!take_back(frame)) {
    work_until([&] { return frame.state.load(std::memory_order_acquire) != State::away; });
    if (frame.state.load(std::memory_order_acquire) < State::done) continue;  // it has been returned, or taken again
    memory_->acquire();
    return false;
  }
  return true;
}

/// \returns whether it was queued
bool GlobalForksOfRanks::take_back(GlobalFrame& frame) noexcept {
  const std::lock_guard lock(mutex_);
  if (frame.state.load(std::memory_order_relaxed) != State::queued) return false;
  unlink(frame);
  return true;
}

void GlobalForksOfRanks::drop(GlobalFrame& frame) noexcept {
  bool failed = false;  // a rank has: nothing comes any more, but a worker of this rank may still run it, or send it
  for (Backoff backoff; !take_back(frame); backoff.wait()) {
    if (frame.state.load(std::memory_order_acquire) >= State::done) return;
    if (failed) {
      const std::lock_guard lock(mutex_);
      if (giving_ == 0 && away_.erase(frame.number) > 0) return;
      continue;
    }
    try {
      take_messages();
    } catch (const RankFailed&) {
      failed = true;
    } catch (const std::exception&) {  // there was no memory for an answer to another rank
    }
  }
}

/// Gives the oldest fork to a rank that has asked, if there is one.
void GlobalForksOfRanks::answer() {
  GlobalFrame* frame = nullptr;
  int to = 0;
  {
    const std::lock_guard lock(mutex_);
    if (questions_of_.empty()) return;
    frame = oldest_;
    if (frame != nullptr) away_.emplace(frame->number, frame);  // first: for this there may be no memory
    to = questions_of_.front();
    questions_of_.pop_front();
    questions_.store(static_cast<int>(questions_of_.size()), std::memory_order_relaxed);
    if (frame != nullptr) {
      unlink(*frame);
      frame->state.store(State::away, std::memory_order_relaxed);
      ++giving_;
    }
  }
  if (frame == nullptr) return tell(nothing_, to, rank());
  const ScopeExit given([this] {
    const std::lock_guard lock(mutex_);
    --giving_;
  });
  failing_all(*memory_, [&] { memory_->release(); });
  tell(give_, to, rank(), frame->number, frame->call->number,
       view<std::byte>(const_cast<std::byte*>(frame->arguments), frame->call->arguments_bytes));
}

void GlobalForksOfRanks::ended(std::uint64_t number, State how, view<std::byte> result) {
  const std::lock_guard lock(mutex_);
  const auto found = away_.find(number);
  if (found == away_.end()) return;
  GlobalFrame& frame = *found->second;
  if (how == State::threw)
    frame.error.assign(reinterpret_cast<const char*>(result.data()), result.size());
  else
    std::ranges::copy(result, frame.result);
  away_.erase(found);
  frame.state.store(how, std::memory_order_release);
}

/// A rank that has found something else to do does not run this fork.
void GlobalForksOfRanks::returned(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = away_.find(number);
  if (found == away_.end()) return;
  GlobalFrame& frame = *found->second;
  away_.erase(found);
  frame.older = nullptr;
  frame.newer = oldest_;
  (oldest_ == nullptr ? newest_ : oldest_->older) = &frame;
  oldest_ = &frame;
  frame.state.store(State::queued, std::memory_order_release);
}

// -- work for a thread that waits

/// Runs forks of this rank, and calls of others, on top of what waits, in the upper half of the stack: so each of them
/// has the other half at least.
template <typename Done>
void GlobalForksOfRanks::work_until(const Done& done) {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (stack_end == UINTPTR_MAX) check_stack(here);
  const bool works = here > stack_middle;
  const Waiting waiting(*this, works ? 1 : 0);
  for (Backoff backoff; !done(); backoff.wait()) {
    take_messages();
    if (works && work()) backoff.reset();
  }
}

bool GlobalForksOfRanks::work() {
  GlobalFrame* mine = nullptr;
  std::optional<Taken> taken;
  {
    const std::lock_guard lock(mutex_);
    if (newest_ != nullptr) {
      mine = newest_;
      unlink(*mine);
      mine->state.store(State::away, std::memory_order_relaxed);  // not queued, and not ended
    } else if (!taken_.empty()) {
      taken = std::move(taken_.front());
      taken_.pop_front();
    }
  }
  if (mine == nullptr && !taken) return ask(), false;
  const Waiting runs(*this, -1);
  if (mine != nullptr)
    run(*mine);
  else
    failing_all(*memory_, [&] { run(*taken); });  // another rank waits for it
  return true;
}

/// Asks a rank, if it is time.
void GlobalForksOfRanks::ask() {
  if (ranks() == 1) return;
  const auto now = std::chrono::steady_clock::now();
  std::optional<int> to;
  {
    const std::lock_guard lock(mutex_);
    if (!over_.load()) to = victims_.next(now);
  }
  if (to) tell(ask_, *to, rank());
}

void GlobalForksOfRanks::run(GlobalFrame& frame) {
  try {
    frame.call->run(frame.arguments, frame.result);
  } catch (...) {
    frame.thrown = std::current_exception();
  }
  frame.state.store(frame.thrown ? State::threw : State::done, std::memory_order_release);
}

void GlobalForksOfRanks::run(const Taken& taken) {
  GlobalCall& call = *calls_.at(taken.call);
  std::vector<std::byte> result(call.result_bytes);
  std::string error;
  bool threw = true;
  memory_->acquire();
  try {
    call.run(taken.arguments.data(), result.data());
    threw = false;
  } catch (const RankFailed&) {
    throw;
  } catch (...) {
    error = text_for_others(rank(), std::current_exception());
  }
  memory_->release();
  const auto* const text = reinterpret_cast<std::byte*>(error.data());
  answer_->send(taken.home, taken.frame, threw,
                threw ? view(const_cast<std::byte*>(text), error.size()) : view(result.data(), result.size()));
  const std::lock_guard lock(mutex_);
  victims_.found();
}

// -- runs

void GlobalForksOfRanks::begin(const GlobalCall& called) {
  if (Worker::current() != nullptr) throw UsageError("GlobalForks::run is called in the program, not in a task");
  // Rank 0 may end before this one has begun.
  over_.store(false);
  threw_ = false;
  std::string functions = "run of " + called.name + " (function " + std::to_string(called.number) + "), with";
  for (const GlobalCall* call : calls_) functions += " " + call->name + " of " + call->signature + ";";
  if (comm_ != nullptr)
    for (const auto all = comm_->all_gather(functions); const std::string& other : all)
      if (other != functions)
        throw UsageError("the ranks do not run the same: here " + functions + " and on rank " +
                         std::to_string(&other - all.data()) + " " + other +
                         " but all make the same functions in the same order");
  memory_->look_for_races(false);
  const std::lock_guard lock(mutex_);
  victims_.begin();
  runs_.store(true);
}

void GlobalForksOfRanks::help(std::byte* result, std::size_t bytes) {
  failing_all(*memory_, [&] {
    work_until([&] { return over_.load(std::memory_order_acquire); });
    leave();
  });
  const std::lock_guard lock(mutex_);
  if (threw_) throw ThrownElsewhere(std::string(reinterpret_cast<const char*>(result_.data()), result_.size()));
  std::copy_n(result_.data(), std::min(bytes, result_.size()), result);
}

void GlobalForksOfRanks::end(const std::byte* result, std::size_t bytes, const std::optional<std::string>& error) {
  const auto* const first = error ? reinterpret_cast<const std::byte*>(error->data()) : result;
  const view<std::byte> told(const_cast<std::byte*>(first), error ? error->size() : bytes);
  memory_->release();
  over_.store(true);
  for (int other = 1; other < ranks(); ++other) end_->send(other, error.has_value(), told);
  leave();
}

/// Waits until no question of this rank is under way. From then on this rank answers those of others with nothing.
void GlobalForksOfRanks::leave() {
  const auto asks = [&] {
    const std::lock_guard lock(mutex_);
    return victims_.any_asked();
  };
  for (Backoff backoff; asks(); backoff.wait()) take_messages();
  {
    const std::lock_guard lock(mutex_);
    runs_.store(false);
  }
  while (questions_.load() > 0) answer();
  memory_->look_for_races(true);
}

}  // namespace

std::shared_ptr<GlobalForksCore> GlobalForksCore::make(Communicator* comm, std::shared_ptr<GlobalMemoryCore> memory) {
  auto made = std::make_shared<GlobalForksOfRanks>(comm, std::move(memory));
  if (comm != nullptr && comm->ranks() > 1) made->make_messages(made);
  return made;
}

}  // namespace taskgrain::rt::detail
