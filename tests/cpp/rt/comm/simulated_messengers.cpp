#include "rt/comm/simulated_messengers.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "comm/messenger.hpp"
#include "rt/comm/fiber.hpp"
#include "rt/comm/simulated_transport.hpp"
#include "rt/stress.hpp"

namespace taskgrain::rt {

namespace {

using detail::Messenger;
using detail::ProgressEngine;
using Id = std::uint64_t;
using Bytes = std::vector<std::byte>;

/// What goes wrong in a world, apart from the order of things.
enum class Trouble {
  none,
  crash,     ///< a rank ends without a word
  fails,     ///< a task of a rank
  throws,    ///< the function of a message
  mismatch,  ///< a rank has made another message
  unmade,    ///< a rank has not made the last message
  leaves,    ///< a rank ends its communicator while others wait for it
  unwinds,   ///< an exception does
  stuck,     ///< tasks wait for ever
};

class World {
 public:
  World(std::uint64_t seed, const SimulatedRunSize& size);
  SimulatedRun run();

 private:
  using Small = ActiveMessage<Id, view<const std::byte>>;
  using Large = LargeActiveMessage<std::byte, Id>;
  enum class State { between, waits, stuck, blocked, finished, gone, crashed };

  struct Kind {
    bool large;
    int due;  ///< all make it before this step of the program
  };
  struct Message {
    int from, to, kind, epoch, budget;
    bool large;
    std::size_t bytes;
    int runs = 0, places = 0, reuses = 0;
    Bytes body, place;
    std::optional<Memory<std::byte>> shared;  ///< body
  };
  struct Task {
    int epoch, budget;
  };
  struct Rank {
    int number = 0;
    std::unique_ptr<SimulatedCommunicator> comm;
    Messenger* messenger = nullptr;
    ProgressEngine* progress = nullptr;  // of the messenger
    std::vector<std::variant<Small, Large>> kinds;
    State state = State::between;
    int at = 0;                   ///< step of the program
    int begun = 0, returned = 0;  ///< waits
    int to_do = 0;                ///< by the user, before the next step
    bool deaf = false;            ///< it polls again when all others have come as far
    bool failed = false;          ///< its user knows
    bool lingers = false;         ///< with it
    bool is_stuck = false, watches = true, waits_alone = false;
    std::vector<Task> tasks;
    std::optional<ProgressEngine::Counts> seen, told;
    std::uint64_t received = 0, handled = 0;  ///< of its messages by others, of those of others by it; large ones twice
    int held_up = 0;                          ///< looks, until worker 0 goes on
    bool checked = false;                     ///< the rank was idle since it has seen that
    std::set<int> lost;
    std::unique_ptr<Fiber> sender;  ///< a task in the middle of a message that may wait for room
    std::unique_ptr<Fiber> fiber;
    State after = State::gone;  ///< the fiber
  };

  // -- dice
  int below(int end) { return static_cast<int>(dice_.below(static_cast<std::uint64_t>(end))); }
  bool chance(int n) { return below(n) == 0; }
  Rank& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }
  void violated(std::string what) {
    if (result_.violation.empty()) result_.violation = std::move(what);
  }
  static std::byte byte_of(Id id, std::size_t k) {
    return static_cast<std::byte>(mixed(id + 1) >> (k % 8 * 8) ^ (k / 8));
  }
  static bool holds(Id id, std::span<const std::byte> bytes) {
    for (std::size_t k = 0; k < bytes.size(); ++k)
      if (bytes[k] != byte_of(id, k)) return false;
    return true;
  }
  static void fill(Id id, std::span<std::byte> bytes) {
    for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = byte_of(id, k);
  }

  // -- messages
  std::string name_of(int r, int k) const {
    return (r == differs_ && k == bad_kind_ ? "other " : "message ") + std::to_string(k);
  }
  void make_kind(Rank& me);
  std::size_t some_size(bool large);
  void send(Rank& me, int budget);
  Message* comes(Rank& me, int k, Id id);
  void check_counts(Rank& me, const Message& message);
  void has_come(Rank& me, Message& message);
  void run_small(Rank& me, int k, Id id, std::span<const std::byte> bytes);
  std::byte* place(Rank& me, int k, Id id, std::size_t bytes);
  void process(Rank& me, int k, Id id);
  void reusable(Rank& me, int k, Id id);

  // -- ranks
  bool waits_now(const Rank& me) const { return me.begun > me.returned && !me.progress->done(); }
  int epoch_of(const Rank& me) const { return waits_now(me) ? me.begun : ended_by(me) + 1; }
  int ended_by(const Rank& me) const { return me.begun - (waits_now(me) ? 1 : 0); }
  int& left_in(int epoch) { return left_[static_cast<std::size_t>(epoch)]; }
  void step(Rank& me);
  void between(Rank& me);
  void wait(Rank& me);
  void look(Rank& me, bool at_once);
  void run_task(Rank& me);
  void begin_next(Rank& me);
  void exchange(Rank& me);
  void note_end(Rank& me);
  void leave(Rank& me);
  void block(Rank& me, State after, std::function<void()> call);
  void go_on(Rank& me);
  void go_on_sending(Rank& me) {
    if (me.sender != nullptr && me.sender->resume()) me.sender.reset();
  }
  void poll(Rank& me);
  void has_failed(Rank& me, const RankFailed& error);
  void makes_trouble();
  void loses(Rank& me);
  void crash(Rank& me);
  void meanwhile(int sender);
  bool all_gone() const;
  void clean_up();

  Dice dice_;
  SimulatedRun result_;
  SimulatedNetwork network_;
  std::deque<Rank> ranks_;
  std::vector<Kind> kinds_;
  std::vector<bool> program_;  ///< by step: whether it is a wait, or else an exchange
  std::deque<Message> messages_;
  std::vector<int> left_;    ///< by epoch: messages and tasks
  std::vector<bool> ended_;  ///< epochs, of which some rank has heard
  std::vector<int> met_;     ///< by step of the program: ranks that have called the exchange
  int generosity_;
  bool may_be_deaf_ = false;
  const bool remembers_ = chance(2);  ///< who looks, what it has said

  Trouble trouble_ = Trouble::none;
  int culprit_ = -1;                  ///< -1: any
  int differs_ = -1, bad_kind_ = -1;  ///< a rank that has made another message
  int trouble_at_ = -1;               ///< turn; `throws`: message; `leaves`: step of the program; `stuck`: wait
  std::vector<std::string> words_;    ///< of the error
  bool any_failed_ = false, in_meanwhile_ = false;
};

World::World(std::uint64_t seed, const SimulatedRunSize& size)
    : dice_(seed),
      network_(1 + below(chance(3) ? size.most_ranks : std::min(3, size.most_ranks)), dice_, result_.violation),
      generosity_(1 + below(4)) {
  network_.meanwhile = [this](int sender) { meanwhile(sender); };
  const int ranks = network_.ranks(), waits = 1 + below(size.most_waits);
  for (int k = 0; k < waits; ++k) {
    while (chance(3)) program_.push_back(false);
    program_.push_back(true);
  }
  const int steps = static_cast<int>(program_.size());
  const int number = 1 + below(4);
  for (int k = 0; k < number; ++k) kinds_.push_back({chance(2), chance(2) ? 0 : below(steps)});
  std::ranges::sort(kinds_, {}, &Kind::due);
  kinds_[0].due = 0;
  left_.assign(static_cast<std::size_t>(waits) + 2, 0);
  ended_.assign(static_cast<std::size_t>(waits) + 2, false);
  met_.assign(program_.size(), 0);

  if (chance(2) && ranks > 1) trouble_ = static_cast<Trouble>(1 + below(8));
  culprit_ = trouble_ == Trouble::none ? -1 : below(ranks);
  trouble_at_ = below(chance(2) ? 100 : 1000);
  switch (trouble_) {
    case Trouble::none:
      break;
    case Trouble::crash:
      words_ = {"ended by signal 9"};
      break;
    case Trouble::fails:
      words_ = {"a task failed"};
      break;
    case Trouble::throws:
      trouble_at_ = below(12);
      culprit_ = -1;
      words_ = {"message", "it throws"};
      break;
    case Trouble::mismatch:
      bad_kind_ = below(number);
      differs_ = std::exchange(culprit_, -1);
      words_ = {name_of(differs_, bad_kind_), "message " + std::to_string(bad_kind_), " has made ",
                "all ranks make the same active messages in the same order"};
      break;
    case Trouble::unmade:
      bad_kind_ = number - 1;
      words_ = {"an active message that this rank had not made when it began to wait"};
      break;
    case Trouble::leaves:
      trouble_at_ = below(steps);
      words_ = {"it has ended its communicator, while this rank waits"};
      break;
    case Trouble::unwinds:
      words_ = {"an exception has ended its communicator"};
      break;
    case Trouble::stuck:
      trouble_at_ = 1 + below(waits);
      words_ = {"tasks wait for ever"};
      break;
  }
  may_be_deaf_ = trouble_ == Trouble::none && chance(2);
  for (int r = 0; r < ranks; ++r) {
    Rank& me = ranks_.emplace_back();
    me.number = r;
    CommunicatorOptions options;
    if (chance(2)) options.queue_bytes = chance(2) ? 1 : 1 + dice_.below(2000);
    me.comm = std::make_unique<SimulatedCommunicator>(network_, r, options);
    me.messenger = &me.comm->messenger();
    me.progress = &me.messenger->progress_engine();
    me.to_do = below(4);
    me.watches = chance(2) || (culprit_ >= 0 && r == (culprit_ + 1) % ranks);
    me.is_stuck = trouble_ == Trouble::stuck && (r == culprit_ || chance(3));
    me.waits_alone = r == 0 && chance(2);
    me.watches |= me.waits_alone;
  }
}

// -- messages

void World::make_kind(Rank& me) {
  const int k = static_cast<int>(me.kinds.size());
  const std::string name = name_of(me.number, k);
  if (!kinds_[me.kinds.size()].large) {
    me.kinds.emplace_back(me.comm->active_message(
        [this, &me, k](Id id, view<const std::byte> bytes) { run_small(me, k, id, bytes); }, name));
  } else {
    me.kinds.emplace_back(me.comm->large_active_message(
        [this, &me, k](Id id, std::size_t bytes) { return place(me, k, id, bytes); },
        [this, &me, k](Id id) { process(me, k, id); }, [this, &me, k](Id id) { reusable(me, k, id); }, name));
  }
}

std::size_t World::some_size(bool large) {
  if (chance(256)) return 40000;
  return static_cast<std::size_t>(chance(8) ? below(2000) : large ? below(300) : below(60));
}

void World::send(Rank& me, int budget) {
  if (me.kinds.empty() || me.progress->failed()) return;
  const int k = below(static_cast<int>(me.kinds.size()));
  const Id id = messages_.size();
  const bool large = kinds_[static_cast<std::size_t>(k)].large;
  const int epoch = epoch_of(me);
  if (epoch >= static_cast<int>(left_.size()) - 1) return;  // nobody will wait for it
  const std::size_t bytes = some_size(large);
  Message& message = messages_.emplace_back(me.number, below(network_.ranks()), k, epoch, budget, large, bytes);
  left_in(epoch) += large ? 2 : 1;
  const auto& kind = me.kinds[static_cast<std::size_t>(k)];  // copied: while it waits, others are made
  if (large && chance(3)) {
    message.shared.emplace(me.comm->memory<std::byte>(bytes));
    fill(id, message.shared->elements());
    return Large(std::get<Large>(kind)).send(message.to, message.shared->elements(), id);
  }
  message.body.resize(bytes);
  fill(id, message.body);
  const view<const std::byte> body(message.body.data(), bytes);
  if (large) return Large(std::get<Large>(kind)).send(message.to, body, id);
  Small(std::get<Small>(kind)).send(message.to, id, body);
  message.body = {};
}

/// A function of a message is called on its receiver. \returns null if it should not be
World::Message* World::comes(Rank& me, int k, Id id) {
  if (me.progress->failed()) return violated("a function runs after its rank has failed"), nullptr;
  if (me.comm == nullptr) return violated("a function runs when its rank has ended"), nullptr;
  if (id >= messages_.size()) return violated("a message comes that nobody has sent"), nullptr;
  Message& message = messages_[id];
  if (message.to != me.number || message.kind != k) return violated("a message comes to another function"), nullptr;
  if (name_of(message.from, k) != name_of(me.number, k))
    return violated("a function runs that the sender has not meant"), nullptr;
  if (message.epoch <= ended_by(me)) return violated("a message comes after the wait for it has ended"), nullptr;
  if (message.epoch > me.returned + 1)
    return violated("a message comes before its receiver has returned from the wait before"), nullptr;
  return &message;
}

/// It is queued, and has not been processed.
void World::check_counts(Rank& me, const Message& message) {
  Rank& from = rank(message.from);
  ++from.received;
  if (from.comm != nullptr && from.progress->counts().queued < from.received)
    violated("a message comes before it was counted as queued");
  if (me.progress->counts().processed > me.handled) violated("a message is counted before its function has returned");
}

/// It does what its function does.
void World::has_come(Rank& me, Message& message) {
  if (++message.runs > 1) return violated("a message is processed twice");
  check_counts(me, message);
  // Another thread is worker 0, and looks meanwhile.
  if (me.state == State::waits && chance(3)) look(me, true);
  if (trouble_ == Trouble::throws && trouble_at_-- == 0) {
    culprit_ = me.number;
    throw std::runtime_error("it throws");
  }
  for (int budget = message.budget; budget > 0;) {
    const int part = 1 + below(budget);
    budget -= part;
    if (chance(3)) {
      me.tasks.push_back({message.epoch, part - 1});
      ++left_in(message.epoch);
    } else {
      send(me, part - 1);
    }
  }
  --left_in(message.epoch);
  ++me.handled;
}

void World::run_small(Rank& me, int k, Id id, std::span<const std::byte> bytes) {
  Message* const message = comes(me, k, id);
  if (message == nullptr) return;
  if (bytes.size() != message->bytes || !holds(id, bytes)) violated("a message comes with other bytes");
  has_come(me, *message);
}

std::byte* World::place(Rank& me, int k, Id id, std::size_t bytes) {
  Message* const message = comes(me, k, id);
  if (message == nullptr) return nullptr;
  if (++message->places > 1) violated("a large message is placed twice");
  if (bytes != message->bytes) violated("a large message comes with another size");
  message->place.resize(bytes + 1);
  return message->place.data();
}

void World::process(Rank& me, int k, Id id) {
  Message* const message = comes(me, k, id);
  if (message == nullptr) return;
  if (message->places != 1) return violated("a large message is processed that was not placed");
  if (!holds(id, std::span(message->place).first(message->place.size() - 1)))
    violated("a large message comes with other bytes");
  message->place = {};
  has_come(me, *message);
}

void World::reusable(Rank& me, int k, Id id) {
  if (me.progress->failed()) return violated("`reusable` runs after its rank has failed");
  if (id >= messages_.size() || messages_[id].from != me.number || messages_[id].kind != k)
    return violated("another message is said to be reusable");
  Message& message = messages_[id];
  if (++message.reuses > 1) return violated("a message is reusable twice");
  if (message.epoch <= ended_by(me)) return violated("a message is reusable after its wait");
  check_counts(me, message);
  if (me.state == State::waits && chance(3)) look(me, true);
  // The user writes something else.
  if (message.shared) std::ranges::fill(message.shared->elements(), std::byte{0xdd});
  message.shared.reset();
  std::ranges::fill(message.body, std::byte{0xdd});
  if (chance(2)) message.body = {};
  if (message.budget > 0 && chance(4)) send(me, 0);
  --left_in(message.epoch);
  ++me.handled;
}

// -- ranks

void World::step(Rank& me) try {
  if (me.state == State::crashed || me.state == State::gone) return;
  if (network_.crashed(me.number)) return crash(me);
  if (me.watches && chance(8)) loses(me);
  if (chance(2)) go_on_sending(me);
  switch (me.state) {
    case State::between:
      return between(me);
    case State::waits:
      return wait(me);
    case State::stuck:
      if (me.progress->failed()) {
        me.progress->settle();
        me.progress->raise();
      }
      return poll(me);
    case State::blocked:
      if (!me.failed && me.comm != nullptr && chance(4)) run_task(me);
      return go_on(me);
    case State::finished:
      if (!me.waits_alone || me.progress->failed()) return leave(me);
      if (!me.progress->alone()) return poll(me);
      for (const Rank& other : ranks_)
        if (other.number != me.number && other.comm != nullptr) violated("a rank is alone though others are there");
      return leave(me);
    default:
      return;
  }
} catch (const RankFailed& error) {
  has_failed(me, error);
}

void World::poll(Rank& me) {
  if (me.progress->anything() && me.progress->may_poll()) me.progress->poll();
  note_end(me);
}

void World::between(Rank& me) {
  if (me.failed) {
    // Who tells of its own failure need not end for others to hear of it.
    const auto knows = [](const Rank& other) {
      return other.failed || other.comm == nullptr || other.state == State::crashed;
    };
    return me.lingers && !std::ranges::all_of(ranks_, knows) ? poll(me) : leave(me);
  }
  if (me.deaf) {
    me.deaf =
        !std::ranges::all_of(ranks_, [&](const Rank& other) { return other.at >= me.at || other.comm == nullptr; });
    return;
  }
  const bool may_make =
      me.kinds.size() < kinds_.size() && kinds_[me.kinds.size()].due <= me.at &&
      !(trouble_ == Trouble::unmade && me.number == culprit_ && static_cast<int>(me.kinds.size()) == bad_kind_);
  switch (below(6)) {
    case 0:
      if (may_make) make_kind(me);
      return;
    case 1:
      if (me.to_do > 0 && !me.kinds.empty()) {
        --me.to_do;
        if (!chance(4))
          return block(me, State::between, [this, &me, budget = below(3 * generosity_)] { send(me, budget); });
        const int epoch = epoch_of(me);
        me.tasks.push_back({epoch, below(3 * generosity_)});
        ++left_in(epoch);
      }
      return;
    case 2:
      // What its function uses is there, as soon as a message has been made.
      if (me.at > 0 || !may_make) chance(4) ? me.comm->progress() : poll(me);
      return;
    case 3:
      return run_task(me);
    default:
      if (trouble_ == Trouble::leaves && me.number == culprit_ && me.at == trouble_at_) return leave(me);
      if (!may_make && (me.to_do == 0 || me.kinds.empty())) begin_next(me);
  }
}

void World::begin_next(Rank& me) {
  if (!program_[static_cast<std::size_t>(me.at)]) return exchange(me);
  me.seen.reset();
  me.told.reset();
  me.progress->begin();
  ++me.begun;
  me.state = State::waits;
  note_end(me);
}

void World::wait(Rank& me) {
  if (me.progress->failed()) {
    me.progress->settle();
    me.progress->raise();
  }
  if (me.progress->done()) {
    note_end(me);
    const bool expected = trouble_ == Trouble::stuck && me.begun >= trouble_at_;
    if (me.progress->stuck() != expected) return violated("a rank is told wrongly whether tasks wait");
    if (expected) {
      if (me.is_stuck) me.progress->fail("tasks wait for ever");
      me.state = State::stuck;
      return;
    }
    ++me.at;
    me.to_do = me.at < static_cast<int>(program_.size()) ? below(4) : 0;
    me.after = me.at < static_cast<int>(program_.size()) ? State::between : State::finished;
    return block(me, me.after, [this, &me] {
      me.progress->end();
      me.returned = me.begun;
      me.deaf = may_be_deaf_ && chance(2);
    });
  }
  switch (below(6)) {
    case 0:
      return run_task(me);
    case 1:
      return look(me, true);
    case 2:
      return look(me, false);
    default:
      return poll(me);
  }
}

/// Worker 0 looks whether the rank is idle, as Engine::all_ranks_done does. Other things may happen in between.
void World::look(Rank& me, bool at_once) {
  ProgressEngine& progress = *me.progress;
  if (progress.done() || progress.failed()) return;
  if (!me.seen) {
    const ProgressEngine::Counts before = progress.counts();
    if (remembers_ && me.told == before) return;
    me.seen = before;
    me.checked = false;
    if (!at_once) return;
  }
  if (me.checked) {
    if (me.held_up > 0) {
      --me.held_up;
      return;
    }
  } else {
    if (!me.tasks.empty() || me.sender != nullptr || progress.counts() != *me.seen) return me.seen.reset();
    me.checked = true;
    if (!at_once && chance(4)) me.held_up = below(24);
    if (!at_once) return;
  }
  me.told = me.seen;
  me.seen.reset();
  progress.idle(*me.told, me.is_stuck && me.begun >= trouble_at_);
  note_end(me);
}

void World::run_task(Rank& me) {
  if (me.tasks.empty() || me.sender != nullptr) return;
  const std::size_t which = dice_.below(me.tasks.size());
  Task& task = me.tasks[which];
  if (task.budget > 0) {
    const int part = 1 + below(task.budget);
    task.budget -= part;
    me.sender = std::make_unique<Fiber>([this, &me, part] {
      try {
        send(me, part - 1);
      } catch (const RankFailed&) {  // its wait says so, too
      }
    });
    return go_on_sending(me);
  }
  --left_in(task.epoch);
  me.tasks.erase(me.tasks.begin() + static_cast<std::ptrdiff_t>(which));
}

void World::note_end(Rank& me) {
  if (me.state != State::waits || !me.progress->done() || me.progress->failed()) return;
  if (left_in(me.begun) != 0) violated("a wait ends though something of it is left");
  for (const Rank& other : ranks_)
    if (other.begun < me.begun) violated("a wait ends that not all ranks have begun");
}

void World::exchange(Rank& me) {
  const int ranks = network_.ranks();
  const auto part = [&, at = me.at](int from, int to) {
    return Bytes(static_cast<std::size_t>((from + 2 * to + at) % 3) * 50, static_cast<std::byte>(from * 16 + to + at));
  };
  ++met_[static_cast<std::size_t>(me.at)];
  block(me, State::between, [this, &me, ranks, part] {
    detail::Messages::Gathered to_each;
    for (int to = 0; to < ranks; ++to) to_each.push_back(part(me.number, to));
    const auto gathered = me.messenger->exchange(to_each, "barrier");
    for (int from = 0; from < ranks; ++from)
      if (gathered[static_cast<std::size_t>(from)] != part(from, me.number)) violated("an exchange gives other bytes");
    if (met_[static_cast<std::size_t>(me.at)] != ranks) violated("an exchange ends that not all ranks have begun");
    ++me.at;
    me.to_do = below(4);
    me.deaf = may_be_deaf_ && chance(2);
  });
}

/// The rank ends its communicator.
void World::leave(Rank& me) {
  if (me.sender != nullptr) return go_on_sending(me);
  if (trouble_ == Trouble::unwinds && me.number == culprit_ && !me.failed && me.state != State::finished) {
    try {
      const auto last = std::move(me.comm);
      throw 0;
    } catch (int) {
    }
    me.state = State::gone;
    return;
  }
  me.state = State::finished;
  if (me.watches && !me.failed)  // then others have to
    for (Rank& other : ranks_) other.watches = true;
  block(me, State::gone, [&me] { me.comm.reset(); });
}

void World::block(Rank& me, State after, std::function<void()> call) {
  me.after = after;
  me.state = State::blocked;
  me.fiber = std::make_unique<Fiber>([this, &me, call = std::move(call)] {
    try {
      call();
    } catch (const RankFailed& error) {
      me.after = State::between;
      has_failed(me, error);
    }
  });
  go_on(me);
}

void World::go_on(Rank& me) {
  if (!me.fiber->resume()) return;
  me.fiber.reset();
  me.state = me.after;
  if (me.state != State::gone) return;
  for (Message& message : messages_)  // nobody has waited for it
    if (message.from == me.number) message.shared.reset();
  if (!network_.memory_is_free(me.number)) violated("shared memory is not released");
}

void World::has_failed(Rank& me, const RankFailed& error) {
  me.progress->settle();
  network_.settle(me.number);
  me.failed = result_.failed = true;
  me.lingers = error.rank() == me.number && trouble_ != Trouble::unwinds && chance(2);
  me.tasks.clear();
  if (!me.fiber) me.state = State::between;
  for (Message& message : messages_) {
    if (message.from == me.number) message.body = {}, message.shared.reset();
    if (message.to == me.number) message.place = {};
  }
  const std::string what = error.what();
  if (trouble_ == Trouble::none) return violated("a rank fails though nothing was wrong: " + what);
  if (culprit_ >= 0 && error.rank() != culprit_ && !(trouble_ == Trouble::stuck && rank(error.rank()).is_stuck))
    violated("another rank is said to have failed: " + what);
  for (const std::string& words : words_)
    if (what.find(words) == std::string::npos) violated("another failure is told: " + what);
  if (what.find("it said: ") != std::string::npos) violated("the words depend on the way that they came: " + what);
  if (trouble_ == Trouble::leaves && !std::exchange(any_failed_, true) && me.at < trouble_at_)
    violated("a rank fails because of one that has left after the same wait");
}

// -- troubles

void World::makes_trouble() {
  if (trouble_at_ < 0 || trouble_at_-- > 0) return;
  Rank& me = rank(culprit_);
  const bool over = me.state == State::gone || me.state == State::finished || me.failed || me.progress->failed();
  switch (trouble_) {
    case Trouble::crash:
      if (over) return;
      if (chance(2)) return network_.crash_after(culprit_, below(4));
      network_.crash(culprit_);
      return;
    case Trouble::fails:
      if (!over && me.at < static_cast<int>(program_.size())) me.progress->fail("a task failed");
      return;
    default:  // unwinds
      if (me.state == State::between && me.sender == nullptr && !over)
        leave(me);
      else if (!over)
        trouble_at_ = 0;  // not now
  }
}

/// The rank hears of one that is lost.
void World::loses(Rank& me) {
  for (const Rank& other : ranks_) {
    if (other.number == me.number || me.lost.contains(other.number)) continue;
    const std::string& words = network_.failure_reason(other.number);
    if (other.state != State::crashed && words.empty()) continue;
    me.lost.insert(other.number);
    network_.lose(me.number, other.number, words.empty() ? "ended by signal 9 (Killed)" : "it said: " + words);
  }
}

void World::crash(Rank& me) { me.state = State::crashed; }

/// Other threads and ranks see what a rank sends at any time.
void World::meanwhile(int sender) {
  if (in_meanwhile_ || !chance(4)) return;
  in_meanwhile_ = true;
  for (Rank& one : ranks_) {
    if (one.state != State::waits || !chance(2)) continue;
    if (one.number != sender) one.progress->poll();
    note_end(one);
    look(one, true);
  }
  in_meanwhile_ = false;
}

bool World::all_gone() const {
  return std::ranges::all_of(ranks_,
                             [](const Rank& one) { return one.state == State::gone || one.state == State::crashed; });
}

/// What a process takes with it when it crashes.
void World::clean_up() {
  for (Rank& me : ranks_) {
    if (me.state != State::crashed || (me.comm == nullptr && me.fiber == nullptr)) continue;
    me.messenger->lost(me.number, "ended by signal 9");
    while (me.sender != nullptr) go_on_sending(me);
    while (me.fiber != nullptr) go_on(me);
    for (Message& message : messages_)
      if (message.from == me.number) message.shared.reset();
    me.comm.reset();
  }
}

SimulatedRun World::run() {
  const bool by_turn = trouble_ == Trouble::crash || trouble_ == Trouble::fails || trouble_ == Trouble::unwinds;
  const int slow = chance(3) ? below(network_.ranks()) : -1;
  int turns = 100000 * network_.ranks();  // more than the slowest packet needs
  for (; turns > 0 && result_.violation.empty() && !all_gone(); --turns) {
    if (by_turn) makes_trouble();
    const int r = below(network_.ranks());
    if (r == slow && !chance(8)) continue;
    step(rank(r));
  }
  if (turns == 0) {
    std::string states;
    for (const Rank& one : ranks_) {
      states += std::to_string(one.at);
      states += "bwsofgc "[static_cast<std::size_t>(one.state)];
    }
    violated("a rank does not come to its end: trouble " + std::to_string(static_cast<int>(trouble_)) + " of rank " +
             std::to_string(culprit_) + "; ranks are at steps " + states);
  }
  if (result_.violation.empty()) clean_up();
  if (result_.violation.empty() && !result_.failed && trouble_ == Trouble::none)
    for (const Message& message : messages_)
      if (message.runs != 1 || message.reuses != (message.large ? 1 : 0)) violated("a message was not processed");
  if (!result_.violation.empty())
    for (Rank& me : ranks_) {  // they stand in the middle of something
      static_cast<void>(me.fiber.release());
      static_cast<void>(me.sender.release());
      static_cast<void>(me.comm.release());
    }
  return result_;
}

}  // namespace

SimulatedRun run_messengers(std::uint64_t seed, SimulatedRunSize size) {
  // In case of a violation, what is in the middle of something stays there.
  auto world = std::make_unique<World>(seed, size);
  SimulatedRun run = world->run();
  if (!run.violation.empty()) static_cast<void>(world.release());
  return run;
}

}  // namespace taskgrain::rt
