#include "graph_actors.hpp"

#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/error.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace taskgrain::rt::detail {

GraphActors::GraphActors(Runtime& runtime, Outline outline, std::unique_ptr<RankEdges> rank_edges)
    : runtime_(runtime), engine_(engine_of(runtime)), outline_(std::move(outline)), rank_edges_(std::move(rank_edges)),
      most_(INT64_MAX / (static_cast<std::int64_t>(outline_.nodes) + 1)),
      shares_(new Share[static_cast<std::size_t>(runtime.workers())]) {}

GraphActors::~GraphActors() = default;

void GraphActors::leave() noexcept { rank_edges_.reset(); }

std::span<const std::byte> GraphActors::received(TaskGraph::Node node, const Turn& turn, int back) const {
  const auto found = std::ranges::lower_bound(outline_.receives, node.index);
  SelfEdge* const own = outline_.self_edge(node.index);
  if ((own == nullptr && (found == outline_.receives.end() || *found != node.index)) ||
      (node.graph != 0 && node.graph != outline_.graph))
    throw UsageError(outline_.names.graph() + ": node " + std::to_string(node.index) + " is not a `receive`");
  if (back != 0 && back != 1)
    throw UsageError(outline_.names.graph() + ": received " + std::to_string(back) +
                     " iterations before is not allowed; allowed: 0 and 1");
  if (own != nullptr) return own->at(turn.overall - back);
  return rank_edges_->received(static_cast<std::size_t>(found - outline_.receives.begin()), turn.overall - back);
}

CompiledGraph::Launch GraphActors::launch(CompiledGraph::LaunchOptions options) {
  if (across_ranks_ && runtime_.options().communicator->messages().progress_engine().failed())
    runtime_.options().communicator->messages().progress_engine().raise();
  if (cancelled_.load())
    throw UsageError(outline_.names.graph() +
                     " was cancelled, and a graph across ranks is launched no more after that");
  // Between the push to the queue and the first message no message is in flight, so worker 0 would report the launch as
  // stuck: a hold prevents that.
  const auto hold = engine_.here() == nullptr ? std::optional(runtime_.hold()) : std::nullopt;
  std::vector<Event> preconditions = ordered(std::move(options.preconditions));
  std::uint64_t number = 0;
  CompiledGraph::Launch launch;
  launch.graph_ = outline_.graph;
  for (const std::uint32_t node : outline_.postconditions) launch.postconditions_.emplace_back(node, Event());
  {
    const std::lock_guard lock(mutex_);
    if (options.iterations < 0 || options.iterations > most_ - planned_)
      throw UsageError("iterations is " + std::to_string(options.iterations) + ", allowed are 0 to " +
                       std::to_string(most_ - planned_));
    queue_.push_back({options.iterations, std::move(options.after), std::move(preconditions), launch});
    if (engine_.trace() != nullptr) engine_.trace()->given(first_traced_, planned_);
    planned_ += options.iterations;
    if (std::exchange(busy_, true)) return launch;
    number = number_;
  }
  if (start_next(number)) complete();
  return launch;
}

/// The events, in the order of the preconditions.
/// \throws UsageError  a precondition has no event, or two
std::vector<Event> GraphActors::ordered(std::vector<std::pair<TaskGraph::Node, Event>> events) const {
  std::vector<std::optional<Event>> found(outline_.preconditions.size());
  for (auto& [node, event] : events) {
    const auto at = std::ranges::lower_bound(outline_.preconditions, node.index);
    if (at == outline_.preconditions.end() || *at != node.index || (node.graph != 0 && node.graph != outline_.graph))
      throw UsageError(outline_.names.graph() + ": node " + std::to_string(node.index) +
                       (node.graph == outline_.graph ? "" : " of another graph") + " is no precondition of this graph");
    const auto k = static_cast<std::size_t>(at - outline_.preconditions.begin());
    if (found[k]) throw UsageError(outline_.names.text(outline_.preconditions[k]) + " has two events, allowed is one");
    found[k] = std::move(event);
  }
  std::vector<Event> ordered;
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (!found[k])
      throw UsageError(outline_.names.text(outline_.preconditions[k]) + " is a precondition and has no event");
    ordered.push_back(std::move(*found[k]));
  }
  return ordered;
}

/// Starts the first of the queue, once the events before it are set.
/// \param last  number_ when the caller found that a launch may start. If it has changed, another thread has dropped
///   these launches, and perhaps started others.
/// \returns whether the launch is complete already
bool GraphActors::start_next(std::uint64_t last) noexcept {
  std::uint64_t number = 0;
  std::list<Queued> next;  // none or one
  std::optional<Event> before;
  std::exception_ptr failure;
  {
    const std::lock_guard lock(mutex_);
    if (last != number_) return false;
    number = ++number_;
    if (queue_.empty()) {
      busy_ = false;
      return false;
    }
    for (auto& after = queue_.front().after; !after.empty() && !failure; after.pop_back()) {
      failure = after.back().failure();
      if (failure || after.back().is_set()) continue;
      before = after.back();
      break;
    }
    if (!before) {
      next.splice(next.end(), queue_, queue_.begin());
      running_ = std::move(next.front().launch);
      events_ = std::move(next.front().preconditions);
      why_ = failure;
      is_running_ = true;
      begin_ = end_;
      if (failure)
        drop_queue();
      else
        end_ += next.front().iterations;
    }
  }
  if (before) {
    surely([&] {
      before->then([weak = weak_from_this(), number] {
        const auto self = weak.lock();
        if (self && self->start_next(number)) self->complete();
      });
    });
    return false;
  }
  if (failure) {
    failed_.store(true, std::memory_order_release);
    notify_ranks(failure);
    return true;
  }
  if (next.front().iterations == 0) return true;
  left_.store(static_cast<int>(members_.size()) + 1, std::memory_order_relaxed);
  start(begin_, end_);
  for (std::size_t k = 0; k < outline_.preconditions.size(); ++k)
    surely([&] {
      events_[k].then([weak = weak_from_this(), number, k] {
        if (const auto self = weak.lock()) self->satisfy_if_running(number, k);
      });
    });
  return left_.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void GraphActors::satisfy_if_running(std::uint64_t number, std::size_t k) {
  std::exception_ptr failure;
  std::optional<Engine::ExternalThread>
      inside;  // the engine waits for it: after a failure of the launch the runtime may be destroyed
  {
    const std::lock_guard lock(mutex_);  // held: the launch does not end meanwhile
    if (number != number_ || !is_running_) return;
    inside.emplace(engine_);
    failure = events_[k].failure();
    failure ? stop_running(failure) : satisfy(k, begin_, end_);
  }
  if (failure) notify_ranks(failure);
}

/// A precondition has failed, so this rank will not send what other ranks wait for: fails all ranks.
void GraphActors::notify_ranks(const std::exception_ptr& why) noexcept {
  if (!across_ranks_) return;
  ProgressEngine& ranks = runtime_.options().communicator->messages().progress_engine();
  const std::string text = surely([&] {
    const std::string what = outline_.names.graph() + ": an event that a launch waits for has failed: ";
    try {
      std::rethrow_exception(why);
    } catch (...) {
      return what + message_of_current();
    }
  });
  ranks.fail(text.c_str());
}

std::string GraphActors::task_text(std::uint32_t node, std::int64_t iteration) const {
  std::string text = outline_.names.text(node);
  if (end_ - begin_ > 1) text.append(" of iteration ").append(std::to_string(iteration - begin_));
  return text;
}

void GraphActors::fail(std::uint32_t node, std::int64_t iteration) noexcept {
  if (on_failure_) return on_failure_(node, iteration - begin_);
  engine_.fail(*this, surely([&] { return task_text(node, iteration); }));
}

void GraphActors::finished() {
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) complete();
}

/// Ends the running launch. Its events may end launches of other graphs: they are listed for the loop of the outer
/// call, so that chains of launches do not recurse.
///   ends_next_ is written  ⇒  the graph is in the list of the writing thread, and its next launch has not started
void GraphActors::complete() noexcept {
  thread_local struct {
    std::shared_ptr<GraphActors> first;
    GraphActors* last = nullptr;  // null if there is none
    bool ends = false;            // an outer call of this thread takes them
  } list;
  auto graph = shared_from_this();  // a callback of an event may destroy the graph
  if (list.ends) {
    GraphActors* const before = std::exchange(list.last, this);
    (before == nullptr ? list.first : before->ends_next_) = std::move(graph);
    return;
  }
  list.ends = true;
  for (;;) {
    while (graph->start_next(graph->end_running())) {
    }
    auto next = std::exchange(list.first, nullptr);
    if (next == nullptr) break;
    list.first = std::move(next->ends_next_);
    if (list.first == nullptr) list.last = nullptr;
    graph = std::move(next);
  }
  list.ends = false;  // before the graph is destroyed, whose functions may end the launch of another
}

/// Sets or fails the events of the running launch, and fails the launches that were dropped with it.
/// \returns number_
std::uint64_t GraphActors::end_running() noexcept {
  std::list<Queued> dropped;
  std::vector<Event> events;
  std::optional<CompiledGraph::Launch> ended;
  std::exception_ptr failure;
  std::uint64_t number = 0;
  // Without the mutex, because destructors of events may launch this graph. No other thread resets: the launch has not
  // ended, and all actors have finished. If it fails after this check, no actor has given up, so no reset is needed.
  if (failed()) {
    const Engine::Callback inside;
    reset(end_);
  }
  {
    const std::lock_guard lock(mutex_);
    number = number_;
    ended.swap(running_);
    is_running_ = false;
    events.swap(events_);
    dropped.swap(dropped_);
    if (failed()) {
      failure = std::exchange(why_, nullptr);
      if (!failure) failure = engine_.failures().of(*this);
      planned_ = end_;
      for (const Queued& left : queue_) planned_ += left.iterations;
      failed_.store(false, std::memory_order_release);
    }
  }
  end(*ended, failure);
  for (const Queued& after : dropped) end(after.launch, failure);
  engine_.notify();
  return number;
}

/// Sets or fails the events of a launch.
void GraphActors::end(const CompiledGraph::Launch& launch, const std::exception_ptr& failure) noexcept {
  const Engine::Callback inside;
  const auto settle = [&](const Event& event) noexcept {
    try {
      failure ? event.fail(failure) : event.set();
    } catch (...) {
      engine_.failures().report(*this, surely([&] { return outline_.names.graph() + ": a call of Event::then"; }));
    }
  };
  for (const auto& [node, event] : launch.postconditions_) settle(event);
  settle(launch.done);
}

/// Launches that are queued now will fail with the running launch. \pre the mutex is held
void GraphActors::drop_queue() noexcept { dropped_.splice(dropped_.end(), queue_); }

/// \pre the mutex is held, a launch runs
void GraphActors::stop_running(const std::exception_ptr& why) noexcept {
  drop_queue();
  if (!failed_.exchange(true, std::memory_order_acq_rel)) why_ = why;  // else a task of its own has failed it
  for (const int worker : members_) wake_actor(worker);
}

void GraphActors::stop(const std::exception_ptr& why) noexcept {
  std::list<Queued> dropped;
  {
    const std::lock_guard lock(mutex_);
    if (is_running_) {
      stop_running(why);
    } else if (busy_) {
      dropped.swap(queue_);
      planned_ = end_;
      busy_ = false;
      ++number_;
    }
  }
  for (const Queued& one : dropped) end(one.launch, why);
}

template <typename Between>
bool GraphActors::nothing_on_its_way(const Between& between) const noexcept {
  const auto of = [this](std::size_t w) -> const Counts& { return shares_[w].counts; };
  return detail::nothing_on_its_way(static_cast<std::size_t>(engine_.workers()), of, outside_, between);
}

bool GraphActors::idle() const noexcept {
  return nothing_on_its_way([] { return true; });
}

bool GraphActors::done() const noexcept {
  return nothing_on_its_way([this] {
    const std::lock_guard lock(mutex_);
    return !busy_;
  });
}

std::size_t GraphActors::waiting(int worker, std::vector<StuckTask>& tasks, std::size_t most) const {
  std::size_t total = waiting_tasks(worker, tasks, most);
  if (worker != 0) return total;
  const std::lock_guard lock(mutex_);
  if (!busy_ || (is_running_ ? failed() : queue_.empty())) return total;  // it is ending
  const auto waits = [&](std::string what) {
    ++total;
    if (tasks.size() < most) tasks.push_back({std::move(what), 0, 1});
  };
  const int without = rank_edges_ == nullptr ? -1 : rank_edges_->missing_launch();
  waits(outline_.names.graph() + (!is_running_ ? ": a launch and the event before it"
                                  : without < 0
                                      ? ": a launch"
                                      : ": a launch, which rank " + std::to_string(without) + " has not made"));
  for (std::size_t k = 0; is_running_ && k < events_.size(); ++k)
    if (!events_[k].is_set()) waits(outline_.names.text(outline_.preconditions[k]));
  return total;
}

}  // namespace taskgrain::rt::detail
