/// Loops and traces of a SequenceCore.

#include <algorithm>
#include <utility>

#include "sequence/sequence_core.hpp"
#include "taskgrain/rt/detail/surely.hpp"

namespace taskgrain::rt::detail {

namespace {

/// As long as it lives, a switch is in this position.
class Switched {
 public:
  Switched(bool& what, bool to) noexcept : what_(what), before_(std::exchange(what, to)) {}
  ~Switched() { what_ = before_; }
  Switched(const Switched&) = delete;
  Switched& operator=(const Switched&) = delete;

 private:
  bool &what_, before_;
};

}  // namespace

void SequenceCore::begin_body(const std::vector<Traced>& known) {
  auto body = std::make_shared<Body>();
  const bool expects = !known.empty() && !ranks_;
  if (expects) body->tasks.reserve(known.back().shape.tasks.size());
  recording_ = std::move(body);
  recorded_ = 0;
  if (expects) expected_ = &known.back().shape;
  next_home_after_ = std::exchange(next_home_, 0);  // the same in each call
}

std::shared_ptr<Body> SequenceCore::end_body() {
  drop_unfinished();
  const bool as_expected = expected_ != nullptr && recorded_ == expected_->tasks.size();
  if (expected_ != nullptr) expect_no_more();
  const std::shared_ptr<Body> body = recording_;
  discard_body();
  as_expected_ = as_expected;
  return body;
}

void SequenceCore::discard_body() noexcept {
  expected_ = nullptr;
  as_expected_ = false;
  next_home_ = next_home_after_;
  automatic_ = 0;
  recording_ = nullptr;
}

std::shared_ptr<Body> SequenceCore::record(const std::vector<Traced>& known, const std::function<void()>& body) {
  check_no_task();
  check_not_recording("a loop or a trace");
  close_reductions();
  end_automatic(true);
  reclaim();
  const Switched unfollowed(follows_, false);
  begin_body(known);
  try {
    body();
    drop_unfinished();
    close_reductions();
    return end_body();
  } catch (...) {
    discard_body();
    reductions_.clear();  // its own
    if (ranks_) surely([this] { ranks_->note_thrown(); });
    throw;
  }
}

void SequenceCore::wait_for_room(std::size_t tasks) {
  const std::size_t most = std::max(window_.size(), 2 * tasks) - tasks;
  const std::size_t until =
      std::max(most - most / 4, std::min(most, tasks));  // a wait takes a while to begin and to end
  const auto in_bodies = [this] { return in_bodies_.load(std::memory_order_acquire); };
  if (in_bodies() > most) wait_until([&] { return in_bodies() <= until; });
}

void SequenceCore::follow(std::uint64_t task) {
  if (recording_ && task != repeats_->next()) end_automatic(false);
  if (const std::size_t tasks = repeats_->expected();
      !recording_ && tasks != 0 && task == repeats_->next() && reductions_.empty()) {
    begin_body(automatic_traces_);
    automatic_ = tasks;
  }
  repeats_->add(task);
}

void SequenceCore::end_automatic(bool expected) {
  if (automatic_ == 0) return;
  if (failed_.load(std::memory_order_relaxed)) return wait_for_flow();  // which drops it
  const std::shared_ptr<Body> body = end_body();
  if (body->tasks.empty()) return;
  repeats_->was(expected);
  // Sums that are open were opened in it. Where it uses what they add to, it has the task that adds.
  auto open = std::exchange(reductions_, {});
  const Switched unfollowed(follows_, false);
  const std::uint64_t drops = drops_;
  try {
    if (expected) {
      trace(automatic_traces_, body, "automatic trace");
    } else {
      ++statistics.missed;
      give(*body);
    }
  } catch (...) {
    if (dropped_since(drops)) throw;
    reductions_ = std::move(open);  // tasks write their parts
    drop_all_and_throw();           // the body was given long ago, and is lost
  }
  if (!dropped_since(drops)) reductions_ = std::move(open);
}

/// A function may throw when it is moved to its place, and the body catch that.
void SequenceCore::drop_unfinished() {
  if (recording_->tasks.size() == recorded_) return;
  recording_->tasks.resize(recorded_);
  if (expected_ == nullptr) recording_->accesses.resize(recorded_ == 0 ? 0 : recording_->tasks.back().accesses);
}

TaskFunction& SequenceCore::record_task(std::uint32_t accesses, int worker, int rank, TaskOptions&& options,
                                        const EventType* event) {
  Body::Task& task = recording_->tasks.emplace_back();
  task.accesses = accesses;
  task.worker = worker;
  task.given_worker = options.worker;
  task.priority = options.priority;
  task.name = std::move(options.name);
  task.event = event;
  task.rank = rank;
  return task.function;
}

/// Whether the next task of a body is as in the body that is expected: then it needs no other check. (Its data exists
/// if the data of the launch does, which is checked.)
bool SequenceCore::is_expected(std::span<const Access> accesses, const Access* also, const TaskOptions& options,
                               const EventType* event) const noexcept {
  if (also != nullptr || accesses.empty() || !reductions_.empty() || recorded_ == expected_->tasks.size()) return false;
  const auto same = [](const Access& a, const Access& b) { return a.id == b.id && a.mode == b.mode; };
  const Body::Task& expected = expected_->tasks[recorded_];
  return options.worker == expected.given_worker && event == expected.event &&
         std::ranges::equal(accesses, expected_->accesses_of(recorded_), same);
}

/// The tasks up to here are those that were expected.
void SequenceCore::expect_no_more() {
  const auto end = recorded_ == 0 ? 0 : expected_->tasks[recorded_ - 1].accesses;
  recording_->accesses.assign(expected_->accesses.begin(), expected_->accesses.begin() + end);
  expected_ = nullptr;
}

void SequenceCore::give(Body& body) {
  const Switched gives(gives_body_, true);
  const std::uint64_t drops = drops_;
  std::size_t k = 0;
  try {
    for (; k < body.tasks.size() && !dropped_since(drops); ++k) give(body, k);
  } catch (...) {
    if (k == 0 || dropped_since(drops)) throw;
    drop_all_and_throw();  // a half of a body is not what the program says
  }
}

void SequenceCore::give(Body& body, std::size_t k) {
  Body::Task& task = body.tasks[k];
  auto accesses = body.accesses_of(k);
  const Access* const also = !accesses.empty() && accesses.back().mode == Mode::reduce ? &accesses.back() : nullptr;
  if (also != nullptr) accesses = accesses.first(accesses.size() - 1);
  TaskFunction& place =
      begin(accesses, also,
            {.worker = task.worker, .priority = task.priority, .name = task.name, .rank = ranks_ ? task.rank : -1},
            task.event);
  place = std::move(task.function);
  end();
}

void SequenceCore::launch(std::shared_ptr<CompiledBody>& compiled, std::shared_ptr<Body> body, std::int64_t iterations,
                          const std::string& name) {
  const std::uint64_t drops = drops_;
  std::vector<Transfer> before;
  std::vector<std::vector<Transfer>> at;
  if (ranks_) ranks_->note(static_cast<std::uint64_t>(iterations));
  if (ranks_ && !compiled) {  // the ranks compile together, so none may wait for what another has to do before
    ranks_->compare();
    wait_until([this] { return all_ended(); });
    ranks_->agree(name_ + ": " + name);
  }
  if (ranks_ && !ranks_->is_as_left_by(compiled.get()))
    before = ranks_->enter(*registry_, *body, compiled ? nullptr : &at);
  if (!compiled) {
    Communicator* const communicator = ranks_ ? &ranks_->communicator() : nullptr;
    compiled = std::make_shared<CompiledBody>(runtime_, registry_, *body, name_ + " " + name, communicator, at);
    ++statistics.compiled;
  }
  const std::shared_ptr<CompiledBody> graph = compiled;             // which a failure resets
  if (ranks_ && body->results.empty()) ranks_->leave(graph.get());  // results lie elsewhere each time
  accesses_ = graph->accesses(*body);
  give(before, body->owners);
  const std::vector<Access> accesses = graph->accesses(*body);
  check(accesses, nullptr, {.name = name});
  const std::shared_ptr<TraceLaunch> given(new TraceLaunch{graph, {}, {body}});
  TaskFunction& place = begin_here(home_of_written(), {.name = name});
  if (dropped_since(drops)) return;
  next_->launches = true;
  place.emplace([this, &node = *next_, given, iterations] {
    std::vector<std::shared_ptr<Body>> bodies;
    {
      const std::lock_guard lock(given->mutex);
      bodies.swap(given->bodies);
    }
    CompiledBody* const launched = given->compiled.get();
    const std::size_t tasks = bodies.size() * bodies.front()->tasks.size();
    const Event done = launched->launch(std::move(bodies), iterations).done;
    launched_.fetch_add(1, std::memory_order_relaxed);
    const auto ended = [this, &node, launched, done, tasks] {
      if ((node.failure = launched->failure()))
        surely([&] { node.name += " " + launched->failed_task(); });
      else
        node.failure = done.failure();
      launched->release();
      in_bodies_.fetch_sub(tasks, std::memory_order_release);
      over(node);
    };
    surely([&] { done.then(ended); });
  });
  end();
  in_bodies_.fetch_add(body->tasks.size(), std::memory_order_relaxed);  // perhaps after they have ended
  ++statistics.launched;
  last_launch_ = given;
  last_launch_number_ = submitted_;
}

bool SequenceCore::join(const std::shared_ptr<CompiledBody>& compiled, const std::shared_ptr<Body>& body) {
  constexpr std::size_t most_calls = 16;  // bounds the memory of what waits
  const auto last = last_launch_.lock();
  if (ranks_ || !last || last_launch_number_ != submitted_ || last->compiled != compiled) return false;
  if (!body->results.empty()) return false;  // which the task of the launch writes
  const std::lock_guard lock(last->mutex);
  if (last->bodies.empty() || last->bodies.size() == most_calls) return false;
  // What is joined ends together: half a window, so that another launch is there meanwhile.
  if (2 * (last->bodies.size() + 1) * body->tasks.size() > window_.size()) return false;
  last->bodies.push_back(body);
  in_bodies_.fetch_add(body->tasks.size(), std::memory_order_relaxed);
  return true;
}

void SequenceCore::loop(std::int64_t iterations, const std::function<void()>& body, const std::string& name) {
  if (iterations < 0)
    throw_usage({name_, ": ", name, ": iterations is ", std::to_string(iterations), ", allowed are 0 and more"});
  const auto found = record(loops_, body);
  if (iterations == 0 || found->tasks.empty()) return;
  const std::uint64_t drops = drops_;
  wait_for_room(found->tasks.size());
  if (dropped_since(drops)) return;
  launch(known(loops_, *found).compiled, found, iterations, name);
}

void SequenceCore::trace(std::uint64_t id, const std::function<void()>& body, const std::string& name) {
  check_no_task();
  check_not_recording("a loop or a trace");
  if (ranks_) ranks_->note_trace(id);
  auto& shapes = shapes_of(id);
  const auto found = record(shapes, body);
  if (!found->tasks.empty()) trace(shapes, found, name);
}

std::vector<Traced>& SequenceCore::shapes_of(std::uint64_t id) {
  auto found = traces_.find(id);
  if (found == traces_.end()) {
    if (traces_.size() >= most_traces_) {
      auto oldest = traces_.end();
      for (auto one = traces_.begin(); one != traces_.end(); ++one) {
        const auto runs = [](const Traced& shape) { return shape.compiled.use_count() > 1; };
        if (!ranks_ && std::ranges::any_of(one->second.shapes, runs)) continue;  // it must be found, to be stopped
        if (oldest == traces_.end() || one->second.call < oldest->second.call) oldest = one;
      }
      if (ranks_ && std::ranges::any_of(oldest->second.shapes, [](const Traced& shape) { return !!shape.compiled; }))
        wait_until([this] { return all_ended(); });  // all ranks forget the same one
      if (oldest != traces_.end()) traces_.erase(oldest);
    }
    found = traces_.try_emplace(id).first;
  }
  found->second.call = ++trace_calls_;
  return found->second.shapes;
}

void SequenceCore::trace(std::vector<Traced>& shapes, const std::shared_ptr<Body>& body, const std::string& name) {
  const Switched unfollowed(follows_, false);
  const std::uint64_t drops = drops_;
  Traced& shape = known(shapes, *body);
  if (!std::exchange(shape.seen, true)) {
    ++statistics.analysed;
    return give(*body);
  }
  ++statistics.replayed;
  wait_for_room(body->tasks.size());
  if (dropped_since(drops)) return;
  if (!join(shape.compiled, body)) launch(shape.compiled, body, 1, name);
}

Traced& SequenceCore::known(std::vector<Traced>& shapes, const Body& body) {
  constexpr std::size_t most_shapes = 8;
  if (as_expected_) return shapes.back();
  const auto found = std::ranges::find_if(shapes, [&](const Traced& one) { return one.shape.alike(body, !ranks_); });
  if (found != shapes.end()) {
    std::rotate(found, found + 1, shapes.end());  // it is expected the next time
    return shapes.back();
  }
  if (shapes.size() >= most_shapes && ranks_) {  // all ranks forget the same one
    wait_until([this] { return all_ended(); });
    shapes.erase(shapes.begin());
  } else if (shapes.size() >= most_shapes) {
    const auto ended = std::ranges::find_if(shapes, [](const Traced& one) { return one.compiled.use_count() <= 1; });
    if (ended != shapes.end()) shapes.erase(ended);  // those that run must be found, to be stopped
  }
  return shapes.emplace_back(Traced{body.shape(), nullptr});
}

}  // namespace taskgrain::rt::detail
