#include "fold.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "event.hpp"
#include "ompt.hpp"
#include "siblings.hpp"

namespace taskgrain::record {
namespace {

/// What takes longer between two creations of a task is work that the second child waits for. Else it is the runtime's
/// time, which another runtime does not take, and no child waits for it.
constexpr double creating_seconds = 10e-6;
/// Pieces of threads, and barriers, that take less are left out if the edges around them do not become more.
constexpr double short_seconds = 1e-6;

constexpr Number none = ~Number{0};

/// Parts of a task, between places where it waits for others or has created them: the tasks of the graph.
struct Piece {
  double seconds = 0;
  Number name = 0;
  bool of_thread = false;  ///< No task that the program asks for: a thread's share of a region, or a barrier.
};

/// Where an edge comes from: a piece, or the last piece of a task, which may not be known yet.
struct From {
  Number number;
  bool end_of_task;
};

struct Region;
struct Task {
  Number number = 0;  ///< Among all tasks.
  Number piece = none, name = 0;
  Task* parent = nullptr;
  Region* region = nullptr;
  Number group = none;  ///< The innermost taskgroup around its creation, or its own.
  bool of_thread = false, undeferred = false, waits = false;
  Number creator = none;         ///< The piece that the children of this piece wait for; none before the first of them.
  double gap = 0;                ///< Since the last creation.
  std::vector<Number> children;  ///< Tasks that nobody has waited for yet.
  std::vector<std::pair<std::size_t, Number>> outer;  ///< Children before each open taskgroup, and the one around it.
  std::unique_ptr<Siblings> siblings;
  std::uint64_t taskwait = 0;  ///< The last with dependences.
  Number barriers = 0;
  Number loop = none, chunk = 0;  ///< The piece before the loop that runs, and the name of its chunks.
  std::vector<From> chunks;       ///< The last piece of each that is done.
};

/// A parallel region.
struct Region {
  Task* task = nullptr;  ///< That which meets it.
  Number name = 0;
  bool of_several = false;  ///< Threads.
  std::vector<Task*> members;
  std::vector<Number> open;  ///< Tasks that are waited for at the next barrier alone.
  std::vector<From> before;  ///< What the last barrier waits for.
  Number barriers = 0;
};

/// Takes the events in the order of time, and keeps for each thread the task that it executes.
class Replay {
 public:
  explicit Replay(double seconds_per_tick) : tick_(seconds_per_tick) {}

  void take(std::uint64_t number, const Event& event) {
    Thread& thread = threads_[number];
    Task* current = find(thread.runs);
    if (current != nullptr && !current->waits)
      charge(*current, tick_ * static_cast<double>(event.ticks() - thread.since));
    thread.since = event.ticks();
    const auto fresh = [&] { return numbered(number, ++thread.made); };
    switch (event.kind()) {
      case Kind::create:
        thread.created = fresh();
        if (current != nullptr) create(*current, thread.created, event.value, event.detail());
        break;
      case Kind::depend:
        if (Task* task = find(thread.created)) depend(*task, event.value, event.detail());
        break;
      case Kind::cancel:
        if (Task* task = find(event.value)) complete(*task);
        break;
      case Kind::schedule: {
        const bool of_wait = event.detail() == ompt::taskwait_complete && current != nullptr;
        Task* prior = of_wait ? find(current->taskwait) : current;
        if (prior != nullptr && ends(event.detail())) complete(*prior);
        if (!of_wait) thread.runs = event.value;
        break;
      }
      case Kind::parallel_begin:
        thread.runs = fresh();  // until the first task of the region begins
        if (current == nullptr) break;
        regions_[thread.runs] = {current, name("region", event.value), false, {}, {}, {}, 0};
        current->waits = true;
        break;
      case Kind::parallel_end: {
        const auto region = regions_.find(event.value);
        if (region == regions_.end()) break;
        end(region->second);
        thread.runs = ids_[region->second.task->number];
        break;
      }
      case Kind::implicit_begin: {
        const auto region = regions_.find(event.value);
        thread.runs = fresh();
        if (region == regions_.end())
          // Until its first region or task: the runtime starts in this time, and GCC's code has not called it before.
          begin(thread.runs, nullptr, name("main", 0)).waits = true;
        else
          join(thread.runs, region->second, event.detail() != 0);
        break;
      }
      case Kind::implicit_end:
        thread.runs = 0;
        break;
      default:
        if (current != nullptr) inside(*current, event);
    }
  }

  Recorded graph();

 private:
  static bool ends(std::uint64_t status) {
    return status != ompt::task_yield && status != ompt::task_switch && status != ompt::task_cancel;
  }

  /// What happens between the beginning and the end of a task.
  void inside(Task& task, const Event& event) {
    const auto wait = static_cast<int>(event.detail());
    switch (event.kind()) {
      case Kind::group_begin:
        task.outer.emplace_back(task.children.size(), task.group);
        task.group = static_cast<Number>(groups_.size());
        groups_.emplace_back();
        break;
      case Kind::wait_begin:
        task.waits = true;
        task.barriers += wait != ompt::sync_taskwait && wait != ompt::sync_taskgroup;
        break;
      case Kind::wait_end:
        if (wait == ompt::sync_taskwait)
          wait_for_children(task);
        else if (wait == ompt::sync_taskgroup)
          end_group(task);
        else if (wait != ompt::sync_end_of_parallel)
          barrier(task);
        break;
      case Kind::exit:
        task.waits = true;
        break;
      case Kind::loop_begin:
        task.loop = task.piece;
        task.chunk = name("chunk", event.value);
        break;
      case Kind::chunk:
        end_chunk(task);
        if (task.loop == none) break;
        task.piece = piece(task.chunk, false);
        task.creator = none;
        task.gap = 0;
        edge({task.loop, false}, task.piece);
        break;
      case Kind::loop_end:
        end_chunk(task);
        task.loop = none;
        if (!task.chunks.empty()) next(task, std::exchange(task.chunks, {}));
        break;
      default:
        break;
    }
  }

  static void end_chunk(Task& task) {
    if (task.loop != none && task.piece != task.loop) task.chunks.push_back({task.piece, false});
  }

  Number name(const char* kind, std::uint64_t code) {
    const auto [found, fresh] = numbers_.try_emplace({kind, code}, static_cast<Number>(names_.size()));
    if (fresh) names_.push_back(found->first);
    return found->second;
  }

  Number piece(Number name, bool of_thread) {
    pieces_.push_back({0, name, of_thread});
    return static_cast<Number>(pieces_.size() - 1);
  }

  void edge(From from, Number to) { edges_.emplace_back(from, to); }

  Task* find(std::uint64_t id) const {
    const auto found = tasks_.find(id);
    return found == tasks_.end() ? nullptr : found->second.get();
  }

  /// A task with its first piece.
  Task& begin(std::uint64_t id, Region* region, Number name) {
    auto& task = tasks_[id] = std::make_unique<Task>();
    ids_.push_back(id);
    ends_.push_back(none);
    task->number = static_cast<Number>(ids_.size() - 1);
    task->region = region;
    task->name = name;
    task->of_thread = true;
    task->piece = piece(name, true);
    return *task;
  }

  void join(std::uint64_t id, Region& region, bool with_others) {
    region.of_several = with_others;
    Task& task = begin(id, &region, region.name);
    edge({region.task->piece, false}, task.piece);
    region.members.push_back(&task);
  }

  void end(Region& region) {
    resume(*region.task, gather(region));
    for (const Task* member : region.members) forget(*member);
    region.members = {};
  }

  void create(Task& parent, std::uint64_t id, std::uint64_t code, std::uint64_t flags) {
    const bool waits = (flags & record::taskwait) != 0;
    Task& task = begin(id, parent.region, name(waits ? "barrier" : "task", code));
    if (waits) parent.taskwait = id;
    task.parent = &parent;
    task.group = parent.group;
    task.of_thread = pieces_[task.piece].of_thread = waits;
    // In a region of one thread the runtime executes all tasks at once, whatever the program asks for.
    task.undeferred = waits || ((flags & undeferred) != 0 && parent.region != nullptr && parent.region->of_several);
    edge({creator(parent), false}, task.piece);
    parent.children.push_back(task.number);
    parent.waits = task.undeferred;
  }

  /// What a child waits for that is created now: the work of its parent before this and its last creations.
  Number creator(Task& parent) {
    const double gap = std::exchange(parent.gap, 0);
    if (parent.creator != none && gap < creating_seconds) {
      pieces_[parent.piece].seconds -= gap;
    } else {
      const Number before = parent.piece;
      next(parent, {{before, false}});
      pieces_[parent.piece].of_thread = true;
      parent.creator = before;
    }
    return parent.creator;
  }

  void depend(Task& task, std::uint64_t address, std::uint64_t type) {
    if (task.parent == nullptr) return;
    if (!task.parent->siblings) task.parent->siblings = std::make_unique<Siblings>();
    for (const Number one : task.parent->siblings->before(task.number, address, type)) edge({one, true}, task.piece);
  }

  void charge(Task& task, double seconds) {
    task.gap += seconds;
    pieces_[task.piece].seconds += seconds;
  }

  /// Begins the next piece of a task.
  void next(Task& task, const std::vector<From>& before) {
    task.piece = piece(task.of_thread ? task.name : name("rest", names_[task.name].second), task.of_thread);
    task.creator = none;
    task.gap = 0;
    for (const From one : before) edge(one, task.piece);
  }

  /// Goes on after others, with a new piece if there were any.
  void resume(Task& task, std::vector<From> before) {
    task.waits = false;
    if (before.empty()) return;
    before.push_back({task.piece, false});
    next(task, before);
  }

  /// Takes the children of a task from the `first` on, which are waited for.
  std::vector<From> children(Task& task, std::size_t first) {
    std::vector<From> found;
    for (std::size_t one = first; one < task.children.size(); ++one) found.push_back({task.children[one], true});
    task.children.resize(std::min(first, task.children.size()));
    return found;
  }

  void wait_for_children(Task& task) {
    for (auto& [first, _] : task.outer) first = 0;
    resume(task, children(task, 0));
  }

  void end_group(Task& task) {
    if (task.outer.empty()) return;
    const auto [first, outer] = task.outer.back();
    task.outer.pop_back();
    auto before = children(task, first);
    for (const Number one : groups_[task.group]) before.push_back({one, true});
    groups_[task.group] = {};
    task.group = outer;
    resume(task, std::move(before));
  }

  /// Ends a task. Its children are now waited for by a taskgroup around it, or at the next barrier.
  void complete(Task& task) {
    if (task.parent == nullptr) return;  // none that the program has created
    ends_[task.number] = task.piece;
    auto* open = task.group != none ? &groups_[task.group] : task.region != nullptr ? &task.region->open : nullptr;
    if (open != nullptr) open->insert(open->end(), task.children.begin(), task.children.end());
    if (task.undeferred) {
      auto& children = task.parent->children;
      if (const auto found = std::find(children.rbegin(), children.rend(), task.number); found != children.rend())
        children.erase(std::next(found).base());
      resume(*task.parent, {{task.number, true}});
    }
    forget(task);
  }

  void forget(const Task& task) {
    ends_[task.number] = task.piece;
    tasks_.erase(ids_[task.number]);
  }

  /// What the end of a region, or a barrier in it, waits for.
  std::vector<From> gather(Region& region) {
    std::vector<From> before;
    for (Task* member : region.members) {
      before.push_back({member->piece, false});
      for (const From one : children(*member, 0)) before.push_back(one);
    }
    for (const Number one : region.open) before.push_back({one, true});
    region.open.clear();
    return before;
  }

  void barrier(Task& task) {
    task.waits = false;
    if (task.region == nullptr) return;
    Region& region = *task.region;
    if (region.barriers < task.barriers) {  // the first that leaves it: now all tasks are done
      region.barriers = task.barriers;
      region.before = gather(region);
      const std::size_t before = region.before.size(), after = region.members.size();
      if (before * after > 2 * (before + after)) {  // fewer edges go through a task without time
        const Number all = piece(name("barrier", names_[region.name].second), true);
        for (const From one : region.before) edge(one, all);
        region.before = {{all, false}};
      }
    }
    next(task, region.before);
  }

  double tick_;
  struct Thread {
    std::uint64_t runs = 0;  ///< The task that it executes, or 0.
    std::uint64_t since = 0;
    std::uint64_t made = 0, created = 0;  ///< Tasks and regions, and the last task.
  };
  std::unordered_map<std::uint64_t, Thread> threads_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Task>> tasks_;
  std::unordered_map<std::uint64_t, Region> regions_;
  std::vector<std::vector<Number>> groups_;  ///< The tasks that only its end waits for.
  std::vector<std::uint64_t> ids_;           ///< Of each task, and its last piece:
  std::vector<Number> ends_;
  std::vector<Piece> pieces_;
  std::vector<std::pair<From, Number>> edges_;
  std::map<std::pair<std::string, std::uint64_t>, Number> numbers_;
  std::vector<std::pair<std::string, std::uint64_t>> names_;
};

Recorded Replay::graph() {
  for (const auto& [_, task] : tasks_) ends_[task->number] = task->piece;
  std::vector<std::vector<Number>> before(pieces_.size()), after(pieces_.size());
  std::vector<std::size_t> left(pieces_.size());
  for (const auto& [from, to] : edges_) {
    const Number piece = from.end_of_task ? ends_[from.number] : from.number;
    after[piece].push_back(to);
    before[to].push_back(piece);
    ++left[to];
  }
  edges_ = {};
  std::vector<Number> order;
  for (Number one = 0; one < pieces_.size(); ++one)
    if (left[one] == 0) order.push_back(one);
  Recorded found{names_, {}, {}, {}};
  // The new numbers of those that stay, or those before one that is left out.
  std::vector<std::vector<Number>> instead(pieces_.size());
  std::vector<Number> covered(pieces_.size(), none);
  const auto between = [&](Number name) { return names_[name].first != "task" && names_[name].first != "chunk"; };
  for (std::size_t at = 0; at < order.size(); ++at) {
    const Number one = order[at];
    std::vector<Number> now;
    for (const Number other : before[one]) now.insert(now.end(), instead[other].begin(), instead[other].end());
    std::sort(now.begin(), now.end());
    now.erase(std::unique(now.begin(), now.end()), now.end());
    const Piece& piece = pieces_[one];
    // An edge to or from code between tasks carries nothing but the order, so it goes where another way says the same.
    const bool all = between(piece.name);
    for (const Number other : now)
      if (all || !between(found.named[other]))
        for (const Number earlier : found.before[other]) covered[earlier] = one;
    std::erase_if(now, [&](Number other) { return covered[other] == one && (all || between(found.named[other])); });
    const std::size_t nodes = now.size(), later = after[one].size();
    if (piece.of_thread && piece.seconds < short_seconds && nodes * later <= nodes + later) {
      instead[one] = std::move(now);
    } else {
      instead[one] = {static_cast<Number>(found.named.size())};
      found.named.push_back(piece.name);
      found.seconds.push_back(piece.seconds);
      found.before.push_back(std::move(now));
    }
    for (const Number other : after[one])
      if (--left[other] == 0) order.push_back(other);
  }
  if (order.size() < pieces_.size()) throw std::runtime_error("the recorded tasks wait for each other");
  return found;
}

}  // namespace

Recorded fold(const std::filesystem::path& path, double seconds_per_tick) {
  std::vector<std::pair<Event, std::uint64_t>> events;
  std::uint64_t thread = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("the recorded events cannot be read");
  for (Event event; file.read(reinterpret_cast<char*>(&event), sizeof event);) {
    if (event.kind() == Kind::thread)
      thread = event.value;
    else
      events.emplace_back(event, thread);
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.first.ticks() < b.first.ticks(); });
  Replay replay(seconds_per_tick);
  for (const auto& [event, of_thread] : events) replay.take(of_thread, event);
  return replay.graph();
}

}  // namespace taskgrain::record
