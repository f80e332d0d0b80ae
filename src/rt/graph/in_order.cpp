/// Policy in_order: each worker has a linear program of its tasks, and waits only for other workers.
///
/// A channel from worker a to worker b is a counter that a alone writes. In iteration n (counted over all launches) a
/// stores
///   counter = n · S + k   after the task that is the k-th of the S in its program for which b waits,
/// and b waits for  counter ≥ n · S + k,  or for  counter ≥ (n - 1) · S + k  where the edge is carried. Because both programs are linear,
/// of all that a task waits for from one worker only the last matters, and nothing that an earlier task of the program
/// has waited for: what is stored and waited for is the least that keeps all edges.

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <unordered_map>

#include "engine/work.hpp"
#include "graph_actors.hpp"
#include "taskgrain/rt/detail/trace.hpp"

namespace taskgrain::rt::detail {

namespace {

struct Counter {
  alignas(apart) std::atomic<std::int64_t> value{0};
  // Who waits has ceased to look: it wants a message (as Sleeper). Not in the line of value: whoever has just stored
  // there would fetch the line to read this before it may write it.
  alignas(apart) std::atomic<bool> parked{false};
};

struct Wait {
  Counter* counter;
  std::int64_t offset, stride;  // wait until counter ≥ iteration · stride + offset
  bool external;                // it is written by nobody's program: an event, or a device
};

struct Signal {
  Counter* counter;
  std::int64_t offset, stride;
  Worker* to;
};

struct alignas(64) Item {
  Action action;
  std::uint32_t waits_end, signals_end;
  std::uint32_t node;
  bool special;  // not just an action: asynchronous, or a postcondition
};

/// What goes from an asynchronous task to one after it: in_order lets the worker of the first run ahead of that of the
/// second.
struct DeviceEdge {
  explicit DeviceEdge(bool to_next) : carried(to_next) {}

  bool carried;
  std::mutex mutex;
  std::deque<DeviceEvent> events;
};

/// Of nodes that are not just tasks.
struct Cell {
  Counter done;              // iterations that the device or the event has done, from the first without a gap
  std::vector<int> waiting;  // workers whose programs wait for it
  std::vector<DeviceEdge*> device_before, device_after;
  std::size_t number = 0;          // of a pre- or postcondition
  std::mutex mutex;                // protects the members below
  std::set<std::int64_t> ahead{};  // iterations that the device has done beyond a gap
};

/// The program of a worker and where it stands. Touched by its thread alone.
struct alignas(apart) Actor {
  std::vector<Item> items;
  std::vector<Wait> waits;
  std::vector<Signal> signals;
  std::int64_t begin = 0, iteration = 0, end = 0;  // of the launch, and where it is
  std::size_t item = 0, wait = 0, signal = 0;      // next
  std::vector<const Cell*> asynchronous;           // of this worker: the launch ends when the device is done with them
  std::size_t drained = 0;                         // of these
  bool parked = false;                             // waits for a message
  std::chrono::steady_clock::time_point wait_until{};

  void rewind() noexcept { item = wait = signal = 0; }
};

struct Message {
  enum Kind : std::int64_t { start, resume } kind;
  std::int64_t begin, end;
};

class InOrder final : public GraphActors {
 public:
  InOrder(Runtime& runtime, Compiler given, CompileStatistics& statistics)
      : GraphActors(runtime, given), compiler_(std::move(given)), actors_(static_cast<std::size_t>(runtime.workers())) {
    lay_out();
    connect(statistics);
    compiler_.out = {};
    engine_.add(*this);
  }
  ~InOrder() override { engine_.remove(*this); }

  void deliver(Worker& here, const Payload& payload) noexcept override {
    const auto message = payload.as<Message>();
    Actor& actor = actors_[static_cast<std::size_t>(here.index())];
    if (message.kind == Message::start) {
      actor.begin = actor.iteration = message.begin;
      actor.end = message.end;
    } else if (!std::exchange(actor.parked, false)) {
      return;
    }
    here.ready({this, {}}, {.bound = true});
  }

  void run(Worker& here, const Payload&) noexcept override {
    Actor& actor = actors_[static_cast<std::size_t>(here.index())];
    try {
      for (; actor.iteration < actor.end; ++actor.iteration) {
        if (!(here.trace() == nullptr ? run_iteration<false>(here, actor) : run_iteration<true>(here, actor))) return;
        actor.rewind();
      }
    } catch (...) {
      return engine_.fail(compiler_.text(actor.items[actor.item].node));
    }
    for (; actor.drained < actor.asynchronous.size(); ++actor.drained)
      if (actor.asynchronous[actor.drained]->done.value.load(std::memory_order_acquire) < actor.end) {
        actor.parked = true;
        return;
      }
    actor.drained = 0;
    finished();
  }

  std::string describe(const Payload&) const override { return compiler_.graph_name(); }

  std::size_t stuck(std::vector<StuckTask>& tasks, std::size_t most) const override {
    std::size_t total = launches_waiting(tasks, most);
    for (const Actor& actor : actors_)
      if (actor.parked && ++total && tasks.size() < most)
        tasks.push_back({compiler_.text(actor.items[actor.item].node), 0, 1});
    return total;
  }

 private:
  /// False if it could not go on: it is parked, or goes on later, or the run has failed.
  template <bool traced>
  bool run_iteration(Worker& here, Actor& actor) {
    const Turn turn{actor.iteration - actor.begin, here.index()};
    for (const std::size_t items = actor.items.size(); actor.item < items; ++actor.item) {
      Item& item = actor.items[actor.item];
      for (; actor.wait < item.waits_end; ++actor.wait)
        if (!passed(actor.waits[actor.wait], actor.iteration) && !wait(here, actor, actor.waits[actor.wait]))
          return false;
      if constexpr (traced) {
        const auto begin = TraceLane::Clock::now();
        execute(item, turn, actor);
        here.trace()->record(compiler_.text(item.node), begin, TraceLane::Clock::now());
      } else {
        execute(item, turn, actor);
      }
      for (; actor.signal < item.signals_end; ++actor.signal) {
        const Signal& signal = actor.signals[actor.signal];
        signal.counter->value.store(actor.iteration * signal.stride + signal.offset, std::memory_order_release);
        light_barrier();
        if (signal.counter->parked.load(std::memory_order_relaxed)) [[unlikely]]
          unpark(here, signal);
      }
    }
    return true;
  }

  static bool passed(const Wait& wait, std::int64_t iteration) noexcept {
    return wait.counter->value.load(std::memory_order_acquire) >= iteration * wait.stride + wait.offset;
  }

  [[gnu::noinline]] bool wait(Worker& here, Actor& actor, const Wait& wait) {
    if (wait.external) {
      actor.parked = true;  // who meets it sends a message to this worker after it has written the counter
      return false;
    }
    switch (here.wait_for([&] { return passed(wait, actor.iteration); }, actor.wait_until)) {
      case Waited::ready:
        return true;
      case Waited::interrupted:
        if (!engine_.failed()) here.ready({this, {}}, {.priority = -1, .bound = true});  // after whatever else there is
        return false;
      case Waited::too_long:
        break;
    }
    wait.counter->parked.store(true, std::memory_order_relaxed);
    heavy_barrier();
    actor.parked = !passed(wait, actor.iteration);
    return !actor.parked;
  }

  [[gnu::noinline]] void unpark(Worker& here, const Signal& signal) {
    if (signal.counter->parked.exchange(false))
      here.send(*signal.to, {this, Payload::of(Message{Message::resume, 0, 0})});
  }

  void execute(Item& item, const Turn& turn, Actor& actor) {
    if (!item.special) [[likely]]
      item.action(turn);
    else
      execute_special(item, turn, actor);
  }

  [[gnu::noinline]] void execute_special(const Item& item, const Turn& turn, const Actor& actor) {
    auto& node = compiler_.node(item.node);
    Cell& cell = cells_.at(item.node);
    if (node.kind == Compiler::Kind::postcondition) {
      if (actor.iteration + 1 == actor.end) set_postcondition(cell.number);
      return;
    }
    std::vector<DeviceEvent> after;
    for (DeviceEdge* edge : cell.device_before) {
      if (edge->carried && actor.iteration == actor.begin) continue;
      const std::lock_guard lock(edge->mutex);
      after.push_back(std::move(edge->events.front()));
      edge->events.pop_front();
    }
    auto hold = std::make_shared<std::optional<Runtime::Hold>>(runtime_.hold());
    const DeviceEvent event = node.start(turn, {after, [this, &cell, iteration = actor.iteration, hold] {
                                                  device_done(cell, iteration);
                                                  for (const int worker : cell.waiting)
                                                    send(worker, Payload::of(Message{Message::resume, 0, 0}));
                                                  hold->reset();
                                                }});
    for (DeviceEdge* edge : cell.device_after) {
      if (edge->carried && actor.iteration + 1 == actor.end) continue;
      const std::lock_guard lock(edge->mutex);
      edge->events.push_back(event);
    }
  }

  /// By any thread. Iterations may overtake one another on the device.
  static void device_done(Cell& cell, std::int64_t iteration) {
    const std::lock_guard lock(cell.mutex);
    cell.ahead.insert(iteration);
    std::int64_t done = cell.done.value.load(std::memory_order_relaxed);
    while (cell.ahead.erase(done) != 0) ++done;
    cell.done.value.store(done, std::memory_order_release);
  }

  void start(std::int64_t begin, std::int64_t end) override {
    for (const int worker : members_) send(worker, Payload::of(Message{Message::start, begin, end}));
  }
  void meet(std::size_t k, std::int64_t, std::int64_t end) override {
    Cell& cell = cells_[compiler_.preconditions[k]];
    cell.done.value.store(end, std::memory_order_release);
    for (const int worker : cell.waiting) send(worker, Payload::of(Message{Message::resume, 0, 0}));
  }
  void reset() noexcept override {
    for (auto& [key, counter] : channels_) {
      counter->value.store(0, std::memory_order_relaxed);
      counter->parked.store(false, std::memory_order_relaxed);
    }
    for (auto& [node, cell] : cells_) {
      cell.done.value.store(0, std::memory_order_relaxed);
      cell.ahead.clear();
    }
    for (DeviceEdge& edge : device_edges_) edge.events.clear();
    for (Actor& actor : actors_) {
      actor.begin = actor.iteration = actor.end = 0;
      actor.parked = false;
      actor.drained = 0;
      actor.wait_until = {};
      actor.rewind();
    }
  }

  // -- compiling

  /// The programs: by level, and on a level first what other workers wait for.
  void lay_out() {
    std::vector<std::vector<std::uint32_t>> programs(actors_.size());
    std::vector<bool> watched(compiler_.size(), false);
    for (std::uint32_t n = 0; n < compiler_.size(); ++n) {
      if (compiler_.external(n)) continue;
      programs[static_cast<std::size_t>(compiler_.worker(n))].push_back(n);
      watched[n] = std::ranges::any_of(
          compiler_.out[n], [&](const auto& edge) { return compiler_.worker(edge.to) != compiler_.worker(n); });
    }
    place_.resize(compiler_.size());
    for (std::size_t w = 0; w < actors_.size(); ++w) {
      std::ranges::stable_sort(programs[w], {},
                               [&](std::uint32_t n) { return 2 * std::uint64_t{compiler_.level[n]} + !watched[n]; });
      for (const std::uint32_t n : programs[w]) {
        place_[n] = static_cast<std::uint32_t>(actors_[w].items.size());
        actors_[w].items.push_back({compiler_.node(n).action, 0, 0, n, compiler_.node(n).kind != Compiler::Kind::task});
      }
    }
  }

  /// An edge into a worker's program from elsewhere.
  struct Incoming {
    std::uint32_t item, from;
    bool carried, device;  // device: until the device is done with it
  };

  void connect(CompileStatistics& statistics) {
    std::vector<std::vector<Incoming>> incoming(actors_.size());
    for (std::uint32_t n = 0; n < compiler_.size(); ++n) {
      if (compiler_.node(n).kind == Compiler::Kind::async) {
        actors_[static_cast<std::size_t>(compiler_.worker(n))].asynchronous.push_back(&cells_[n]);
        cells_[n].waiting.push_back(compiler_.worker(n));
      }
      for (const auto& [to, carried] : compiler_.out[n]) {
        const bool on_device = compiler_.on_device(n, to);
        if (on_device) {
          DeviceEdge* edge = &device_edges_.emplace_back(carried);
          cells_[n].device_after.push_back(edge);
          cells_[to].device_before.push_back(edge);
        }
        const bool device = compiler_.node(n).kind == Compiler::Kind::async && !on_device;
        if (device || compiler_.external(n) || compiler_.worker(n) != compiler_.worker(to))
          incoming[static_cast<std::size_t>(compiler_.worker(to))].push_back({place_[to], n, carried, device});
      }
    }
    for (std::size_t k = 0; k < compiler_.preconditions.size(); ++k) cells_[compiler_.preconditions[k]].number = k;
    for (std::size_t k = 0; k < compiler_.postconditions.size(); ++k) cells_[compiler_.postconditions[k]].number = k;
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>
        watched;  // by channel: places in the sender's program
    for (std::size_t w = 0; w < actors_.size(); ++w) find_waits(static_cast<int>(w), incoming[w], watched);
    for (auto& [channel, places] : watched) {
      std::ranges::sort(places);
      places.erase(std::ranges::unique(places).begin(), places.end());
      statistics.messages += places.size();
    }
    for (std::size_t w = 0; w < actors_.size(); ++w) number_waits(static_cast<int>(w), watched);
    std::vector<std::vector<std::pair<std::uint32_t, Signal>>> signals(actors_.size());
    for (const auto& [channel, places] : watched)
      for (std::size_t k = 0; k < places.size(); ++k)
        signals[channel / actors_.size()].push_back(
            {places[k],
             {channels_[channel].get(), static_cast<std::int64_t>(k) + 1, static_cast<std::int64_t>(places.size()),
              &engine_.worker(static_cast<int>(channel % actors_.size()))}});
    for (std::size_t w = 0; w < actors_.size(); ++w) {
      std::ranges::stable_sort(signals[w], {}, [](const auto& one) { return one.first; });
      std::size_t next = 0;
      for (std::uint32_t place = 0; place < actors_[w].items.size(); ++place) {
        for (; next < signals[w].size() && signals[w][next].first == place; ++next)
          actors_[w].signals.push_back(signals[w][next].second);
        actors_[w].items[place].signals_end = static_cast<std::uint32_t>(next);
      }
    }
  }

  std::uint64_t channel(int from, int to) const noexcept {
    return static_cast<std::uint64_t>(from) * actors_.size() + static_cast<std::uint64_t>(to);
  }

  /// The waits of a program that are needed; with places in the sender's program where the offsets will be.
  void find_waits(int w, std::vector<Incoming>& incoming,
                  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>& watched) {
    Actor& actor = actors_[static_cast<std::size_t>(w)];
    std::ranges::stable_sort(incoming, {}, &Incoming::item);
    // Places that the program has waited for so far, and one more; of this iteration and of the one before.
    std::vector<std::int64_t> now(actors_.size(), 0), before(actors_.size(), 0);
    std::vector<std::int64_t> here(actors_.size(), 0),
        here_before(actors_.size(), 0);  // the latest that one item needs
    std::vector<int> senders;
    auto next = incoming.begin();
    for (std::uint32_t place = 0; place < actor.items.size(); ++place) {
      senders.clear();
      for (; next != incoming.end() && next->item == place; ++next) {
        if (next->device || compiler_.external(next->from)) {
          Cell& cell = cells_[next->from];
          actor.waits.push_back({&cell.done, next->carried ? 0 : 1, 1, true});
          if (!std::ranges::count(cell.waiting, w)) cell.waiting.push_back(w);
          continue;
        }
        const int sender = compiler_.worker(next->from);
        auto& latest = (next->carried ? here_before : here)[static_cast<std::size_t>(sender)];
        latest = std::max(latest, std::int64_t{place_[next->from]} + 1);
        senders.push_back(sender);
      }
      for (const int sender : senders) {
        const auto s = static_cast<std::size_t>(sender);
        need(actor, sender, w, std::exchange(here[s], 0), now[s], false, watched);
        if (now[s] == 0) need(actor, sender, w, here_before[s], before[s], true, watched);
        here_before[s] = 0;
      }
      actor.items[place].waits_end = static_cast<std::uint32_t>(actor.waits.size());
    }
  }
  void need(Actor& actor, int from, int to, std::int64_t place, std::int64_t& waited, bool carried,
            std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>& watched) {
    if (place <= waited) return;
    waited = place;
    auto& counter = channels_[channel(from, to)];
    if (!counter) counter = std::make_unique<Counter>();
    watched[channel(from, to)].push_back(static_cast<std::uint32_t>(place - 1));
    actor.waits.push_back({counter.get(), place - 1, carried ? -1 : from, false});  // completed by number_waits
    unnumbered_.push_back({from, carried});
  }
  struct Unnumbered {
    int from;
    bool carried;
  };

  void number_waits(int w, const std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>& watched) {
    for (Wait& wait : actors_[static_cast<std::size_t>(w)].waits) {
      if (wait.external) continue;
      const auto [from, carried] = unnumbered_[numbered_++];
      const auto& places = watched.at(channel(from, w));
      const auto k = std::ranges::lower_bound(places, static_cast<std::uint32_t>(wait.offset)) - places.begin();
      wait.stride = static_cast<std::int64_t>(places.size());
      wait.offset = k + 1 - (carried ? wait.stride : 0);
    }
  }

  Compiler compiler_;
  std::vector<Actor> actors_;         // by worker
  std::vector<std::uint32_t> place_;  // of a node in its worker's program
  std::unordered_map<std::uint64_t, std::unique_ptr<Counter>> channels_;
  std::unordered_map<std::uint32_t, Cell> cells_;  // by node, of those that have one
  std::deque<DeviceEdge> device_edges_;
  std::vector<Unnumbered> unnumbered_;
  std::size_t numbered_ = 0;
};

}  // namespace

std::unique_ptr<GraphActors> in_order_actors(Runtime& runtime, Compiler compiler, CompileStatistics& statistics) {
  return std::make_unique<InOrder>(runtime, std::move(compiler), statistics);
}

}  // namespace taskgrain::rt::detail
