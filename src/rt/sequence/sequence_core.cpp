#include "sequence/sequence_core.hpp"

#include <algorithm>
#include <utility>

#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/surely.hpp"

namespace taskgrain::rt::detail {

SequenceCore::SequenceCore(Runtime& runtime, Communicator* communicator, SequenceOptions&& options)
    : runtime_(runtime), engine_(engine_of(runtime)), name_(std::move(options.name)),
      ranks_(across_ranks(communicator, options)), submission_(name_, runtime.workers(), *registry_, reductions_,
                                                               window_, ranks_.get(), !runtime.options().trace.empty()),
      traces_(runtime, name_, registry_, submission_, window_, ranks_.get(), options),
      window_(runtime, name_, options.window, *registry_, *this) {}

std::unique_ptr<AcrossRanks> SequenceCore::across_ranks(Communicator* communicator,
                                                        const SequenceOptions& options) const {
  if (communicator == nullptr) return nullptr;
  if (options.automatic_traces > 0)
    throw_usage({name_, ": automatic_traces are of one rank; across ranks, use loop or trace"});
  if (runtime_.options().communicator != communicator)
    throw_usage({name_, ": the runtime has another communicator, or none"});
  return communicator->ranks() > 1 ? std::make_unique<AcrossRanks>(*communicator, name_) : nullptr;
}

SequenceCore::~SequenceCore() {
  if (window_.has_outlived_engine()) {  // which has waited for all that was given to it
    if (!reductions_.empty() || traces_.recording())
      Failures::print(
          surely([&] { return name_ + ": it ends after its runtime, and has dropped what it held back"; }).c_str());
    return;
  }
  engine_.failures().quietly([this] {
    if (window_.failed()) return;
    close_reductions();
    traces_.end_automatic(true);
  });
  window_.close();
  if (ranks_) ranks_->forget();
}

void SequenceCore::check_no_task() const {
  try {
    engine_.made_in().check_no_task();
  } catch (const UsageError&) {
    throw_usage({name_, ": a task calls it; only a thread outside gives tasks, makes data, and waits"});
  }
}

void SequenceCore::check_not_recording(const char* what) const {
  if (traces_.recording() && !traces_.is_automatic())
    throw_usage({name_, ": ", what, " in a loop or a trace, where tasks are given only"});
}

void SequenceCore::forget() noexcept {
  if (!traces_.recording() || traces_.is_automatic()) reductions_.clear();  // else they are the body's own
  reductions_.forget_dropped();
  if (ranks_) ranks_->forget();
  traces_.forget();
}

// -- data

std::uint32_t SequenceCore::add_data(std::span<const Region> regions, std::span<const Region> objects,
                                     const DataOptions& options, bool travels) {
  check_no_task();
  traces_.end_automatic(true);
  if (traces_.recording())
    throw_usage(
        {name_, ": data is made in a loop or a trace; make it before, as its tasks are to use the same each time"});
  const int workers = runtime_.workers();
  if (options.home < -1 || options.home >= workers)
    throw_usage({name_, ": data", options.name.empty() ? "" : " ", options.name, ": home is ",
                 std::to_string(options.home), ", allowed are 0 to ", std::to_string(workers - 1)});
  submission_.check_rank(options.name.empty() ? "data" : "data " + options.name, options.rank);
  submission_.reclaim();
  int home = options.home;
  if (home < 0) home = ranks_ && options.rank >= 0 && options.rank != ranks_->rank() ? 0 : submission_.next_home();
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

std::uint32_t SequenceCore::add_result(const std::shared_ptr<void>& owner, const Region& region, bool travels) {
  if (traces_.follows()) {  // a task with a result is another one each time
    check_no_task();
    traces_.follow_other();
  }
  const std::span<const Region> regions(&region, ranks_ ? 1 : 0);  // the task that writes it is the first to use it
  Recording& recording = traces_.recording();
  if (!recording) {
    const std::uint32_t index = add_data(regions, {}, {}, travels);
    if (ranks_) (*registry_)[index].owner = owner;
    return index;
  }
  const int home = static_cast<int>(recording.results()) % runtime_.workers();  // the same in each call
  const std::uint32_t index = registry_->add(regions, {}, home);
  auto& entry = (*registry_)[index];
  if (ranks_) entry.travels = travels, entry.number = ++made_, entry.owner = owner;
  recording.add_result(entry.id, region.begin);
  return index;
}

void SequenceCore::add_part(const Access& data, const std::shared_ptr<void>& owner, const Region& region,
                            bool travels) {
  if (!ranks_) return;
  const std::uint32_t index = add_result(owner, region, travels);
  reductions_.add_part(data.index, {(*registry_)[index].id, index, Mode::write});
}

// -- tasks

TaskFunction& SequenceCore::begin(std::span<const Access> accesses, const Access* also, TaskOptions&& options,
                                  const EventType* event) {
  check_no_task();
  if (window_.failed()) [[unlikely]]
    window_.wait_for_flow();
  if (!reductions_.empty()) {
    submission_.check(accesses, also, options);
    close_used(accesses, also);
  }
  if (traces_.follows()) {
    std::uint64_t task = mixed(reinterpret_cast<std::uintptr_t>(event), static_cast<std::uint64_t>(options.worker));
    for (const Access& access : accesses) task = mixed(task, 8 * access.id + static_cast<std::uint64_t>(access.mode));
    if (also != nullptr) task = mixed(task, 8 * also->id + static_cast<std::uint64_t>(also->mode));
    traces_.follow(task, reductions_.empty());
  }
  Recording& recording = traces_.recording();
  if (recording.expects()) {
    const bool plain = also == nullptr && reductions_.empty();
    if (TaskFunction* const place = recording.expected(accesses, plain, options, event)) return *place;
  }
  submission_.check(accesses, also, options);
  const Submission::Place place = submission_.place(also, options);
  if (!recording) return submission_.begin(place, std::move(options), event);
  if (ranks_) recording.add_owners(submission_.owners());
  return recording.add(submission_.accesses(), place.worker, place.rank, std::move(options), event);
}

void SequenceCore::end() {
  if (traces_.recording())
    traces_.end_task(reductions_.empty());
  else
    submission_.end();
}

// -- reductions

std::shared_ptr<void> SequenceCore::joined_reduction(const Access& data, Fold kind, const void* target) {
  check_no_task();
  if (!registry_->has(data)) throw_usage({name_, ": the data of a reduction is of another sequence, or of nothing"});
  if (window_.failed()) [[unlikely]]
    window_.wait_for_flow();  // before the sum is found or made, which it forgets
  const auto& entry = (*registry_)[data.index];
  const Region at{reinterpret_cast<std::uintptr_t>(target), 1, 1, 0};
  const auto has = [&](const Region& one) { return overlap(one, at); };
  const bool anywhere = (entry.regions.empty() && entry.objects.empty()) || (entry.token && !ranks_);
  if (!anywhere && std::ranges::none_of(entry.regions, has) && std::ranges::none_of(entry.objects, has))
    throw_usage({name_, ": a reduction adds to what ", submission_.name_of(data.index), " does not name"});
  close_overlapping(data.index, false);
  const OpenReductions::Reduction* const open = reductions_.find(data.index);
  if (open == nullptr) return nullptr;
  if (open->fold == kind && open->target == target) return open->sum;
  close_reduction(data.index);
  return nullptr;
}

void SequenceCore::open_reduction(const Access& data, Fold kind, const void* target, std::shared_ptr<void> sum) {
  reductions_.open(data.index, kind, target, std::move(sum));
}

void SequenceCore::keep(const Access& data, const std::shared_ptr<void>& sum) {
  if (!reductions_.contains(data.index)) reductions_.keep(sum);
}

void SequenceCore::close_used(std::span<const Access> accesses, const Access* also) {
  for (const Access& access : accesses) close_overlapping(access.index, true);
  if (also != nullptr && also->mode != Mode::reduce) close_overlapping(also->index, true);
}

/// Gives the task that adds the parts. If there is no memory, the sum stays open.
void SequenceCore::close_reduction(std::uint32_t index) {
  std::vector<Access> accesses{{(*registry_)[index].id, index, Mode::read_write}};
  for (const Access& part : reductions_.find(index)->parts) accesses.push_back({part.id, part.index, Mode::read});
  std::string name = "sum of " + (*registry_)[index].name;
  auto node = reductions_.extract(index);  // or `begin` would close it
  const auto drop = [&]() noexcept {       // tasks may still write its parts
    surely([&] { reductions_.keep(node.mapped().sum); });
    for (const Access& part : node.mapped().parts) registry_->release(part.index);
  };
  // Whether it was dropped since, with all else. A body that is recorded stays.
  const auto dropped = [&, drops = window_.drops()] { return window_.drops() != drops && !traces_.recording(); };
  try {
    TaskFunction& place = begin(accesses, nullptr, {.name = std::move(name)});
    if (dropped()) return drop();
    place.emplace([sum = node.mapped().sum, fold = node.mapped().fold] { fold(sum.get()); });
    end();
  } catch (const std::bad_alloc&) {
    dropped() ? drop() : reductions_.insert(std::move(node));
    throw;
  } catch (...) {
    drop();
    throw;
  }
  for (const Access& part : node.mapped().parts) registry_->release(part.index);
}

template <typename Chosen>
void SequenceCore::close_if(const Chosen& chosen) {
  for (const std::uint32_t index : reductions_.in_order(chosen))
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

// -- loops and traces

std::shared_ptr<Body> SequenceCore::record(const std::vector<Traced>& known, const std::function<void()>& body) {
  check_no_task();
  check_not_recording("a loop or a trace");
  close_reductions();
  traces_.end_automatic(true);
  submission_.reclaim();
  traces_.begin_body(known);
  try {
    body();
    traces_.recording().drop_unfinished();
    close_reductions();
    return traces_.end_body();
  } catch (...) {
    traces_.discard_body();
    reductions_.clear();  // its own
    if (ranks_) surely([this] { ranks_->note_thrown(); });
    throw;
  }
}

void SequenceCore::loop(std::int64_t iterations, const std::function<void()>& body, const std::string& name) {
  if (iterations < 0)
    throw_usage({name_, ": ", name, ": iterations is ", std::to_string(iterations), ", allowed are 0 and more"});
  const auto found = record(traces_.bodies().loops(), body);
  if (iterations > 0 && !found->tasks.empty()) traces_.loop(found, iterations, name);
}

void SequenceCore::trace(std::uint64_t id, const std::function<void()>& body, const std::string& name) {
  check_no_task();
  check_not_recording("a loop or a trace");
  if (ranks_) ranks_->note_trace(id);
  auto& shapes = traces_.bodies().of_trace(id);
  const auto found = record(shapes, body);
  if (!found->tasks.empty()) traces_.trace(shapes, found, name);
}

// -- waits

void SequenceCore::wait() {
  check_no_task();
  check_not_recording("a wait");
  if (window_.failed()) window_.wait_for_flow();  // what is open is dropped, and not added
  close_reductions();
  traces_.end_automatic(true);
  if (ranks_) ranks_->compare();
  window_.wait_for_flow();
  window_.wait_for_tasks();
  window_.note_wait();
  reductions_.forget_dropped();
}

void SequenceCore::wait(const Access& data) {
  check_no_task();
  check_not_recording("a wait");
  if (!registry_->has(data)) throw_usage({name_, ": waits for data of another sequence, or of nothing"});
  if (window_.failed()) window_.wait_for_flow();
  close_overlapping(data.index, true);
  traces_.end_automatic(true);
  submission_.share(data);
  window_.wait_for(data.index);
  window_.note_wait();
}

}  // namespace taskgrain::rt::detail
