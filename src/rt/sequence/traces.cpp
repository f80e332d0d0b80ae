#include "sequence/traces.hpp"

#include <algorithm>
#include <utility>

#include "taskgrain/rt/detail/scope_exit.hpp"
#include "taskgrain/rt/detail/surely.hpp"
#include "taskgrain/rt/detail/trace.hpp"

namespace taskgrain::rt::detail {

Traces::Traces(Runtime& runtime, const std::string& name, const std::shared_ptr<DataRegistry>& registry,
               Submission& submission, Window& window, AcrossRanks* ranks, const SequenceOptions& options)
    : runtime_(runtime), name_(name), registry_(registry), submission_(submission), window_(window), ranks_(ranks),
      replays_(runtime.options().trace.empty() || ranks != nullptr), bodies_(window, options.traces, ranks != nullptr) {
  constexpr std::size_t longest = std::size_t{1} << 24;
  if (options.automatic_traces > longest)
    throw_usage({name_, ": automatic_traces is ", std::to_string(options.automatic_traces), ", allowed are 0 to ",
                 std::to_string(longest), " tasks"});
  if (options.traces == 0) throw_usage({name_, ": traces is 0, allowed are 1 and more"});
  if (options.automatic_traces > 0 && replays_) repeats_.emplace(options.automatic_traces);
}

// -- a body is recorded

void Traces::begin_body(const std::vector<Traced>& known) {
  recording_.begin(known.empty() || ranks_ ? nullptr : &known.back().shape);
  next_home_after_ = submission_.set_next_home(0);  // the same in each call
}

std::shared_ptr<Body> Traces::end_body() {
  std::shared_ptr<Body> body = recording_.end();
  submission_.set_next_home(next_home_after_);
  automatic_ = 0;
  return body;
}

void Traces::discard_body() noexcept {
  recording_.discard();
  submission_.set_next_home(next_home_after_);
  automatic_ = 0;
}

// -- automatic traces

void Traces::follow(std::uint64_t task, bool may_begin) {
  if (recording_ && task != repeats_->next()) end_automatic(false);
  if (const std::size_t tasks = repeats_->expected();
      !recording_ && tasks != 0 && task == repeats_->next() && may_begin) {
    begin_body(bodies_.automatic());
    automatic_ = tasks;
  }
  repeats_->add(task);
}

void Traces::follow_other() {
  end_automatic(true);
  repeats_->forget();
}

void Traces::end_task(bool may_end) {
  recording_.end_task();
  if (automatic_ != 0 && recording_.size() >= automatic_ && may_end) end_automatic(true);
}

void Traces::end_automatic(bool expected) {
  if (automatic_ == 0) return;
  if (window_.failed()) return window_.wait_for_flow();  // which drops it
  const std::shared_ptr<Body> body = end_body();
  if (body->tasks.empty()) return;
  repeats_->was(expected);
  const std::uint64_t drops = window_.drops();
  try {
    // Sums that are open were opened in it. Where it uses what they add to, it has the task that adds.
    if (expected) {
      trace(bodies_.automatic(), body, "automatic trace");
    } else {
      ++statistics.missed;
      give(*body);
    }
  } catch (...) {
    if (window_.drops() != drops) throw;
    window_.drop_all_and_throw();  // the body was given long ago, and is lost
  }
}

// -- a body is given, or launched

void Traces::loop(const std::shared_ptr<Body>& body, std::int64_t iterations, const std::string& name) {
  const std::uint64_t drops = window_.drops();
  wait_for_room(body->tasks.size());
  if (window_.drops() != drops) return;
  launch(known(bodies_.loops(), *body).compiled, body, iterations, name);
}

void Traces::trace(std::vector<Traced>& shapes, const std::shared_ptr<Body>& body, const std::string& name) {
  const std::uint64_t drops = window_.drops();
  Traced& shape = known(shapes, *body);
  if (!std::exchange(shape.seen, replays_)) {
    ++statistics.analysed;
    return give(*body);
  }
  ++statistics.replayed;
  wait_for_room(body->tasks.size());
  if (window_.drops() != drops) return;
  if (!join(shape.compiled, body)) launch(shape.compiled, body, 1, name);
}

void Traces::wait_for_room(std::size_t tasks) {
  const std::size_t most = std::max(window_.size(), 2 * tasks) - tasks;
  const std::size_t until =
      std::max(most - most / 4, std::min(most, tasks));  // a wait takes a while to begin and to end
  const auto in_bodies = [this] { return in_bodies_.load(std::memory_order_acquire); };
  if (in_bodies() > most) window_.wait_until([&] { return in_bodies() <= until; });
}

void Traces::give(Body& body) {
  const std::uint64_t drops = window_.drops();
  std::size_t k = 0;
  const ScopedValue gives_body(submission_.gives_body, true);
  try {
    for (; k < body.tasks.size() && window_.drops() == drops; ++k) give(body, k);
  } catch (...) {
    if (k == 0 || window_.drops() != drops) throw;
    window_.drop_all_and_throw();  // a half of a body is not what the program says
  }
}

void Traces::give(Body& body, std::size_t k) {
  if (window_.failed()) [[unlikely]]
    return window_.wait_for_flow();
  Body::Task& task = body.tasks[k];
  auto accesses = body.accesses_of(k);
  const Access* const also = !accesses.empty() && accesses.back().mode == Mode::reduce ? &accesses.back() : nullptr;
  if (also != nullptr) accesses = accesses.first(accesses.size() - 1);
  TaskOptions options{
      .worker = task.worker, .priority = task.priority, .name = task.name, .rank = ranks_ ? task.rank : -1};
  submission_.check(accesses, also, options);
  const Submission::Place place = submission_.place(also, options);
  submission_.begin(place, std::move(options), task.event) = std::move(task.function);
  submission_.end();
}

void Traces::launch(std::shared_ptr<CompiledBody>& compiled, std::shared_ptr<Body> body, std::int64_t iterations,
                    const std::string& name) {
  const std::uint64_t drops = window_.drops();
  std::vector<Transfer> before;
  std::vector<std::vector<Transfer>> at;
  if (ranks_) ranks_->note(static_cast<std::uint64_t>(iterations));
  if (ranks_ && !compiled) {  // the ranks compile together, so none may wait for what another has to do before
    ranks_->compare();
    window_.wait_for_tasks();
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
  const std::shared_ptr<TraceLaunch> given(new TraceLaunch{graph, {}, {body}});
  WindowTask& node = submission_.begin_launch(graph->accesses(*body), name, before, body->owners);
  if (window_.drops() != drops) return;
  node.function.emplace([this, &node, given, iterations] {
    std::vector<std::shared_ptr<Body>> bodies;
    {
      const std::lock_guard lock(given->mutex);
      bodies.swap(given->bodies);
    }
    CompiledBody* const launched = given->compiled.get();
    const std::size_t tasks = bodies.size() * bodies.front()->tasks.size();
    if (window_.trace() != nullptr) window_.trace()->launched(window_.traced(node).number, launched->first_traced());
    const Event done = launched->launch(std::move(bodies), iterations).done;
    window_.add_launch();
    const auto ended = [this, &node, launched, done, tasks] {
      if ((node.failure = launched->failure()))
        surely([&] { node.name += " " + launched->failed_task(); });
      else
        node.failure = done.failure();
      launched->release();
      in_bodies_.fetch_sub(tasks, std::memory_order_release);
      window_.end_launch(node);
    };
    surely([&] { done.then(ended); });
  });
  submission_.end();
  in_bodies_.fetch_add(body->tasks.size(), std::memory_order_relaxed);  // perhaps after they have ended
  ++statistics.launched;
  last_launch_ = given;
  last_launch_number_ = window_.submitted();
}

bool Traces::join(const std::shared_ptr<CompiledBody>& compiled, const std::shared_ptr<Body>& body) {
  constexpr std::size_t most_calls = 16;  // bounds the memory of what waits
  const auto last = last_launch_.lock();
  if (ranks_ || !last || last_launch_number_ != window_.submitted() || last->compiled != compiled) return false;
  if (!body->results.empty()) return false;  // which the task of the launch writes
  const std::lock_guard lock(last->mutex);
  if (last->bodies.empty() || last->bodies.size() == most_calls) return false;
  // What is joined ends together: half a window, so that another launch is there meanwhile.
  if (2 * (last->bodies.size() + 1) * body->tasks.size() > window_.size()) return false;
  last->bodies.push_back(body);
  in_bodies_.fetch_add(body->tasks.size(), std::memory_order_relaxed);
  return true;
}

// -- failures

void Traces::stop_graphs() noexcept {
  bodies_.each([](const Traced& one) {
    if (one.compiled) one.compiled->stop();
  });
}

void Traces::forget() noexcept {
  if (is_automatic()) discard_body();
  in_bodies_.store(0, std::memory_order_relaxed);
  if (ranks_) bodies_.each([](Traced& one) { one.compiled.reset(); });  // what failed is not launched again
}

}  // namespace taskgrain::rt::detail
