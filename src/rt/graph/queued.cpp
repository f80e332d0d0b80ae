/// The executor of policies ready_queue and stealing: each worker runs those of its records that are ready.
/// program.hpp describes programs, queued_actor.hpp the state of a worker.

#include "queued_actor.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "device_events.hpp"
#include "engine/poll_interval.hpp"
#include "engine/work.hpp"
#include "graph_actors.hpp"
#include "issue.hpp"
#include "taskgrain/rt/detail/trace.hpp"

namespace taskgrain::rt::detail {

namespace {

using Actor = QueuedActor;
using Task = ReadyTask;
using Message = QueuedMessage;
using Start = QueuedStart;

class QueuedActors final : public Executor<QueuedActors> {
 public:
  QueuedActors(Runtime& runtime, Outline outline, QueuedPrograms programs, bool stealing)
      : Executor(runtime, std::move(outline)), stealing_(stealing), devices_(std::move(programs.devices)),
        device_places_(std::move(programs.device_places)), after_precondition_(std::move(programs.after_precondition)),
        events_(devices_.tasks.size()), issuer_(runtime, devices_), actors_(new Actor[programs.workers.size()]) {
    for (const int worker : members_) {
      at(worker).program = std::move(programs.workers[static_cast<std::size_t>(worker)]);
      at(worker).clear();
    }
  }

  void receive(Worker& here, const Payload& payload) noexcept override {
    const auto message = payload.as<Message>();
    Actor& actor = at(here.index());
    if (message.type == Message::start) return begin(here, actor, payload.as<Start>());
    if (message.type == Message::window) return activate(here, actor);
    if (message.type == Message::check) {
      // Otherwise this worker stores `finished` after this message, and so loads `parked` as the other has stored it.
      if (actor.finished.load(std::memory_order_relaxed) > message.iteration) unpark(static_cast<int>(message.place));
      return;
    }
    if (message.iteration < actor.floor) return;  // of a launch that has failed
    if (message.iteration >= actor.end)
      surely([&] { actor.early.push_back(message); });
    else
      receive(here, actor, message);
  }

  void go_on(Worker& here, const Payload& payload) noexcept {
    const auto task = payload.as<Task>();
    if (task.owner >= 0) return failed() ? dropped(here, task) : execute(here, task);
    Actor& actor = at(here.index());
    actor.poll_interval.enter();
    for (std::size_t before_poll = actor.poll_interval.tasks(); !actor.ready.empty() && !failed(); --before_poll) {
      if (before_poll == 0) {
        before_poll = actor.poll_interval.next();
        if (here.has_work()) return go_on_later(here, actor);
      }
      const Task next = actor.ready.pop();  // the oldest: others may wait for it
      execute(here, next);
      here.poll();
    }
    actor.active = false;
    if (failed()) [[unlikely]]
      return give_up(actor);
    if (!actor.deferred.empty()) await_window(here, actor);
  }

  void each_action(const std::function<void(std::uint32_t, Action&)>& each) override {
    for (const int worker : members_)
      for (QueuedRecord& record : at(worker).program.records)
        if (record.instruction == Instruction::run) each(record.node, record.action);
  }
  std::string describe(const Payload& payload) const override {
    const auto task = payload.as<Task>();
    return task.owner < 0 ? outline_.names.graph()
                          : outline_.names.text(at(task.owner).program.records[task.place].node);
  }

  TracedTask traced(const Payload& payload) override {
    const auto task = payload.as<Task>();
    if (task.owner < 0) return {TracedTask::none};
    const Actor& owner = at(task.owner);
    return traced_task(owner.program.records[task.place].node, task.iteration, owner.begin);
  }

  std::size_t waiting_tasks(int worker, std::vector<StuckTask>& tasks, std::size_t most) const override {
    const Actor& actor = at(worker);
    const std::int64_t iteration = actor.finished.load(std::memory_order_relaxed);
    if (iteration >= actor.end) return 0;
    std::size_t total = 0;
    for (std::size_t t = 0; t < actor.program.records.size(); ++t) {
      const std::int32_t left = actor.count[iteration % 3][t],
                         indegree = actor.program.indegree[t] + actor.correction(t, iteration);
      if (left == indegree && (indegree == 0 || left == actor.program.indegree[t]))
        continue;  // it ran, or nothing has come
      ++total;
      if (tasks.size() < most)
        tasks.push_back({task_text(actor.program.records[t].node, iteration), indegree - left, indegree});
    }
    return total;
  }

 private:
  Actor& at(int worker) const noexcept { return actors_[static_cast<std::size_t>(worker)]; }

  // -- messages

  void begin(Worker& here, Actor& actor, const Start& start) {
    actor.begin = actor.floor = start.message.iteration;
    actor.end = start.end;
    actor.running = true;
    if (failed()) return activate(here, actor);
    actor.window = actor.begin + 2;
    if (actor.begin + 1 < actor.end)
      for (const auto& [place, by] : actor.program.second) actor.count[(actor.begin + 1) % 3][place] += by;
    for (const auto& [place, by] : actor.program.first)
      if ((actor.count[actor.begin % 3][place] += by) == 0) enqueue(here, actor, {place, here.index(), actor.begin});
    for (std::int64_t iteration = actor.begin; iteration < std::min(actor.end, actor.begin + 2); ++iteration)
      start_roots(here, actor, iteration);
    for (const Message& early : std::exchange(actor.early, {})) receive(here, actor, early);
  }

  void receive(Worker& here, Actor& actor, const Message& message) {
    if (message.type == Message::arrive) return arrive(here, actor, message.place, message.iteration);
    if (message.type == Message::device_done) --actor.on_device;
    if (failed()) [[unlikely]] {
      actor.out -= stealing_;
      return activate(here, actor);
    }
    if (message.type == Message::device_done) notify_successors(here, {message.place, here.index(), message.iteration});
    complete(actor, message.iteration, here);
  }

  void arrive(Worker& here, Actor& actor, RecordIndex place, std::int64_t iteration) {
    std::int32_t& count = actor.count[iteration % 3][place];
    if (--count != 0) return;
    enqueue(here, actor, {place, here.index(), iteration});
  }

  void start_roots(Worker& here, Actor& actor, std::int64_t iteration) {
    for (const RecordIndex place : actor.program.roots)
      if (actor.count[iteration % 3][place] == 0)
        enqueue(here, actor, {place, here.index(), iteration});  // or it waits for an event
  }

  /// All arrivals of a record have come: makes it ready.
  void enqueue(Worker& here, Actor& actor, const Task& task) {
    actor.count[task.iteration % 3][task.place] = actor.program.indegree[task.place];
    if (task.iteration >= actor.window && !open_window(actor, task.iteration)) [[unlikely]] {
      surely([&] { actor.deferred.push_back(task); });
    } else if (stealing_) {
      ++actor.out;
      return actor.program.records[task.place].instruction != Instruction::run ? ready(here, task, {.bound = true})
                                                                               : ready(here, task);
    } else {
      actor.ready.push(task);
    }
    activate(here, actor);
  }

  void activate(Worker& here, Actor& actor) {
    if (std::exchange(actor.active, true)) return;
    ready(here, Task{0, -1, 0}, {.bound = true});
  }

  /// The launch has failed. Sets the counts as if it had run to its end, once no task of this actor is stolen or on a
  /// device.
  void give_up(Actor& actor) {
    if (!actor.running || actor.out != 0 || actor.on_device != 0) return;
    actor.clear();
    actor.floor = actor.end;
    actor.finished.store(actor.end, std::memory_order_release);
    actor.running = false;
    finished();
  }

  /// True if an iteration may start.
  bool open_window(Actor& actor, std::int64_t iteration) const noexcept {
    std::int64_t least = INT64_MAX;
    for (const int worker : members_) least = std::min(least, at(worker).finished.load(std::memory_order_acquire));
    actor.window = least + 2;
    return iteration < actor.window;
  }

  /// Waits until some task that was deferred may start, or something else can be done.
  [[gnu::noinline]] void await_window(Worker& here, Actor& actor) {
    const auto opens = [&] {
      return std::ranges::any_of(actor.deferred, [&](const Task& task) { return open_window(actor, task.iteration); });
    };
    switch (here.wait_for([&] { return opens() || failed(); }, actor.wait_until)) {
      case Waited::ready:
        if (failed()) return activate(here, actor);
        break;
      case Waited::interrupted:
        actor.active = true;
        return go_on_later(here, actor);
      case Waited::too_long:
        actor.parked.store(true, std::memory_order_relaxed);
        if (!heavy_barrier()) request_checks(here);
        if (!opens()) return;
        actor.parked.store(false, std::memory_order_relaxed);
    }
    actor.reconsidered.swap(actor.deferred);
    for (const Task& task : actor.reconsidered) enqueue(here, actor, task);
    actor.reconsidered.clear();
  }

  /// If the kernel refuses the barrier, the Dekker pair of `parked` and `finished` is not ordered. A message to each
  /// worker orders it. \pre the caller loads `finished` after this
  [[gnu::noinline]] void request_checks(Worker& here) {
    for (const int worker : members_)
      if (worker != here.index())
        send(here, worker,
             Message{Message::check, static_cast<RecordIndex>(here.index()),
                     at(worker).finished.load(std::memory_order_relaxed)});
  }

  void unpark(int worker) {
    if (at(worker).parked.load(std::memory_order_relaxed) && at(worker).parked.exchange(false))
      send(worker, Message{Message::window, 0, 0});
  }

  /// Queues the actor behind all other work.
  void go_on_later(Worker& here, Actor& actor) {
    actor.poll_interval.pause();
    GraphActors::ready(here, Task{0, -1, 0}, {.priority = -1, .bound = true});
  }

  // -- tasks

  void execute(Worker& here, const Task& task) noexcept {
    Actor& owner = at(task.owner);
    QueuedRecord& record = owner.program.records[task.place];
    try {
      const Turn turn{task.iteration - owner.begin, here.index(), task.iteration};
      if (record.instruction != Instruction::run) [[unlikely]] {
        if (!execute_special(here, task, turn)) return;
      } else if (here.trace() == nullptr || stealing_) [[likely]] {  // a task in the engine's queue is recorded there
        record.action(turn);
      } else {
        here.trace()->run(outline_.names.text(record.node), traced_task(record.node, task.iteration, owner.begin),
                          [&] { record.action(turn); });
      }
    } catch (...) {
      fail(record.node, task.iteration);
      if (record.instruction != Instruction::issue) dropped(here, task);  // else it counts as done
      return;
    }
    notify_successors(here, task);
    if (task.owner == here.index())
      complete(owner, task.iteration, here);
    else
      send(here, task.owner, Message{Message::completed, 0, task.iteration});
  }

  /// A task of a launch that has failed. Its owner gives up once all stolen tasks have been reported.
  void dropped(Worker& here, const Task& task) {
    if (stealing_) send(here, task.owner, Message{Message::completed, 0, task.iteration});
  }

  /// \returns whether it is complete
  [[gnu::noinline]] bool execute_special(Worker& here, const Task& task, const Turn& turn) {
    Actor& owner = at(task.owner);
    const QueuedRecord& record = owner.program.records[task.place];
    if (record.instruction == Instruction::post) {
      if (task.iteration + 1 == owner.end) set_postcondition(record.operand);
      return true;
    }
    give_to_device(here, owner, record.operand, task, turn);
    return false;
  }

  void give_to_device(Worker& here, Actor& owner, std::uint32_t d, const Task& task, const Turn& turn) {
    for (const std::uint32_t e : devices_.tasks[d].before) {
      const DeviceEdge& edge = devices_.edges[e];
      if (!edge.carried || task.iteration > owner.begin)
        issuer_.after(d).push(event(edge.from, task.iteration - edge.carried));
    }
    ++owner.on_device;
    // The device may call `done` before the start returns or throws, so the iteration waits for both.
    ++owner.left[task.iteration % 2];
    owner.out += stealing_;
    const auto returned = [&] { receive(here, owner, Message{Message::completed, 0, task.iteration}); };
    try {
      issuer_.issue(*this, d, turn, task.iteration, event(d, task.iteration));
    } catch (...) {
      returned();
      throw;
    }
    for (const std::uint32_t e : devices_.tasks[d].after) {
      const DeviceEdge& edge = devices_.edges[e];
      notify_successor(here, devices_.tasks[edge.to].worker,
                       device_places_[edge.to] | (edge.carried ? next_iteration : 0), task.iteration, owner.end);
    }
    returned();
  }
  void device_done(std::uint32_t d, std::int64_t iteration) override {
    send(devices_.tasks[d].worker, Message{Message::device_done, device_places_[d], iteration});
  }
  /// The event that a device task has returned in one of the last three iterations.
  StoredEvent& event(std::uint32_t d, std::int64_t iteration) {
    return events_[d][static_cast<std::size_t>(iteration % 3)];
  }

  /// Notifies the successors of a task.
  void notify_successors(Worker& here, const Task& task) {
    Actor& owner = at(task.owner);
    const QueuedRecord& record = owner.program.records[task.place];
    const std::uint32_t local_begin = task.place == 0 ? 0 : owner.program.records[task.place - 1].local_end;
    const std::uint32_t remote_begin = task.place == 0 ? 0 : owner.program.records[task.place - 1].remote_end;
    for (std::uint32_t k = remote_begin; k < record.remote_end; ++k)
      notify_successor(here, owner.program.remote[k].worker, owner.program.remote[k].place, task.iteration, owner.end);
    for (std::uint32_t k = local_begin; k < record.local_end; ++k)
      notify_successor(here, task.owner, owner.program.local[k], task.iteration, owner.end);
  }

  void notify_successor(Worker& here, int worker, RecordIndex place, std::int64_t iteration, std::int64_t end) {
    if ((place & next_iteration) != 0 && ++iteration == end) return;
    place &= ~next_iteration;
    if (worker == here.index() && iteration < at(worker).end)
      arrive(here, at(worker), place, iteration);
    else if (worker == here.index())  // a stolen task of a launch whose start has not come to this worker
      surely([&] { at(worker).early.push_back({Message::arrive, place, iteration}); });
    else
      send(here, worker, Message{Message::arrive, place, iteration});
  }

  /// One of this worker's tasks is complete.
  void complete(Actor& actor, std::int64_t iteration, Worker& here) {
    actor.out -= stealing_;
    if (--actor.left[iteration % 2] != 0) return;
    actor.left[iteration % 2] = actor.program.records.size();
    // Iterations must end in order. The next one may be complete first: then `ahead` remembers it.
    std::int64_t through = actor.finished.load(std::memory_order_relaxed);
    if (iteration != through) {
      actor.ahead = true;
      return;
    }
    through += std::exchange(actor.ahead, false) ? 2 : 1;
    actor.finished.store(through, std::memory_order_release);
    light_barrier();
    for (const int worker : members_) unpark(worker);
    for (std::int64_t next = iteration + 2; next < std::min(actor.end, through + 2); ++next)
      start_roots(here, actor, next);
    if (through != actor.end) return;
    actor.running = false;
    finished();
  }

  // -- launches

  void start(std::int64_t begin, std::int64_t end) override {
    for (const int worker : members_) GraphActors::send(worker, Start{{Message::start, 0, begin}, end});
  }
  void satisfy(std::size_t k, std::int64_t begin, std::int64_t end) override {
    for (const auto& [place, worker] : after_precondition_[k])
      for (std::int64_t iteration = begin; iteration < std::min(begin + 2, end); ++iteration)
        GraphActors::send(worker, Message{Message::arrive, place, iteration});
  }
  void wake_actor(int worker) override { GraphActors::send(worker, Message{Message::window, 0, 0}); }
  void reset(std::int64_t) noexcept override {}

  const bool stealing_;
  const DevicePlan devices_;
  const std::vector<RecordIndex> device_places_;  // by device task
  const std::vector<std::vector<Remote>> after_precondition_;
  std::vector<std::array<StoredEvent, 3>> events_;  // by device task, and iteration mod 3
  Issuer issuer_;
  const std::unique_ptr<Actor[]> actors_;  // by worker
};

}  // namespace

std::shared_ptr<GraphActors> queued_actors(Runtime& runtime, Outline outline, QueuedPrograms programs, bool stealing) {
  return std::make_shared<QueuedActors>(runtime, std::move(outline), std::move(programs), stealing);
}

}  // namespace taskgrain::rt::detail
