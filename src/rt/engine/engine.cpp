#include "taskgrain/rt/detail/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "engine/cgroups.hpp"
#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/cores.hpp"
#include "taskgrain/rt/detail/forks.hpp"
#include "taskgrain/rt/detail/surely.hpp"
#include "taskgrain/rt/detail/trace.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

namespace {

constexpr int most_workers = 4096;

/// A processor for each worker: the first of each core, then the second of each, …, then the same again.
std::vector<int> processors_for(int workers, const std::vector<std::vector<int>>& cores) {
  std::size_t most = 0;
  for (const auto& core : cores) most = std::max(most, core.size());
  std::vector<int> all;
  for (std::size_t turn = 0; turn < most; ++turn)
    for (const auto& core : cores)
      if (turn < core.size()) all.push_back(core[turn]);
  std::vector<int> processors;
  const auto number = static_cast<std::size_t>(workers == 0 ? workers_for(cores.size(), cpu_quota()) : workers);
  while (processors.size() < number) processors.push_back(all[processors.size() % all.size()]);
  return processors;
}

/// Checks the options and sets what was left open.
RuntimeOptions complete(RuntimeOptions options) {
  const auto check_number = [](const char* field, auto number) {
    if (std::cmp_less(number, 0) || std::cmp_greater(number, most_workers))
      throw UsageError(std::string(field) + std::to_string(number) + ", allowed are 0 to " +
                       std::to_string(most_workers));
  };
  check_number("workers is ", options.workers);
  check_number("the number of cores is ", options.cores.size());
  if (options.spin.count() < 0)
    throw UsageError("spin is " + std::to_string(options.spin.count()) + " ns, allowed are 0 and more");
  const auto least_stack = static_cast<std::size_t>(std::max(0L, sysconf(_SC_THREAD_STACK_MIN)));
  if (options.stack_bytes != 0 && options.stack_bytes < least_stack)
    throw UsageError("stack_bytes is " + std::to_string(options.stack_bytes) + ", allowed are 0 and " +
                     std::to_string(least_stack) + " or more");
  if (options.cores.empty()) {
    const auto usable = usable_cores();
    options.cores = processors_for(options.workers, usable);
    // Another program would choose the same ones, while others are free.
    if (options.cores.size() < usable.size()) options.pin = false;
  }
  if (options.workers == 0) options.workers = static_cast<int>(options.cores.size());
  if (options.cores.size() != static_cast<std::size_t>(options.workers))
    throw UsageError("cores names " + std::to_string(options.cores.size()) + " processors for " +
                     std::to_string(options.workers) + " workers; name one for each, or leave workers at 0");
  if (options.communicator != nullptr && options.communicator->ranks() > 1 && !options.trace.empty()) {
    const std::filesystem::path file = options.trace;
    std::error_code unknown;
    const auto is = std::filesystem::status(file, unknown);
    const std::string rank = "-" + std::to_string(options.communicator->rank());
    if (file.has_filename() && (is_regular_file(is) || !exists(is)))  // not /dev/null, nor a folder
      options.trace = file.parent_path() / (file.stem().string() + rank + file.extension().string());
  }
  return options;
}

}  // namespace

Engine::Engine(RuntimeOptions options)
    : options_(complete(std::move(options))), completion_(options_.cores.size()),
      progress_(options_.communicator == nullptr ? nullptr : &options_.communicator->messages().progress_engine()),
      threads_(*this, options_.cores.size()), awake_(options_.cores.size()) {
  register_barriers();
  count_forks();
  const std::size_t number = options_.cores.size();
  if (!options_.trace.empty()) {
    trace_ = std::make_unique<Trace>(number);
    const Communicator* const ranks = options_.communicator;
    // A file that cannot be written is known before anything runs.
    trace_->keep(options_.trace, ranks == nullptr ? 0 : ranks->rank(), ranks == nullptr ? 1 : ranks->ranks());
  }
  for (std::size_t k = 0; k < number; ++k) {
    workers_.push_back(std::make_unique<Worker>(*this, static_cast<int>(k), static_cast<int>(number)));
    if (trace_) workers_[k]->trace_ = &trace_->lane(k);
  }
  for (const auto* handler : {&overflow_batches_, &mailbox_requests_, &future_tasks_})
    handlers_.numbered.add(**handler);
  const auto others = by_distance(options_.cores);
  for (std::size_t k = 0; k < number; ++k)
    for (const int other : others[k]) workers_[k]->victims_.push_back(workers_[static_cast<std::size_t>(other)].get());
  if (progress_ != nullptr) progress_->join(*this);
  try {
    threads_.start();
  } catch (...) {
    if (progress_ != nullptr) progress_->leave();
    throw;
  }
}

Engine::~Engine() {
  waiting_.finish();
  threads_.stop();
  if (progress_ != nullptr) progress_->leave();
  while (inside_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  for (const auto& handler : handlers_.all()) {
    handler->leave();
    handler->engine_ended_.store(true, std::memory_order_release);
  }
  try {
    if (trace_) trace_->write(options_.trace);
  } catch (const std::exception& error) {  // nobody waits any more
    std::fprintf(stderr, "taskgrain: %s\n", message_of(error));
  }
}

bool Engine::quiescent(const Handler* alone) noexcept {
  const auto of = [this](std::size_t w) -> const IdleState& { return workers_[w]->idle_state_; };
  return completion_.reached(of, outside_, [&] { return held(alone); });
}

// -- handlers

void Engine::fail(Handler& handler, const std::string& task) noexcept {
  if (handler.failed_.exchange(true, std::memory_order_acq_rel)) return;  // only the first failure counts
  failures_.report(handler, task);
  handler.stop(nullptr);
  const std::exception_ptr failure = failures_.of(handler);
  awaited_.fail(handler, failure);
  if (progress_ != nullptr) notify_ranks(failure);
  notify();
}

void Engine::notify_ranks(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const RankFailed&) {  // the other ranks know it
  } catch (...) {
    progress_->fail(surely([&] { return message_of_current() + waiting_here(); }).c_str());
  }
}

void Engine::stop(Handler& handler, const std::exception_ptr& why) noexcept {
  handler.stop(why);
  awaited_.fail(handler, why);
}

void Engine::cancel(Handler& handler) noexcept {
  stop(handler, surely([] { return std::make_exception_ptr(Cancelled("cancelled")); }));
  notify();
}

void Engine::set_when_done(Handler& handler, const Event& event) {
  awaited_.add(handler, event);
  notify();  // so that a current wait checks again
}

std::string Engine::waiting_here() const noexcept {
  constexpr std::size_t most = 3;
  try {
    const Worker* const worker = here();
    if (worker == nullptr) return {};
    std::vector<StuckTask> tasks;
    std::size_t number = 0;
    for (const auto& handler : handlers_.all()) number += handler->waiting(worker->index(), tasks, most);
    if (number == 0) return {};
    std::string text = "; on its worker " + std::to_string(worker->index()) + " " + std::to_string(number) +
                       (number == 1 ? " task waits: " : " tasks wait: ");
    for (std::size_t k = 0; k < tasks.size(); ++k) text += (k == 0 ? "" : ", ") + tasks[k].task;
    return text + (number > tasks.size() ? ", …" : "");
  } catch (const std::exception&) {  // no memory
    return {};
  }
}

// -- waits

void Engine::notify() noexcept {
  workers_[0]->wake();
  main_.notify_others();
}

void Engine::release() noexcept {
  const ExternalThread inside(*this);  // the waiting thread may destroy the engine as soon as the hold ends
  outside_.holds.fetch_sub(1, std::memory_order_release);
  notify();
}

void Engine::hold(Handler& one) noexcept {
  one.holds_.fetch_add(1, std::memory_order_relaxed);
  outside_.holds_of_flows.fetch_add(1, std::memory_order_relaxed);
}

void Engine::release(Handler& one) noexcept {
  const ExternalThread inside(*this);
  one.holds_.fetch_sub(1, std::memory_order_release);
  outside_.holds_of_flows.fetch_sub(1, std::memory_order_release);
  notify();
}

}  // namespace taskgrain::rt::detail
