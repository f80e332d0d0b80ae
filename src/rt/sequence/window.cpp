#include "sequence/window.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/surely.hpp"

namespace taskgrain::rt::detail {

namespace {

using Kind = WindowTask::Kind;

/// The next task that must be there soon: a few tasks, so that its cache lines have time to come from another core.
constexpr std::uint64_t ahead = 12;

std::size_t checked_window(std::size_t window) {
  if (!std::has_single_bit(window) || window > Ends::most)
    throw_usage({"window is ", std::to_string(window), ", allowed are powers of two up to 2^30"});
  return window;
}

}  // namespace

Window::Window(Runtime& runtime, const std::string& name, std::size_t size, const DataRegistry& registry,
               WindowOwner& owner)
    : runtime_(runtime), engine_(engine_of(runtime)), owner_(owner), tasks_(checked_window(size)), mask_(size - 1),
      newest_first_(engine_.options().order == Order::newest), ends_(size), seen_(size),
      reach_(size > Group::reach ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1), dependences_(registry),
      pools_(static_cast<std::size_t>(runtime.workers())), flow_(runtime, Tasks{this}, name) {}

// -- a task is given

WindowTask& Window::begin(int worker, TaskOptions&& options, const EventType* event) {
  WindowTask& node = task_of(submitted_ + 1);
  if (!ends_.ended(submitted_ + 1 - size())) wait_for_room();
  task_of(submitted_ + 1 + ahead).prefetch();
  node.priority = options.priority;
  Ends::Before& before = ends_.before(submitted_ + 1);
  before.worker = static_cast<std::uint16_t>(worker);
  before.ranked = options.priority != 0;
  node.again = 0;
  node.kind = Kind::plain;
  if (node.more || !options.name.empty() || event != nullptr) [[unlikely]]
    node.begin_more(std::move(options.name), event);
  return node;
}

void Window::end(WindowTask& node, std::span<const Access> accesses) {
  node.number = ++submitted_;
  try {
    for (const Access& access : accesses)
      if (access.mode == Mode::commutative) [[unlikely]] {
        node.more = true;
        node.locks.push_back(&locks_[access.index]);
      }
    if (node.more) [[unlikely]] {
      std::ranges::sort(node.locks);  // all take them in one order, so none waits in a circle
      if (node.kind == Kind::plain && (!node.locks.empty() || node.event != nullptr)) node.kind = Kind::special;
    }
    const std::uint64_t before = find_before(accesses);
    dependences_.enter(submitted_, accesses, before);
    ends_.open(submitted_);
    if (ends_.all_ended(submitted_)) ready(submitted_);  // or all before it have ended, so that it orders nothing
  } catch (...) {                                        // no memory: it was not given
    node.drop();
    ends_.drop(submitted_);
    throw;
  }
}

/// Finds those that the last task waits for. It need not wait for one that another of them waits for.
/// \returns bit k: the task given k tasks before it ends before it begins
std::uint64_t Window::find_before(std::span<const Access> accesses) {
  const std::uint64_t number = submitted_;
  std::uint64_t own = 0, earlier = 0;
  std::vector<std::uint64_t>* far = nullptr;  // whose cache line most tasks do not need
  dependences_.find(
      number, accesses, [this](std::uint64_t other) { return has_ended(other); },
      [&](const WholeGroup& of) {
        const Group& group = of.group;
        if (group.reaches_too_far(number) || of.far != nullptr) [[unlikely]] {
          if (far == nullptr) (far = &ends_.far(number))->clear();
          find_far(*far, of);
          if (number - group.last > Group::reach) return;
        }
        own |= group.near << (number - group.last);
        earlier |= group.earlier << (number - group.last);
      });
  Ends::Before& before = ends_.before(number);
  before.near = own & ~earlier & reach_;
  before.any_far = far != nullptr && !far->empty();
  return own | earlier;
}

/// Adds to `far` the tasks of a group that the bits of `near` do not reach.
void Window::find_far(std::vector<std::uint64_t>& far, const WholeGroup& group) {
  const auto add = [&](std::uint64_t number) {
    if (submitted_ - number < size() && std::exchange(seen_[number & mask_], submitted_) != submitted_)
      far.push_back(number);
  };
  if (group.far != nullptr) std::ranges::for_each(*group.far, add);
  group.group.each_lost(submitted_, add);
}

void Window::note_order(std::span<const Access> accesses) {
  if (trace() == nullptr) return;
  std::vector<std::uint64_t> before;
  const auto add = [&](std::uint64_t number) { before.push_back(first_traced_ + number); };
  dependences_.find(
      submitted_ + 1, accesses, [](std::uint64_t) { return false; }, [&](const WholeGroup& group) { group.each(add); });
  for (const Access& access : accesses)
    if (access.mode == Mode::commutative) {
      std::uint64_t last = 0;
      dependences_.each_own(access.index, [&](std::uint64_t number) { last = number; });
      if (last != 0) add(last);
    }
  std::ranges::sort(before);
  before.erase(std::ranges::unique(before).begin(), before.end());
  trace()->order(first_traced_ + submitted_ + 1, std::move(before));
}

bool Window::uses(std::uint32_t index) noexcept {
  bool used = false;
  dependences_.each_own(index, [&](std::uint64_t number) { used = used || !has_ended(number); });
  return used;
}

// -- it runs

void Window::run(WindowTask& node) {
  if (failed()) return;
  if (node.kind == Kind::plain) [[likely]] {
    node.function(Turn{0, this_worker(), 0});
  } else if (node.kind == Kind::over) {
    if (const std::exception_ptr failure = std::exchange(node.failure, nullptr)) std::rethrow_exception(failure);
  } else {
    if (!node.lock()) return;
    if (node.event != nullptr) return issue(node);
    const bool launches = node.kind == Kind::launches;
    node.function(Turn{0, this_worker(), 0});
    if (launches) return;
  }
  if (node.kind != Kind::plain) node.unlock([this](WindowTask& next) { ready_again(next); });
  node.function.reset();
  try {
    ends_.end(node.number, [this](std::uint64_t number) { ready(number); }, newest_first_);
  } catch (...) {  // no memory for what comes after it; its place may be another task's by now, and so it has no name
    engine_.fail(*flow_.handler_, flow_.handler_->tasks.name);
  }
  if (waits_.load(std::memory_order_relaxed)) engine_.notify();  // seen too late, it costs some milliseconds
}

/// Starts an asynchronous task. It ends when its operation has, and the start has returned.
void Window::issue(WindowTask& node) {
  const int worker = this_worker();
  auto& pool = pools_[static_cast<std::size_t>(worker)];
  if (!pool) pool.reset(new InFlightPool);
  InFlightOperation* const operation = pool->take();
  node.left.store(2, std::memory_order_relaxed);
  add_launch();
  const std::shared_ptr<AsyncOwner> own(std::shared_ptr<void>(), this);  // it waits for all operations
  const auto place = static_cast<std::uint32_t>(node.number & mask_);
  const Done done = operation->begin(runtime_, own, place, place, static_cast<std::int64_t>(node.number));
  try {
    StoredEvent event;
    event.emplace(*node.event, [&](void* made) { node.function(StartTurn{{0, worker, 0}, nullptr, 0, done, made}); });
  } catch (...) {
    failed_.store(true, std::memory_order_release);
    done();  // if the device has a copy, its call does nothing
    started_or_done(node);
    throw;
  }
  started_or_done(node);
}

void Window::device_done(std::uint32_t place, std::int64_t) { started_or_done(tasks_[place]); }

/// The device has dropped an operation.
void Window::fail(std::uint32_t place, std::int64_t) noexcept { tasks_[place].failure = std::current_exception(); }

void Window::started_or_done(WindowTask& node) {
  if (node.left.fetch_sub(1, std::memory_order_acq_rel) == 1) end_launch(node);
}

void Window::end_launch(WindowTask& node) {
  Runtime& runtime = runtime_;
  queue_end(node);
  launched_.fetch_sub(1, std::memory_order_release);  // from here on, the sequence may be gone
  runtime.notify();
}

void Window::queue_end(WindowTask& node) {
  node.kind = Kind::over;
  surely([&] {
    ++node.again;  // a key of its own each time
    ready_again(node);
  });
}

// -- waits

void Window::wait_until(const std::function<bool()>& done) {
  const auto over = [&] { return failed_.load(std::memory_order_acquire) || done(); };
  try {
    while (!over()) {
      waits_.store(true, std::memory_order_relaxed);
      runtime_.work_until(over);
      waits_.store(false, std::memory_order_relaxed);
    }
  } catch (...) {  // what others have failed with
    waits_.store(false, std::memory_order_relaxed);
    if (failed_.load()) drop_all_and_throw();
    throw;
  }
  if (failed_.load(std::memory_order_acquire) || !done()) wait_for_flow();
}

void Window::wait_for_room() {
  // A quarter of the places at a time: each wait takes a while to begin and to end.
  const std::uint64_t next = submitted_ + 1 - size(), later = next + size() / 4;
  wait_until([=, this] { return ends_.ended(next) && ends_.ended(later); });
}

void Window::wait_for_tasks() {
  wait_until([this] { return all_ended(); });
}

void Window::wait_for(std::uint32_t index) {
  wait_until([&] {
    bool all = true;
    dependences_.each_last(index, [&](std::uint64_t number) { all = all && has_ended(number); });
    return all;
  });
}

bool Window::all_ended() noexcept {
  while (oldest_ <= submitted_ && has_ended(oldest_)) ++oldest_;
  return oldest_ > submitted_;
}

void Window::close() noexcept {
  engine_.failures().quietly([this] { runtime_.work_until([this] { return failed_.load() || all_ended(); }); });
  stop_graphs();
}

// -- failures

void Window::wait_for_flow() {
  std::exception_ptr thrown;
  try {
    flow_.wait();
  } catch (const UsageError&) {  // may not wait here: nothing has changed
    throw;
  } catch (...) {
    thrown = std::current_exception();
  }
  if (thrown || failed_.load()) {  // where only the latter, a wait of the runtime has thrown it
    failed_.store(true);           // or a wait was given up: what is queued is dropped all the same
    stop_graphs();
    owner_.forget();  // what other ranks send from now on queues nothing
    try {
      flow_.wait();  // for what these have queued, which `run` drops
    } catch (...) {
      if (!thrown) thrown = std::current_exception();  // a launch failed after the first wait
    }
    for (WindowTask& node : tasks_) node.drop(), ends_.drop(node.number);
    for (auto& [index, lock] : locks_) lock.clear();
    dependences_.clear();
    ++drops_;
    failed_.store(false);
  }
  if (thrown) std::rethrow_exception(thrown);
}

void Window::drop_all_and_throw() {
  const std::exception_ptr why = std::current_exception();
  failed_.store(true);
  engine_.failures().quietly([this] { wait_for_flow(); });
  std::rethrow_exception(why);
}

void Window::stop_graphs() noexcept {
  const auto none = [this] { return launched_.load(std::memory_order_acquire) == 0; };
  if (none()) return;
  owner_.stop_graphs();
  while (!none())
    engine_.failures().quietly([&] { runtime_.work_until(none); });  // it throws what others have failed with
}

}  // namespace taskgrain::rt::detail
