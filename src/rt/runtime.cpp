#include "taskgrain/rt/runtime.hpp"

#include <memory>
#include <utility>

#include "taskgrain/rt/combinable.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/taskflow.hpp"

namespace taskgrain::rt {

detail::Engine& detail::engine_of(Runtime& runtime) noexcept { return *runtime.engine_; }

std::size_t detail::worker_here(Runtime& runtime) {
  const Engine& engine = engine_of(runtime);
  if (const Worker* const here = engine.here()) return static_cast<std::size_t>(here->index());
  if (engine.takes_messages()) return static_cast<std::size_t>(engine.workers());
  throw UsageError("a Combinable has values for the workers of its runtime, and this thread is none");
}

Runtime::Runtime(RuntimeOptions options)
    : engine_(new detail::Engine(std::move(options))), options_(engine_->options()) {}

// Waits here, while engine_ lives: a task of this last wait may still hold the runtime or make a flow.
Runtime::~Runtime() {
  if (engine_->made_in().of_parent() || engine_->made_in().in_task()) {
    detail::leave_alive(std::unique_ptr<detail::Engine>(engine_));
    return;
  }
  engine_->waiting().finish();
  delete engine_;
}

void Runtime::wait() { engine_->waiting().wait(); }

void Runtime::wait(const Event& event) { engine_->waiting().wait(event); }

void Runtime::work_until(const std::function<bool()>& done) { engine_->waiting().work_until(done); }

void Runtime::call_on_each_worker(const std::function<void(int worker)>& body) {
  engine_->made_in().check_no_task();
  Taskflow<int> each(*this, "worker");
  each.indegree([](int) { return 1; })
      .worker([](int worker) { return worker; })
      .bound([](int) { return true; })
      .run(std::cref(body));
  for (int worker = 0; worker < workers(); ++worker) each.fulfill(worker);
  each.wait();
}

void Runtime::notify() noexcept {
  const detail::Engine::ExternalThread inside(*engine_);  // what it tells may let the runtime end
  engine_->notify();
}

void Runtime::join() { engine_->waiting().join(); }

void Runtime::start() { engine_->waiting().start(); }

Runtime::Hold::Hold(Runtime& runtime) noexcept : engine_(runtime.engine_) { engine_->hold(); }

Runtime::Hold::Hold(detail::Engine& engine, std::shared_ptr<detail::Handler> of) noexcept
    : engine_(&engine), of_(std::move(of)) {
  engine_->hold(*of_);
}

Runtime::Hold::~Hold() {
  if (engine_ == nullptr) return;
  of_ != nullptr ? engine_->release(*of_) : engine_->release();
}

}  // namespace taskgrain::rt
