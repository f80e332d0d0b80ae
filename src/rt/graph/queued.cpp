/// Policies ready_queue and stealing: each worker runs those of its tasks that are ready.
///
/// count[n mod 3][t] is the number of edges that task t still waits for in iteration n (counted over all launches); it
/// is written by the worker that owns t alone. Edges from other workers come as messages, one each. When it becomes 0
/// it is set to the indegree again, for iteration n + 3. Edges of n + 3 cannot come before that: they come from tasks
/// of n + 3 or, carried, of n + 2, and a task of
/// iteration n + 2 starts only when all workers have finished n, that is when  n + 2 < min finished + 2.

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <unordered_map>

#include "engine/work.hpp"
#include "graph_actors.hpp"
#include "taskgrain/rt/detail/trace.hpp"

namespace taskgrain::rt::detail {

namespace {

/// Tasks after a task: places among the tasks of their worker; the highest bit is set for those of the next iteration.
using Place = std::uint32_t;
constexpr Place next_iteration = Place{1} << 31;

struct Remote {
  Place place;
  int worker;
};

struct alignas(64) Record {
  Action action;
  std::uint32_t local_end, remote_end;  // of what comes after; it begins where that of the task before ends
  std::uint32_t node;
  bool special;  // not just an action
};

struct Ready {
  Place place;
  int owner;
  std::int64_t iteration;
};

struct Message {
  enum Kind : std::int32_t { start, arrive, completed, device_done, window } kind;
  Place place;
  std::int64_t iteration;  // start: the first
  std::int64_t end;        // of the launch; start only
};
constexpr std::size_t words_without_end = 2;  // of all other messages

/// The part of an asynchronous task, or of a postcondition, that others do not have.
struct Special {
  std::vector<std::pair<int, Place>> device_after;  // asynchronous tasks that the device does after it
  std::vector<std::uint32_t> device_before;         // nodes
  std::vector<std::uint32_t> carried_before;        // and those of the iteration before
  DeviceEvent event[3];                             // by iteration mod 3
  std::size_t number = 0;                           // of a postcondition
};

/// What one worker owns. Touched by its thread alone, but for `finished`, which others read, and records, which thieves
/// run.
struct alignas(apart) Actor {
  std::vector<Record> records;
  std::vector<Place> local;
  std::vector<Remote> remote;
  std::vector<std::int32_t> indegree;
  std::vector<std::int32_t> count[3];
  std::vector<std::pair<Place, std::int32_t>> first;   // what a launch changes of the counts of its first iteration
  std::vector<std::pair<Place, std::int32_t>> second;  // and of its second: events come before that, too
  std::vector<Place> roots;                            // tasks that nothing of the graph comes before

  std::int64_t begin = 0, end = 0;  // of the launch
  std::int64_t window = 0;          // iterations below may start
  std::size_t left[2] = {0, 0};     // tasks to complete, by iteration mod 2
  std::deque<Ready> ready;
  std::vector<Ready> deferred;  // beyond the window
  std::vector<Message> early;   // of a launch whose start has not come
  bool ahead = false;           // the iteration after `finished` is through already
  bool active = false;          // an entry of this actor is in the engine's queue, or runs
  std::chrono::steady_clock::time_point wait_until{};
  alignas(apart) std::atomic<std::int64_t> finished{0};  // iterations that all of this worker's tasks are through
  std::atomic<bool> parked{false};  // wants a message when another worker has finished an iteration
};

class QueuedActors final : public GraphActors {
 public:
  QueuedActors(Runtime& runtime, Compiler given, bool stealing, CompileStatistics& statistics)
      : GraphActors(runtime, given), compiler_(std::move(given)), stealing_(stealing),
        actors_(new Actor[static_cast<std::size_t>(runtime.workers())]) {
    build(statistics);
    compiler_.out = {};
    reset();
    engine_.add(*this);
  }
  ~QueuedActors() override { engine_.remove(*this); }

  void deliver(Worker& here, const Payload& payload) noexcept override {
    const auto message = payload.as<Message>();
    Actor& actor = at(here.index());
    if (message.kind == Message::start) return begin(here, actor, message);
    if (message.iteration >= actor.end && message.kind != Message::window)
      actor.early.push_back(message);
    else
      receive(here, actor, message);
  }

  void run(Worker& here, const Payload& payload) noexcept override {
    const auto task = payload.as<Ready>();
    if (task.owner >= 0) return execute(here, task);
    Actor& actor = at(here.index());
    for (int budget = fair; !actor.ready.empty(); --budget) {
      if (budget == 0 && here.has_work())
        return here.ready({this, Payload::of(Ready{0, -1, 0})}, {.priority = -1, .bound = true});
      const Ready next = actor.ready.front();  // the oldest: others may wait for it
      actor.ready.pop_front();
      execute(here, next);
      if (engine_.failed()) [[unlikely]]
        return;
      here.poll();
    }
    actor.active = false;
    if (!actor.deferred.empty()) await_window(here, actor);
  }

  std::string describe(const Payload& payload) const override {
    const auto task = payload.as<Ready>();
    return task.owner < 0 ? compiler_.graph_name() : compiler_.text(at(task.owner).records[task.place].node);
  }

  std::size_t stuck(std::vector<StuckTask>& tasks, std::size_t most) const override {
    std::size_t total = launches_waiting(tasks, most);
    for (const int worker : members_) {
      const Actor& actor = at(worker);
      const std::int64_t iteration = actor.finished.load(std::memory_order_relaxed);
      if (iteration >= actor.end) continue;
      for (std::size_t t = 0; t < actor.records.size(); ++t) {
        const std::int32_t left = actor.count[iteration % 3][t],
                           indegree = actor.indegree[t] + adjustment(actor, t, iteration);
        if (left == indegree && (indegree == 0 || left == actor.indegree[t])) continue;  // it ran, or nothing has come
        ++total;
        if (tasks.size() < most) tasks.push_back({compiler_.text(actor.records[t].node), indegree - left, indegree});
      }
      if (total == 0 && ++total && tasks.size() < most)
        tasks.push_back({compiler_.graph_name() + ": a launch and its preconditions", 0, 1});
    }
    return total;
  }

 private:
  static constexpr int fair = 64;  // tasks before the others of this worker have their turn

  Actor& at(int worker) const noexcept { return actors_[static_cast<std::size_t>(worker)]; }
  static std::int32_t adjustment(const Actor& actor, std::size_t place, std::int64_t iteration) {
    if (iteration > actor.begin + 1) return 0;
    for (const auto& [changed, by] : iteration == actor.begin ? actor.first : actor.second)
      if (changed == place) return by;
    return 0;
  }

  // -- messages

  void begin(Worker& here, Actor& actor, const Message& message) {
    actor.begin = message.iteration;
    actor.end = message.end;
    actor.window = message.iteration + 2;
    if (actor.begin + 1 < actor.end)
      for (const auto& [place, by] : actor.second) actor.count[(actor.begin + 1) % 3][place] += by;
    for (const auto& [place, by] : actor.first)
      if ((actor.count[actor.begin % 3][place] += by) == 0) enqueue(here, actor, {place, here.index(), actor.begin});
    for (std::int64_t iteration = actor.begin; iteration < std::min(actor.end, actor.begin + 2); ++iteration)
      start_roots(here, actor, iteration);
    for (const Message& early : std::exchange(actor.early, {})) receive(here, actor, early);
  }

  void receive(Worker& here, Actor& actor, const Message& message) {
    if (message.kind == Message::arrive) return arrive(here, actor, message.place, message.iteration);
    if (message.kind == Message::window) return activate(here, actor);
    if (message.kind == Message::device_done) tell(here, {message.place, here.index(), message.iteration});
    complete(actor, message.iteration, here);
  }

  void arrive(Worker& here, Actor& actor, Place place, std::int64_t iteration) {
    std::int32_t& count = actor.count[iteration % 3][place];
    if (--count != 0) return;
    enqueue(here, actor, {place, here.index(), iteration});
  }

  void start_roots(Worker& here, Actor& actor, std::int64_t iteration) {
    for (const Place place : actor.roots)
      if (actor.count[iteration % 3][place] == 0)
        enqueue(here, actor, {place, here.index(), iteration});  // or it waits for an event
  }

  /// A task of this worker has all that it waits for.
  void enqueue(Worker& here, Actor& actor, const Ready& task) {
    actor.count[task.iteration % 3][task.place] = actor.indegree[task.place];
    if (task.iteration >= actor.window && !open_window(actor, task.iteration)) [[unlikely]] {
      actor.deferred.push_back(task);
    } else if (stealing_) {
      if (actor.records[task.place].special)
        here.ready({this, Payload::of(task)}, {.bound = true});
      else
        here.ready({this, Payload::of(task)});
      return;
    } else {
      actor.ready.push_back(task);
    }
    activate(here, actor);
  }

  void activate(Worker& here, Actor& actor) {
    if (std::exchange(actor.active, true)) return;
    here.ready({this, Payload::of(Ready{0, -1, 0})}, {.bound = true});
  }

  /// Whether an iteration may start.
  bool open_window(Actor& actor, std::int64_t iteration) const noexcept {
    std::int64_t least = INT64_MAX;
    for (const int worker : members_) least = std::min(least, at(worker).finished.load(std::memory_order_acquire));
    actor.window = least + 2;
    return iteration < actor.window;
  }

  /// Waits until some task that was deferred may start, or something else can be done.
  void await_window(Worker& here, Actor& actor) {
    const auto opens = [&] {
      return std::ranges::any_of(actor.deferred, [&](const Ready& task) { return open_window(actor, task.iteration); });
    };
    switch (here.wait_for(opens, actor.wait_until)) {
      case Waited::ready:
        break;
      case Waited::interrupted:
        if (engine_.failed()) return;
        actor.active = true;
        return here.ready({this, Payload::of(Ready{0, -1, 0})}, {.priority = -1, .bound = true});
      case Waited::too_long:
        actor.parked.store(true, std::memory_order_relaxed);
        heavy_barrier();
        if (!opens()) return;
        actor.parked.store(false, std::memory_order_relaxed);
    }
    std::vector<Ready> tasks;
    tasks.swap(actor.deferred);
    for (const Ready& task : tasks) enqueue(here, actor, task);
  }

  // -- tasks

  void execute(Worker& here, const Ready& task) noexcept {
    Actor& owner = at(task.owner);
    Record& record = owner.records[task.place];
    try {
      const Turn turn{task.iteration - owner.begin, here.index()};
      if (record.special) [[unlikely]] {
        if (!execute_special(here, owner, record, task, turn)) return;
      } else if (here.trace() == nullptr || stealing_) [[likely]] {  // a task in the engine's queue is recorded there
        record.action(turn);
      } else {
        const auto begin = TraceLane::Clock::now();
        record.action(turn);
        here.trace()->record(compiler_.text(record.node), begin, TraceLane::Clock::now());
      }
    } catch (...) {
      return engine_.fail(compiler_.text(record.node));
    }
    tell(here, task);
    if (task.owner == here.index())
      complete(owner, task.iteration, here);
    else
      send(task.owner, Payload::of(Message{Message::completed, 0, task.iteration, 0}), words_without_end);
  }

  /// \returns whether it is complete
  bool execute_special(Worker& here, Actor& owner, const Record& record, const Ready& task, const Turn& turn) {
    auto& node = compiler_.node(record.node);
    Special& special = specials_.at(record.node);
    if (node.kind == Compiler::Kind::postcondition) {
      if (task.iteration + 1 == owner.end) set_postcondition(special.number);
      return true;
    }
    std::vector<DeviceEvent> after;
    for (const std::uint32_t before : special.device_before)
      after.push_back(specials_.at(before).event[task.iteration % 3]);
    if (task.iteration > owner.begin)
      for (const std::uint32_t before : special.carried_before)
        after.push_back(specials_.at(before).event[(task.iteration - 1) % 3]);
    const std::int64_t end = owner.end;  // the device may be done at once, and the launch with it
    auto hold = std::make_shared<std::optional<Runtime::Hold>>(runtime_.hold());
    special.event[task.iteration % 3] =
        node.start(turn, {after, [this, task, hold] {
                            send(task.owner, Payload::of(Message{Message::device_done, task.place, task.iteration, 0}));
                            hold->reset();
                          }});
    for (const auto& [worker, place] : special.device_after) tell_one(here, worker, place, task.iteration, end);
    return false;
  }

  /// Tells those that come after a task.
  void tell(Worker& here, const Ready& task) {
    Actor& owner = at(task.owner);
    const Record& record = owner.records[task.place];
    const std::uint32_t local_begin = task.place == 0 ? 0 : owner.records[task.place - 1].local_end;
    const std::uint32_t remote_begin = task.place == 0 ? 0 : owner.records[task.place - 1].remote_end;
    for (std::uint32_t k = remote_begin; k < record.remote_end; ++k)
      tell_one(here, owner.remote[k].worker, owner.remote[k].place, task.iteration, owner.end);
    for (std::uint32_t k = local_begin; k < record.local_end; ++k)
      tell_one(here, task.owner, owner.local[k], task.iteration, owner.end);
  }

  void tell_one(Worker& here, int worker, Place place, std::int64_t iteration, std::int64_t end) {
    if ((place & next_iteration) != 0 && ++iteration == end) return;
    place &= ~next_iteration;
    if (worker == here.index() && iteration < at(worker).end)
      arrive(here, at(worker), place, iteration);
    else if (worker == here.index())  // a stolen task of a launch whose start has not come to this worker
      at(worker).early.push_back({Message::arrive, place, iteration, 0});
    else
      here.send(engine_.worker(worker), {this, Payload::of(Message{Message::arrive, place, iteration, 0})},
                words_without_end);
  }

  /// One of this worker's tasks is through.
  void complete(Actor& actor, std::int64_t iteration, Worker& here) {
    if (--actor.left[iteration % 2] != 0) return;
    actor.left[iteration % 2] = actor.records.size();
    // Iterations end in their order: the next one may be through already.
    std::int64_t through = actor.finished.load(std::memory_order_relaxed);
    if (iteration != through) {
      actor.ahead = true;
      return;
    }
    through += std::exchange(actor.ahead, false) ? 2 : 1;
    actor.finished.store(through, std::memory_order_release);
    light_barrier();
    for (const int worker : members_)
      if (at(worker).parked.load(std::memory_order_relaxed) && at(worker).parked.exchange(false))
        send(worker, Payload::of(Message{Message::window, 0, 0, 0}));
    for (std::int64_t next = iteration + 2; next < std::min(actor.end, through + 2); ++next)
      start_roots(here, actor, next);
    if (through == actor.end) finished();
  }

  // -- launches

  void start(std::int64_t begin, std::int64_t end) override {
    for (const int worker : members_) GraphActors::send(worker, Payload::of(Message{Message::start, 0, begin, end}));
  }
  void meet(std::size_t k, std::int64_t begin, std::int64_t end) override {
    for (const auto& [worker, place] : after_precondition_[k])
      for (std::int64_t iteration = begin; iteration < std::min(begin + 2, end); ++iteration)
        GraphActors::send(worker, Payload::of(Message{Message::arrive, place, iteration, 0}));
  }
  void reset() noexcept override {
    for (const int worker : members_) {
      Actor& actor = at(worker);
      actor.begin = actor.end = actor.window = 0;
      actor.ahead = actor.active = false;
      actor.parked.store(false, std::memory_order_relaxed);
      actor.wait_until = {};
      actor.ready.clear();
      actor.deferred.clear();
      actor.early.clear();
      actor.finished.store(0, std::memory_order_relaxed);
      for (auto& count : actor.count) count = actor.indegree;
      for (auto& left : actor.left) left = actor.records.size();
    }
  }

  // -- compiling

  void build(CompileStatistics& statistics) {
    std::vector<Place> place(compiler_.size());
    for (std::uint32_t n = 0; n < compiler_.size(); ++n) {
      if (compiler_.external(n)) continue;
      Actor& actor = at(compiler_.worker(n));
      place[n] = static_cast<Place>(actor.records.size());
      const bool special = compiler_.node(n).kind != Compiler::Kind::task;
      if (special) specials_[n];
      actor.records.push_back({compiler_.node(n).action, 0, 0, n, special});
      actor.indegree.push_back(0);
    }
    for (std::size_t k = 0; k < compiler_.postconditions.size(); ++k)
      specials_.at(compiler_.postconditions[k]).number = k;
    after_precondition_.resize(compiler_.preconditions.size());
    std::unordered_map<std::uint32_t, std::int32_t> first,
        second;  // of nodes: what comes more or less often in these iterations
    for (std::size_t k = 0; k < compiler_.preconditions.size(); ++k)
      for (const auto& [to, carried] : compiler_.out[compiler_.preconditions[k]]) {
        ++first[to];
        ++second[to];
        after_precondition_[k].emplace_back(compiler_.worker(to), place[to]);
      }
    for (std::uint32_t n = 0; n < compiler_.size(); ++n) {
      if (compiler_.external(n)) continue;
      Actor& actor = at(compiler_.worker(n));
      for (const auto& [to, carried] : compiler_.out[n]) {
        if (carried) --first[to];
        ++at(compiler_.worker(to)).indegree[place[to]];
        const Place target = place[to] | (carried ? next_iteration : 0);
        const bool local = compiler_.worker(to) == compiler_.worker(n);
        if (compiler_.on_device(n, to)) {
          specials_.at(n).device_after.emplace_back(compiler_.worker(to), target);
          (carried ? specials_.at(to).carried_before : specials_.at(to).device_before).push_back(n);
        } else if (local) {
          actor.local.push_back(target);
        } else {
          actor.remote.push_back({target, compiler_.worker(to)});
        }
        statistics.messages += !local;
      }
      actor.records[place[n]].local_end = static_cast<std::uint32_t>(actor.local.size());
      actor.records[place[n]].remote_end = static_cast<std::uint32_t>(actor.remote.size());
    }
    for (std::uint32_t n = 0; n < compiler_.size(); ++n) {
      if (compiler_.external(n)) continue;
      Actor& actor = at(compiler_.worker(n));
      const auto changed = first.find(n);
      if (changed != first.end() && changed->second != 0) actor.first.emplace_back(place[n], changed->second);
      if (const auto events = second.find(n); events != second.end())
        actor.second.emplace_back(place[n], events->second);
      if (actor.indegree[place[n]] == 0) actor.roots.push_back(place[n]);
    }
  }

  Compiler compiler_;
  const bool stealing_;
  std::unique_ptr<Actor[]> actors_;                      // by worker
  std::unordered_map<std::uint32_t, Special> specials_;  // by node
  std::vector<std::vector<std::pair<int, Place>>> after_precondition_;
};

}  // namespace

std::unique_ptr<GraphActors> queued_actors(Runtime& runtime, Compiler compiler, bool stealing,
                                           CompileStatistics& statistics) {
  return std::make_unique<QueuedActors>(runtime, std::move(compiler), stealing, statistics);
}

}  // namespace taskgrain::rt::detail
