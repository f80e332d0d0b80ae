#include "sequence/sequence_core.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/surely.hpp"

namespace taskgrain::rt::detail {

namespace {

std::size_t checked_window(std::size_t window) {
  if (!std::has_single_bit(window)) throw_usage({"window is ", std::to_string(window), ", allowed are powers of two"});
  return window;
}

const char* word_for(Mode mode) noexcept {
  constexpr const char* names[] = {"read", "write", "read_write", "commutative", "reduce"};
  return names[static_cast<std::size_t>(mode)];
}

}  // namespace

SequenceCore::SequenceCore(Runtime& runtime, Communicator* communicator, SequenceOptions&& options)
    : runtime_(runtime), engine_(engine_of(runtime)), name_(std::move(options.name)),
      window_(checked_window(options.window)), mask_(options.window - 1), most_traces_(options.traces),
      pools_(static_cast<std::size_t>(runtime.workers())), flow_(runtime, Tasks{this}, name_) {
  constexpr std::size_t longest = std::size_t{1} << 24;
  if (options.automatic_traces > longest)
    throw_usage({name_, ": automatic_traces is ", std::to_string(options.automatic_traces), ", allowed are 0 to ",
                 std::to_string(longest), " tasks"});
  if (most_traces_ == 0) throw_usage({name_, ": traces is 0, allowed are 1 and more"});
  if (options.automatic_traces > 0) repeats_.emplace(options.automatic_traces);
  if (communicator == nullptr) return;
  if (repeats_) throw_usage({name_, ": automatic_traces are of one rank; across ranks, use loop or trace"});
  if (runtime.options().communicator != communicator)
    throw_usage({name_, ": the runtime has another communicator, or none"});
  if (communicator->ranks() > 1) ranks_ = std::make_unique<AcrossRanks>(*communicator, name_);
}

SequenceCore::~SequenceCore() {
  if (flow_.handler_->engine_ended()) {  // which has waited for all that was given to it
    if (!reductions_.empty() || recording_)
      Engine::print(
          surely([&] { return name_ + ": it ends after its runtime, and has dropped what it held back"; }).c_str());
    return;
  }
  engine_.quietly([this] {
    if (failed_.load()) return;
    close_reductions();
    end_automatic(true);
  });
  engine_.quietly([this] { runtime_.work_until([this] { return failed_.load() || all_ended(); }); });
  stop_launches();
  if (ranks_) ranks_->forget();
}

void SequenceCore::check_no_task() const {
  try {
    engine_.check_no_task();
  } catch (const UsageError&) {
    throw_usage({name_, ": a task calls it; only a thread outside gives tasks, makes data, and waits"});
  }
}

// -- data

std::uint32_t SequenceCore::add_data(std::span<const Region> regions, std::span<const Region> objects,
                                     const DataOptions& options, bool travels) {
  check_no_task();
  end_automatic(true);
  if (recording_)
    throw_usage(
        {name_, ": data is made in a loop or a trace; make it before, as its tasks are to use the same each time"});
  const int workers = runtime_.workers();
  if (options.home < -1 || options.home >= workers)
    throw_usage({name_, ": data", options.name.empty() ? "" : " ", options.name, ": home is ",
                 std::to_string(options.home), ", allowed are 0 to ", std::to_string(workers - 1)});
  check_rank(options.name.empty() ? "data" : "data " + options.name, options.rank);
  reclaim();
  int home = options.home;
  if (home < 0) home = ranks_ && options.rank >= 0 && options.rank != ranks_->rank() ? 0 : next_home();
  const std::uint32_t index = registry_->add(regions, options.name, home, objects);
  if (ranks_) {
    auto& entry = (*registry_)[index];
    entry.rank = options.rank;
    entry.travels = travels;
    entry.number = ++made_;
    ranks_->make(*registry_, index);
  }
  return index;
}

std::uint32_t SequenceCore::add_token(const DataOptions& options) {
  const Region token{reinterpret_cast<std::uintptr_t>(&tokens_.emplace_back()), 1, 1, 0};
  const std::uint32_t index = add_data({&token, 1}, {}, options, true);
  (*registry_)[index].token = true;
  return index;
}

/// Forgets data that nothing names or uses. Not while a body is recorded, whose tasks use data that no task does yet.
void SequenceCore::reclaim(std::span<const Access> of_next) {
  registry_->reclaim([&](std::uint32_t index) {
    bool used = reductions_.contains(index) || std::ranges::find(of_next, index, &Access::index) != of_next.end();
    dependences_.each_own(index, [&](std::uint64_t number) { used = used || !has_ended(number); });
    if (used) return true;
    dependences_.forget(index), locks_.erase(index);
    return false;
  });
}

std::uint32_t SequenceCore::add_result(const std::shared_ptr<void>& owner, const Region& region, bool travels) {
  if (repeats_ && follows_) {  // a task with a result is another one each time
    check_no_task();
    end_automatic(true);
    repeats_->forget();
  }
  const std::span<const Region> regions(&region, ranks_ ? 1 : 0);  // the task that writes it is the first to use it
  if (!recording_) {
    const std::uint32_t index = add_data(regions, {}, {}, travels);
    if (ranks_) (*registry_)[index].owner = owner;
    return index;
  }
  const int home = static_cast<int>(recording_->results.size()) % runtime_.workers();  // the same in each call
  const std::uint32_t index = registry_->add(regions, {}, home);
  auto& entry = (*registry_)[index];
  if (ranks_) entry.travels = travels, entry.number = ++made_, entry.owner = owner;
  recording_->results.push_back(entry.id);
  recording_->places.push_back(region.begin);
  return index;
}

void SequenceCore::add_part(const Access& data, const std::shared_ptr<void>& owner, const Region& region,
                            bool travels) {
  if (!ranks_) return;
  const std::uint32_t index = add_result(owner, region, travels);
  reductions_.at(data.index).parts.push_back({(*registry_)[index].id, index, Mode::write});
}

// -- tasks

std::string SequenceCore::described(const TaskOptions& options) const {
  return name_ + " " + (options.name.empty() ? "task " + std::to_string(submitted_ + 1) : options.name);
}

void SequenceCore::check_rank(const std::string& what, int rank) const {
  const int ranks = ranks_ ? ranks_->ranks() : 1;
  if (rank < -1 || rank >= ranks)
    throw_usage(
        {name_, " ", what, ": rank is ", std::to_string(rank), ", allowed are 0 to ", std::to_string(ranks - 1)});
}

void SequenceCore::check(std::span<const Access> accesses, const Access* also, const TaskOptions& options) {
  const int workers = runtime_.workers();
  if (options.worker < -1 || options.worker >= workers)
    throw_usage({described(options), ": worker is ", std::to_string(options.worker), ", allowed are 0 to ",
                 std::to_string(workers - 1)});
  check_rank(options.name, options.rank);
  accesses_.clear();
  ++checks_;
  // Called in two places, it would be a function of its own, and a task cost 100 instructions more.
  const auto add = [&](const Access& access) __attribute__((always_inline)) {
    if (!registry_->has(access))
      throw_usage({described(options), ": one of its data is of another sequence, or of nothing"});
    if (marks_.size() <= access.index) marks_.resize(registry_->size());
    Mark& mark = marks_[access.index];
    if (mark.check != checks_) {
      mark = {checks_, accesses_.size()};
      accesses_.push_back(access);
      return;
    }
    Access& other = accesses_[mark.at];
    if (other.mode == access.mode) return;
    if (std::max(other.mode, access.mode) > Mode::read_write)
      throw_usage({described(options), ": ", name_of(access.index), " is used as ", word_for(other.mode), " and as ",
                   word_for(access.mode), "; a task uses it in one of these ways"});
    other.mode = Mode::read_write;
  };
  for (const Access& access : accesses) {
    if (access.mode == Mode::reduce) throw_usage({described(options), ": uses data as reduce; call Sequence::reduce"});
    add(access);
  }
  if (also == nullptr) return;
  add(*also);
  if (also->mode != Mode::reduce) return;
  for (const std::uint32_t other : (*registry_)[also->index].overlaps)
    if (std::ranges::any_of(accesses_, [&](const Access& one) { return one.index == other; }))
      throw_usage({described(options), ": reduces ", name_of(also->index), " and uses ", name_of(other),
                   ", which is a part of it, or it of that"});
}

int SequenceCore::home_of_written() const noexcept {
  const auto written = std::ranges::find_if(accesses_, [](const Access& one) { return one.mode != Mode::read; });
  return (*registry_)[(written == accesses_.end() ? accesses_.begin() : written)->index].home;
}

TaskFunction& SequenceCore::begin(std::span<const Access> accesses, const Access* also, TaskOptions&& options,
                                  const EventType* event) {
  check_no_task();
  if (failed_.load(std::memory_order_relaxed)) [[unlikely]]
    wait_for_flow();
  if (!reductions_.empty()) {
    check(accesses, also, options);
    close_used(accesses, also);
  }
  if (repeats_ && follows_) {
    std::uint64_t task = mixed(reinterpret_cast<std::uintptr_t>(event), static_cast<std::uint64_t>(options.worker));
    for (const Access& access : accesses) task = mixed(task, 8 * access.id + static_cast<std::uint64_t>(access.mode));
    if (also != nullptr) task = mixed(task, 8 * also->id + static_cast<std::uint64_t>(also->mode));
    follow(task);
  }
  if (expected_ != nullptr) {
    drop_unfinished();
    if (is_expected(accesses, also, options, event)) {
      const Body::Task& expected = expected_->tasks[recorded_];
      return record_task(expected.accesses, expected.worker, expected.rank, std::move(options), event);
    }
    expect_no_more();
  }
  check(accesses, also, options);
  const int rank = ranks_ ? place(also, options.rank) : 0;
  int worker = options.worker;
  if (worker < 0) worker = accesses_.empty() ? next_home() : home_of_written();
  if (recording_) {
    drop_unfinished();
    recording_->accesses.insert(recording_->accesses.end(), accesses_.begin(), accesses_.end());
    if (ranks_) std::ranges::move(owners(), std::back_inserter(recording_->owners));
    return record_task(static_cast<std::uint32_t>(recording_->accesses.size()), worker, rank, std::move(options),
                       event);
  }
  if (ranks_) {
    give(ranks_->enter(*registry_, accesses_, {rank, options.name}), owners());
    next_ = nullptr;
    if (rank != ranks_->rank()) return dropped_;
  }
  return begin_here(worker, std::move(options), event);
}

TaskFunction& SequenceCore::begin_here(int worker, TaskOptions&& options, const EventType* event) {
  next_ = &task_of(submitted_ + 1);
  if (!next_->ended()) wait_for_room();
  next_->worker = worker;
  next_->priority = options.priority;
  next_->name = std::move(options.name);
  next_->locked = 0;
  next_->attempt = 0;
  next_->launches = next_->over = false;
  next_->event = event;
  next_->locks.clear();
  return next_->function;
}

void SequenceCore::end() {
  if (recording_) {
    recorded_ = recording_->tasks.size();
    if (automatic_ != 0 && recorded_ >= automatic_ && reductions_.empty()) end_automatic(true);
    return;
  }
  if (next_ == nullptr) return dropped_.reset();
  WindowTask& node = *next_;
  node.number = ++submitted_;
  before_.clear();
  try {
    for (const Access& access : accesses_)
      if (access.mode == Mode::commutative) node.locks.push_back(&locks_[access.index]);
    if (node.locks.size() > 1) std::ranges::sort(node.locks);  // all take them in one order, so none waits in a circle
    dependences_.find(
        accesses_, [this](std::uint64_t number) { return has_ended(number); },
        [&](std::uint64_t number) {
          WindowTask& before = task_of(number);
          if (before.number != number || before.seen == submitted_ || before.ended()) return;
          before.seen = submitted_;
          before_.push_back(&before);
        });
    node.expect(before_.size());
    dependences_.enter(submitted_, accesses_);
    if (node.give(before_)) ready(node);  // or all before it have ended, so that it orders nothing
  } catch (...) {                         // no memory: it was not given
    node.drop();
    throw;
  }
}

int SequenceCore::place(const Access* also, int rank) {
  if (also != nullptr && also->mode == Mode::reduce) accesses_.back() = reductions_.at(also->index).parts.back();
  const auto rank_of = [&](const Access& access) { return (*registry_)[access.index].rank; };
  for (const bool written : {true, false})
    for (const Access& access : accesses_)
      if (rank < 0 && (access.mode != Mode::read) == written) rank = rank_of(access);
  if (rank < 0 && also != nullptr) rank = rank_of(*also);
  rank = std::max(rank, 0);
  if (also != nullptr) (*registry_)[accesses_.back().index].rank = rank;
  ranks_->note(*registry_, accesses_, rank);
  return rank;
}

std::vector<std::shared_ptr<void>> SequenceCore::owners() const {
  std::vector<std::shared_ptr<void>> owners;
  for (const Access& access : accesses_)
    if (auto owner = (*registry_)[access.index].owner.lock()) owners.push_back(std::move(owner));
  return owners;
}

void SequenceCore::give(const std::vector<Transfer>& transfers, const std::vector<std::shared_ptr<void>>& owners) {
  if (transfers.empty()) return;
  const std::vector<Access> kept = accesses_;
  if (!gives_body_) reclaim(kept);
  for (const Transfer& transfer : transfers) {
    const bool sends = transfer.from == ranks_->rank();
    if (!sends && transfer.to != ranks_->rank()) continue;
    const std::string name = "data from rank " + std::to_string(transfer.from) + " to " + std::to_string(transfer.to);
    const int home = (*registry_)[transfer.data.front()].home;
    const std::uint32_t index = registry_->add(transfer.regions, name, home);
    accesses_ = {{(*registry_)[index].id, index, sends ? Mode::read : Mode::write}};
    TaskFunction& function = begin_here(home, {.name = name});
    WindowTask& node = *next_;
    node.launches = !sends;
    function.emplace(ranks_->function(transfer, owners, [this, &node] {
      node.over = true;
      surely([&] {
        ++node.attempt;
        ready(node);
      });
    }));
    end();
    registry_->release(index);
  }
  accesses_ = kept;
}

void SequenceCore::run(WindowTask& node) {
  if (failed_.load(std::memory_order_relaxed)) return;
  if (node.over) {
    if (const std::exception_ptr failure = std::exchange(node.failure, nullptr)) std::rethrow_exception(failure);
  } else {
    if (!node.locks.empty() && !lock(node)) return;
    if (node.event != nullptr) return issue(node);
    const bool launches = node.launches;
    node.function(Turn{0, this_worker(), 0});
    if (launches) return;
  }
  if (!node.locks.empty()) unlock(node);
  node.end([this](const WindowTask& next) { ready(next); });
  if (waits_.load(std::memory_order_relaxed)) runtime_.notify();  // seen too late, it costs some milliseconds
}

/// Starts an asynchronous task. It ends when its operation has, and the start has returned.
void SequenceCore::issue(WindowTask& node) {
  const int worker = this_worker();
  auto& pool = pools_[static_cast<std::size_t>(worker)];
  if (!pool) pool.reset(new InFlightPool);
  InFlightOperation* const operation = pool->take();
  node.left.store(2, std::memory_order_relaxed);
  launched_.fetch_add(1, std::memory_order_relaxed);
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

void SequenceCore::device_done(std::uint32_t place, std::int64_t) { started_or_done(window_[place]); }

/// The device has dropped an operation.
void SequenceCore::fail(std::uint32_t place, std::int64_t) noexcept {
  window_[place].failure = std::current_exception();
}

void SequenceCore::started_or_done(WindowTask& node) {
  if (node.left.fetch_sub(1, std::memory_order_acq_rel) == 1) over(node);
}

/// Queues a task again whose graph or operation is over. From any thread.
void SequenceCore::over(WindowTask& node) {
  Runtime& runtime = runtime_;
  node.over = true;
  surely([&] {
    ++node.attempt;  // a key of its own each time
    ready(node);
  });
  launched_.fetch_sub(1, std::memory_order_release);  // from here on, the sequence may be gone
  runtime.notify();
}

/// \returns whether the task has all its locks; if not, who unlocks the next will queue it again
bool SequenceCore::lock(WindowTask& node) {
  while (node.locked < node.locks.size()) {
    if (!node.locks[node.locked]->lock(node)) return false;
    ++node.locked;
  }
  return true;
}

void SequenceCore::unlock(WindowTask& node) {
  for (CommuteLock* const lock : node.locks)
    if (WindowTask* const next = lock->unlock()) {
      ++next->locked;
      ++next->attempt;
      ready(*next);
    }
}

// -- reductions

std::shared_ptr<void> SequenceCore::joined_reduction(const Access& data, Fold kind, const void* target) {
  check_no_task();
  if (!registry_->has(data)) throw_usage({name_, ": the data of a reduction is of another sequence, or of nothing"});
  if (failed_.load(std::memory_order_relaxed)) [[unlikely]]
    wait_for_flow();  // before the sum is found or made, which it forgets
  const auto& entry = (*registry_)[data.index];
  const Region at{reinterpret_cast<std::uintptr_t>(target), 1, 1, 0};
  const auto has = [&](const Region& one) { return overlap(one, at); };
  const bool anywhere = (entry.regions.empty() && entry.objects.empty()) || (entry.token && !ranks_);
  if (!anywhere && std::ranges::none_of(entry.regions, has) && std::ranges::none_of(entry.objects, has))
    throw_usage({name_, ": a reduction adds to what ", name_of(data.index), " does not name"});
  close_overlapping(data.index, false);
  const auto found = reductions_.find(data.index);
  if (found == reductions_.end()) return nullptr;
  if (found->second.fold == kind && found->second.target == target) return found->second.sum;
  close_reduction(data.index);
  return nullptr;
}

void SequenceCore::open_reduction(const Access& data, Fold kind, const void* target, std::shared_ptr<void> sum) {
  reductions_.insert_or_assign(data.index, OpenReduction{kind, target, std::move(sum), ++opened_});
}

void SequenceCore::keep(const Access& data, const std::shared_ptr<void>& sum) {
  if (!reductions_.contains(data.index)) dropped_sums_.push_back(sum);
}

void SequenceCore::close_used(std::span<const Access> accesses, const Access* also) {
  for (const Access& access : accesses) close_overlapping(access.index, true);
  if (also != nullptr && also->mode != Mode::reduce) close_overlapping(also->index, true);
}

/// Gives the task that adds the parts. If there is no memory, the sum stays open.
void SequenceCore::close_reduction(std::uint32_t index) {
  std::vector<Access> accesses{{(*registry_)[index].id, index, Mode::read_write}};
  for (const Access& part : reductions_.at(index).parts) accesses.push_back({part.id, part.index, Mode::read});
  std::string name = "sum of " + (*registry_)[index].name;
  auto node = reductions_.extract(index);  // or `begin` would close it
  const auto drop = [&]() noexcept {       // tasks may still write its parts
    surely([&] { dropped_sums_.push_back(node.mapped().sum); });
    for (const Access& part : node.mapped().parts) registry_->release(part.index);
  };
  const std::uint64_t drops = drops_;
  try {
    TaskFunction& place = begin(accesses, nullptr, {.name = std::move(name)});
    if (dropped_since(drops)) return drop();
    place.emplace([sum = node.mapped().sum, fold = node.mapped().fold] { fold(sum.get()); });
    end();
  } catch (const std::bad_alloc&) {
    dropped_since(drops) ? drop() : static_cast<void>(reductions_.insert(std::move(node)));
    throw;
  } catch (...) {
    drop();
    throw;
  }
  for (const Access& part : node.mapped().parts) registry_->release(part.index);
}

template <typename Chosen>
void SequenceCore::close_if(const Chosen& chosen) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> found;
  for (const auto& [index, one] : reductions_)
    if (chosen(index)) found.emplace_back(one.opened, index);
  std::ranges::sort(found);
  for (const auto& [opened, index] : found)
    if (reductions_.contains(index)) close_reduction(index);
}

void SequenceCore::close_overlapping(std::uint32_t index, bool itself) {
  const auto& overlaps = (*registry_)[index].overlaps;
  close_if([&](std::uint32_t other) {
    return (itself && other == index) || std::ranges::find(overlaps, other) != overlaps.end();
  });
}

void SequenceCore::close_reductions() {
  close_if([](std::uint32_t) { return true; });
}

// -- waits

void SequenceCore::check_not_recording(const char* what) const {
  if (recording_ && automatic_ == 0)
    throw_usage({name_, ": ", what, " in a loop or a trace, where tasks are given only"});
}

void SequenceCore::wait_until(const std::function<bool()>& done) {
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

void SequenceCore::wait_for_room() {
  // A quarter of the places at a time: each wait takes a while to begin and to end.
  const WindowTask& later = task_of(submitted_ + 1 + window_.size() / 4);
  wait_until([&] { return next_->ended() && later.ended(); });
}

void SequenceCore::wait_for_flow() {
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
    stop_launches();
    try {
      flow_.wait();  // for what these have queued, which `run` drops
    } catch (...) {
      if (!thrown) thrown = std::current_exception();  // a launch failed after the first wait
    }
    forget_all();
  }
  if (thrown) std::rethrow_exception(thrown);
}

void SequenceCore::drop_all_and_throw() {
  const std::exception_ptr why = std::current_exception();
  failed_.store(true);
  engine_.quietly([this] { wait_for_flow(); });
  std::rethrow_exception(why);
}

/// Ends the graphs that still run after a failure: they use the window, and what the user destroys next.
void SequenceCore::stop_launches() noexcept {
  const auto none = [this] { return launched_.load(std::memory_order_acquire) == 0; };
  if (none()) return;
  each_shape([](const Traced& one) {
    if (one.compiled) one.compiled->stop();
  });
  while (!none()) engine_.quietly([&] { runtime_.work_until(none); });  // it throws what others have failed with
}

bool SequenceCore::all_ended() noexcept {
  while (oldest_ <= submitted_ && has_ended(oldest_)) ++oldest_;
  return oldest_ > submitted_;
}

void SequenceCore::forget_all() noexcept {
  for (WindowTask& node : window_) node.drop();
  for (auto& [index, lock] : locks_) lock.clear();
  dependences_.clear();
  if (automatic_ != 0) discard_body();
  if (!recording_) reductions_.clear();  // else they are its own
  dropped_sums_.clear();
  ++drops_;
  in_bodies_.store(0, std::memory_order_relaxed);
  if (ranks_) {
    ranks_->forget();
    each_shape([](Traced& one) { one.compiled.reset(); });  // what failed across ranks is not launched again
  }
  failed_.store(false);
}

void SequenceCore::wait() {
  check_no_task();
  check_not_recording("a wait");
  if (failed_.load(std::memory_order_relaxed)) wait_for_flow();  // what is open is dropped, and not added
  close_reductions();
  end_automatic(true);
  if (ranks_) ranks_->compare();
  wait_for_flow();
  wait_until([this] { return all_ended(); });  // the flow does not know of tasks that wait for a launch
  dropped_sums_.clear();
}

void SequenceCore::wait(const Access& data) {
  check_no_task();
  check_not_recording("a wait");
  if (!registry_->has(data)) throw_usage({name_, ": waits for data of another sequence, or of nothing"});
  if (failed_.load(std::memory_order_relaxed)) wait_for_flow();
  close_overlapping(data.index, true);
  end_automatic(true);
  accesses_ = {data};
  if (ranks_) ranks_->note(*registry_, accesses_, 0), ranks_->compare();
  for (int rank = 0; ranks_ && rank < ranks_->ranks(); ++rank) {
    give(ranks_->enter(*registry_, accesses_, {rank, "that waits"}), owners());
  }
  wait_until([&] {
    bool all = true;
    dependences_.each_last(data.index, [&](std::uint64_t number) { all = all && has_ended(number); });
    return all;
  });
}

}  // namespace taskgrain::rt::detail
