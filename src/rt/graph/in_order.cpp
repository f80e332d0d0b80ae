/// The executor of policy in_order: each worker executes its program from the first record to the last, and parks where
/// it waits for long. program.hpp describes programs, channel.hpp the signals between workers. After a failed launch,
/// when no actor runs any more, the last actor resets all channels.

#include "program.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "channel.hpp"
#include "device_events.hpp"
#include "engine/poll_interval.hpp"
#include "engine/work.hpp"
#include "graph_actors.hpp"
#include "issue.hpp"
#include "rank_edges.hpp"
#include "taskgrain/rt/detail/trace.hpp"

namespace taskgrain::rt::detail {

namespace {

/// The progress of a device task.
struct DeviceState {
  explicit DeviceState(Channel& channel) : done(channel) {}

  DoneIterations done;
  std::int64_t issued = 0;  // the first iteration that was not issued; by its worker
};

/// The program of a worker and its position in it. Used by its thread alone.
struct alignas(apart) Actor {
  InOrderProgram program;
  std::int64_t begin = 0, iteration = 0, end = 0;  // of the launch, and the current one
  std::size_t record = 0, wait = 0, signal = 0;    // next
  std::vector<std::uint32_t> device_tasks;         // that it issues: it finishes when they are done
  std::size_t drained = 0;                         // of these
  bool parked = false;                             // waits for a message
  bool running = false;                            // the launch; not yet through
  std::chrono::steady_clock::time_point wait_until{};
  PollInterval poll_interval;
  std::size_t before_poll = 0;  // records until the next poll

  void rewind() noexcept { record = wait = signal = 0; }
};

struct Message {
  enum Type : std::int32_t { start, resume, check } type;
  std::uint32_t channel = 0;        // check: whose reader asks
  std::int64_t begin = 0, end = 0;  // start: iterations; check: begin is the value that the reader waits for
};

class InOrder final : public Executor<InOrder> {
 public:
  InOrder(Runtime& runtime, Outline outline, InOrderPrograms programs, std::unique_ptr<RankEdges> rank_edges)
      : Executor(runtime, std::move(outline), std::move(rank_edges)), devices_(std::move(programs.devices)),
        channel_ends_(std::move(programs.channels)), channels_(new Channel[channel_ends_.size()]),
        event_queues_(new EventQueue[devices_.edges.size()]), issuer_(runtime, devices_),
        actors_(programs.workers.size()) {
    for (std::size_t w = 0; w < actors_.size(); ++w) actors_[w].program = std::move(programs.workers[w]);
    for (std::uint32_t d = 0; d < devices_.tasks.size(); ++d) {
      device_states_.emplace_back(of_device_task(d));
      actors_[static_cast<std::size_t>(devices_.tasks[d].worker)].device_tasks.push_back(d);
    }
  }
  ~InOrder() override {
    if (rank_edges_ != nullptr) rank_edges_->on_resume(nullptr);
  }

  void receive(Worker& here, const Payload& payload) noexcept override {
    const auto message = payload.as<Message>();
    Actor& actor = actors_[static_cast<std::size_t>(here.index())];
    if (message.type == Message::check) {
      // Otherwise this worker stores the value after this message, and so loads `parked` as the reader has stored it.
      if (channels_[message.channel].passed(message.begin)) resume(message.channel);
      return;
    }
    if (message.type == Message::start) {
      actor.begin = actor.iteration = message.begin;
      actor.end = message.end;
      actor.running = true;
    } else if (!std::exchange(actor.parked, false)) {
      return;
    }
    ready(here, 0, {.bound = true});
  }

  void go_on(Worker& here, const Payload&) noexcept {
    Actor& actor = actors_[static_cast<std::size_t>(here.index())];
    if (failed()) return give_up(actor);
    actor.poll_interval.enter();
    try {
      for (; actor.iteration < actor.end; ++actor.iteration) {
        if (!(this->*run_)(here, actor)) return;
        if (rank_edges_ != nullptr) rank_edges_->finish(here.index(), actor.iteration);
        actor.rewind();
      }
    } catch (...) {
      const auto& records =
          actor.program.records;  // after the last record, sending credits to other ranks may have thrown
      fail(records[std::min(actor.record, records.size() - 1)].node, actor.iteration);
      return give_up(actor);
    }
    if (failed()) return give_up(actor);
    for (; actor.drained < actor.device_tasks.size(); ++actor.drained)
      if (!of_device_task(actor.device_tasks[actor.drained]).passed(actor.end)) {
        actor.parked = true;
        return;
      }
    actor.drained = 0;
    actor.running = false;
    finished();
  }

  void each_action(const std::function<void(std::uint32_t, Action&)>& each) override {
    for (Actor& actor : actors_)
      for (InOrderRecord& record : actor.program.records)
        if (record.instruction == Instruction::run) each(record.node, record.action);
  }
  std::string describe(const Payload&) const override { return outline_.names.graph(); }
  TracedTask traced(const Payload&) override { return {TracedTask::none}; }  // its tasks are recorded one by one

  std::size_t waiting_tasks(int worker, std::vector<StuckTask>& tasks, std::size_t most) const override {
    const Actor& actor = actors_[static_cast<std::size_t>(worker)];
    if (!actor.parked || actor.record == actor.program.records.size()) return 0;
    if (tasks.size() < most)
      tasks.push_back({task_text(actor.program.records[actor.record].node, actor.iteration), 0, 1});
    return 1;
  }

 private:
  /// The launch has failed. Channels keep their values until all actors have given up, so no task runs whose
  /// predecessors have not run.
  void give_up(Actor& actor) {
    if (!actor.running) return;
    for (const std::uint32_t d : actor.device_tasks)
      if (!of_device_task(d).passed(device_states_[d].issued)) {
        actor.parked = true;  // until the device is done
        return;
      }
    actor.iteration = actor.end;
    actor.drained = 0;
    actor.wait_until = {};
    actor.rewind();
    actor.running = false;
    finished();
  }

  /// \returns false if the actor must stop: it is parked or queued again, or the launch has failed
  template <bool traced, bool ranks>
  bool run_iteration(Worker& here, Actor& actor) {
    const Turn turn{actor.iteration - actor.begin, here.index(), actor.iteration};
    auto& [records, waits, signals] = actor.program;
    while (actor.record < records.size()) {
      if (actor.before_poll == 0 && !poll(here, actor)) return false;
      const std::size_t number = std::min(actor.before_poll, records.size() - actor.record);
      actor.before_poll -= number;
      for (const std::size_t end = actor.record + number; actor.record < end; ++actor.record) {
        InOrderRecord& record = records[actor.record];
        for (; actor.wait < record.waits_end; ++actor.wait)
          if (!passed<ranks>(waits[actor.wait], actor) && !wait(here, actor, waits[actor.wait])) return false;
        if constexpr (traced) {
          here.trace()->run(outline_.names.text(record.node), traced_task(record.node, actor.iteration, actor.begin),
                            [&] { execute(record, turn, actor); });
        } else {
          execute(record, turn, actor);
        }
        for (; actor.signal < record.signals_end; ++actor.signal) {
          const Signal& signal = signals[actor.signal];
          if (channels_[signal.channel].signal(actor.iteration * signal.stride + signal.offset)) [[unlikely]]
            unpark(here, signal.channel);
        }
      }
    }
    return true;
  }

  /// Polls. \returns false if the actor was queued again, behind other tasks of its worker, or the launch has failed
  [[gnu::noinline]] bool poll(Worker& here, Actor& actor) {
    actor.before_poll = actor.poll_interval.next();
    here.poll();
    if (!failed() && !here.has_work()) return true;
    go_on_later(here, actor);
    return false;
  }
  /// Queues the actor behind all other work.
  void go_on_later(Worker& here, Actor& actor) {
    actor.poll_interval.pause();
    ready(here, 0, {.priority = -1, .bound = true});
  }
  static std::int64_t wanted(const Wait& wait, std::int64_t iteration) noexcept {
    return iteration * wait.stride + wait.offset;
  }
  template <bool ranks>
  bool passed(const Wait& wait, const Actor& actor) const noexcept {
    if constexpr (ranks)
      if (wait.by_rank) return rank_edges_->passed(wait, actor.iteration, actor.begin);
    // A failed start of a device task also counts it as done: check `failed`.
    return channels_[wait.channel].passed(wanted(wait, actor.iteration)) && !(wait.external && failed());
  }

  [[gnu::noinline]] bool wait(Worker& here, Actor& actor, const Wait& wait) {
    if (wait.external && !wait.by_rank) {
      // A thread that raises the counter, or fails the launch, sends this worker a message afterwards.
      actor.parked = !failed();
      if (!actor.parked) go_on_later(here, actor);
      return false;
    }
    switch (here.wait_for([&] { return passed<true>(wait, actor) || failed(); }, actor.wait_until)) {
      case Waited::ready:
        if (!failed()) [[likely]]
          return true;
        [[fallthrough]];
      case Waited::interrupted:
        go_on_later(here, actor);
        return false;
      case Waited::too_long:
        break;
    }
    if (wait.by_rank) {
      actor.parked = true;  // before the call: the message that resumes it may come at once
      actor.parked = rank_edges_->park(wait, actor.iteration, actor.begin);
      return !actor.parked;
    }
    const std::int64_t value = wanted(wait, actor.iteration);
    actor.parked = channels_[wait.channel].park(
        value, [&] { send(here, channel_ends_[wait.channel].writer, Message{Message::check, wait.channel, value}); });
    return !actor.parked;
  }

  [[gnu::noinline]] void unpark(Worker& here, std::uint32_t channel) {
    if (channels_[channel].unpark()) send(here, channel_ends_[channel].readers[0], Message{Message::resume});
  }
  /// Sends the readers of a channel a message. From any thread.
  void resume(std::uint32_t channel) {
    for (const int reader : channel_ends_[channel].readers) send(reader, Message{Message::resume});
  }

  void execute(InOrderRecord& record, const Turn& turn, const Actor& actor) {
    if (record.instruction == Instruction::run) [[likely]]
      record.action(turn);
    else
      execute_special(turn, actor);
  }
  /// A record that is no task of the host.
  [[gnu::noinline]] void execute_special(const Turn& turn, const Actor& actor) {
    const InOrderRecord& record = actor.program.records[actor.record];
    if (record.instruction == Instruction::send)
      rank_edges_->send(record.operand, actor.iteration);
    else if (record.instruction == Instruction::issue)
      give_to_device(record.operand, turn, actor);
    else if (actor.iteration + 1 == actor.end)
      set_postcondition(record.operand);
  }

  void give_to_device(std::uint32_t d, const Turn& turn, const Actor& actor) {
    const auto missing =
        [&](std::uint32_t e,
            std::int64_t
                iteration) {  // carried edges have no event in the first iteration, and none is needed after the last
          return devices_.edges[e].carried && actor.iteration == iteration;
        };
    for (const std::uint32_t e : devices_.tasks[d].before)
      if (!missing(e, actor.begin)) issuer_.after(d).push(event_queues_[e].pop());
    StoredEvent event;
    device_states_[d].issued =
        actor.iteration + 1;  // before the call: a start that throws must count as issued, because it may also be done
    issuer_.issue(*this, d, turn, actor.iteration, event);
    for (const std::uint32_t e : devices_.tasks[d].after)
      if (!missing(e, actor.end - 1)) event_queues_[e].push(event);
  }
  void device_done(std::uint32_t d, std::int64_t iteration) override {
    const OnItsWay to_readers(*this);  // the launch may end before they are resumed, and then the graph
    surely([&] { device_states_[d].done.done(iteration); });
    resume(InOrderPrograms::channel_of_device_task(d));
  }

  void start(std::int64_t begin, std::int64_t end) override {
    try {
      if (rank_edges_ != nullptr) rank_edges_->launch(end);
    } catch (...) {  // the actors end the launch
      engine_.fail(*this, outline_.names.graph());
    }
    for (const int worker : members_) send(worker, Message{Message::start, 0, begin, end});
  }
  void satisfy(std::size_t k, std::int64_t, std::int64_t end) override {
    const std::uint32_t channel = InOrderPrograms::channel_of_precondition(k, devices_);
    channels_[channel].raise(end);
    resume(channel);
  }
  void wake_actor(int worker) override { send(worker, Message{Message::resume}); }
  void reset(std::int64_t end) noexcept override {
    for (const Actor& actor : actors_)
      for (const Signal& signal : actor.program.signals) channels_[signal.channel].reset(end * signal.stride);
    for (std::size_t k = 0; k < outline_.preconditions.size(); ++k)
      channels_[InOrderPrograms::channel_of_precondition(k, devices_)].reset(end);
    for (DeviceState& state : device_states_) state.done.reset(end);
    for (std::size_t e = 0; e < devices_.edges.size(); ++e) event_queues_[e].clear();
  }

  Channel& of_device_task(std::uint32_t d) const noexcept {
    return channels_[InOrderPrograms::channel_of_device_task(d)];
  }

  using RunIteration = bool (InOrder::*)(Worker& here, Actor& actor);
  RunIteration run_iteration_for(bool traced) const noexcept {
    if (rank_edges_ != nullptr)
      return traced ? &InOrder::run_iteration<true, true> : &InOrder::run_iteration<false, true>;
    return traced ? &InOrder::run_iteration<true, false> : &InOrder::run_iteration<false, false>;
  }

  const RunIteration run_ = run_iteration_for(!runtime_.options().trace.empty());
  const DevicePlan devices_;
  const std::vector<ChannelEnds> channel_ends_;  // by channel
  const std::unique_ptr<Channel[]> channels_;
  const std::unique_ptr<EventQueue[]> event_queues_;  // by device edge
  Issuer issuer_;
  std::deque<DeviceState> device_states_;  // by device task
  std::vector<Actor> actors_;              // by worker
};

}  // namespace

std::shared_ptr<GraphActors> in_order_actors(Runtime& runtime, Outline outline, InOrderPrograms programs,
                                             std::unique_ptr<RankEdges> rank_edges) {
  return std::make_shared<InOrder>(runtime, std::move(outline), std::move(programs), std::move(rank_edges));
}

}  // namespace taskgrain::rt::detail
