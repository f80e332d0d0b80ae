#pragma once

/// Which worker a thread is.

#include <utility>

#include "taskgrain/rt/detail/worker.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt::detail {

/// Lets the calling thread be a worker, or none.
class CurrentWorkerScope {
 public:
  CurrentWorkerScope(Worker*& current, Worker* worker) : current_(current), before_(std::exchange(current, worker)) {
    show();
  }
  ~CurrentWorkerScope() {
    current_ = before_;
    show();
  }

 private:
  /// To users, who ask for `this_worker`.
  void show() const noexcept { worker_index = current_ == nullptr ? -1 : current_->index(); }

  Worker*& current_;
  Worker* before_;
};

}  // namespace taskgrain::rt::detail
