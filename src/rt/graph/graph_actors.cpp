#include "graph_actors.hpp"

namespace taskgrain::rt::detail {

GraphActors::GraphActors(Runtime& runtime, const Compiler& compiler)
    : runtime_(runtime), engine_(engine_of(runtime)), name_(compiler.graph_name()),
      preconditions_(compiler.preconditions.size()), postconditions_(compiler.postconditions.size()) {
  std::vector<bool> member(static_cast<std::size_t>(runtime.workers()), false);
  for (std::uint32_t n = 0; n < compiler.size(); ++n)
    if (!compiler.external(n)) member[static_cast<std::size_t>(compiler.worker(n))] = true;
  for (std::size_t k = 0; k < member.size(); ++k)
    if (member[k]) members_.push_back(static_cast<int>(k));
}

GraphActors::~GraphActors() {
  const std::lock_guard lock(shared_->mutex);
  ++shared_->generation;
}

void GraphActors::send(int worker, const Payload& message, std::size_t words) {
  Worker& to = engine_.worker(worker);
  Worker* here = engine_.here();
  if (here == nullptr)
    to.send_from_outside({this, message});
  else if (here == &to)
    deliver(*here, message);
  else
    here->send(to, {this, message}, words);
}

CompiledGraph::Launch GraphActors::launch(CompiledGraph::LaunchOptions options) {
  if (options.iterations < 0)
    throw UsageError("iterations is " + std::to_string(options.iterations) + ", allowed are 0 and more");
  if (options.preconditions.size() != preconditions_)
    throw UsageError("preconditions has " + std::to_string(options.preconditions.size()) + " events, the graph has " +
                     std::to_string(preconditions_));
  CompiledGraph::Launch launch;
  launch.postconditions.resize(postconditions_);
  {
    const std::lock_guard lock(shared_->mutex);
    queue_.push_back({std::move(options), launch});
    if (std::exchange(busy_, true)) return launch;
  }
  if (start_next()) complete();
  return launch;
}

template <typename F>
std::function<void()> GraphActors::unless_abandoned(std::uint64_t generation, F call) {
  return [shared = shared_, generation, call] {
    {
      const std::lock_guard lock(shared->mutex);
      if (generation != shared->generation) return;
    }
    call();
  };
}

/// Starts the first of the queue, once the events before it are set. One launch at a time gets here. \returns whether
/// it is complete
bool GraphActors::start_next() {
  CompiledGraph::LaunchOptions options;
  std::uint64_t generation = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    if (queue_.empty()) {
      busy_ = false;
      return false;
    }
    auto& after = queue_.front().options.after;
    while (!after.empty() && after.back().is_set()) after.pop_back();
    if (after.empty()) {
      options = std::move(queue_.front().options);
      running_ = std::move(queue_.front().launch);
      queue_.pop_front();
    } else {
      options.after = {after.back()};
    }
    generation = shared_->generation;
  }
  if (!options.after.empty()) {
    options.after[0].then(unless_abandoned(generation, [this] {
      if (start_next()) complete();
    }));
    return false;
  }
  const std::int64_t begin = iterations_, end = begin + options.iterations;
  iterations_ = end;
  left_.store(static_cast<int>(members_.size()) + 1, std::memory_order_relaxed);
  if (options.iterations > 0) {
    start(begin, end);
    for (std::size_t k = 0; k < preconditions_; ++k)
      options.preconditions[k].then(unless_abandoned(generation, [this, k, begin, end] { meet(k, begin, end); }));
  } else {
    left_.store(1, std::memory_order_relaxed);
  }
  return left_.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void GraphActors::finished() {
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) complete();
}

/// Reports that the running launch is done, then starts the next one, so launches are reported in their order.
void GraphActors::complete() {
  do {
    for (const Event& event : running_.postconditions) event.set();
    running_.done.set();
    engine_.notify();
  } while (start_next());
}

std::size_t GraphActors::launches_waiting(std::vector<StuckTask>& tasks, std::size_t most) const {
  const std::lock_guard lock(shared_->mutex);
  if (queue_.empty() || left_.load(std::memory_order_acquire) != 0) return 0;
  if (tasks.size() < most) tasks.push_back({name_ + ": a launch and the event before it", 0, 1});
  return 1;
}

void GraphActors::abandon() noexcept {
  {
    const std::lock_guard lock(shared_->mutex);
    queue_.clear();
    busy_ = false;
    ++shared_->generation;
  }
  iterations_ = 0;
  left_.store(0, std::memory_order_relaxed);
  reset();
}

}  // namespace taskgrain::rt::detail
