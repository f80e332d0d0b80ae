#pragma once

/// PaRSEC's context: a thread on each core that the process is given, the first of them the process's own.

#include <parsec.h>
#include <parsec/execution_stream.h>
#include <parsec/interfaces/dtd/insert_function.h>
#include <parsec/mca/device/device.h>
#include <sched.h>
#include <stdlib.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "taskgrain/driver.hpp"

class ParsecContext {
 public:
  /// PaRSEC's thread for messages, if there are other ranks, runs on any of the processors.
  explicit ParsecContext(const std::vector<int>& processors) : processors_(processors) {
    // What cannot be bound is said here: a task must not throw.
    taskgrain::pin_this_process(processors_);
    // Else its thread for messages takes one of these for its own, and never sleeps. Where PaRSEC binds which thread
    // is not said, so each binds itself once more.
    setenv("PARSEC_MCA_bind_threads", "1", 1);
    setenv("PARSEC_MCA_runtime_warn_slow_binding", "0", 1);
    context_ = parsec_init(cores(), nullptr, nullptr);
    if (context_ == nullptr) throw std::runtime_error("PaRSEC does not start");
    if (const int threads = parsec_context_query(context_, PARSEC_CONTEXT_QUERY_CORES); threads != cores())
      throw std::runtime_error("PaRSEC starts " + std::to_string(threads) +
                               " threads here, one for each core, and not " + std::to_string(cores()));
    parsec_taskpool_t* pool = parsec_dtd_taskpool_new();
    parsec_context_add_taskpool(context_, pool);
    parsec_context_start(context_);
    for (int k = 0; k < cores(); ++k)
      parsec_dtd_insert_task(pool, bind, 0, PARSEC_DEV_CPU, "bind", static_cast<int>(sizeof(this)), this, PARSEC_REF,
                             PARSEC_DTD_ARG_END);
    parsec_taskpool_wait(pool);
    parsec_context_wait(context_);
    parsec_taskpool_free(pool);
  }
  ~ParsecContext() { parsec_fini(&context_); }
  ParsecContext(const ParsecContext&) = delete;
  ParsecContext& operator=(const ParsecContext&) = delete;

  static std::string version() {
    int major = 0, minor = 0, release = 0;
    parsec_version(&major, &minor, &release);
    return "PaRSEC " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
  }
  int cores() const { return static_cast<int>(processors_.size()); }
  const std::vector<std::vector<int>>& binding() const { return binding_; }
  parsec_context_t* get() const { return context_; }

  /// Lets the threads look for tasks.
  void start() { parsec_context_start(context_); }
  /// Stops them: between runs they must not take cores from whatever else is measured.
  void rest() { parsec_context_wait(context_); }

 private:
  /// Each thread gets one of these tasks, because none of them ends before all have begun.
  static parsec_hook_return_t bind(parsec_execution_stream_t* stream, parsec_task_t* task) {
    ParsecContext* self = nullptr;
    parsec_dtd_unpack_args(task, &self);
    const auto k = static_cast<std::size_t>(stream->th_id);
    taskgrain::pin_this_thread(self->processors_[k]);
    self->binding_[k] = taskgrain::binding_of_this_thread();
    for (++self->bound_; self->bound_ < self->cores();) sched_yield();
    return PARSEC_HOOK_RETURN_DONE;
  }

  const std::vector<int> processors_;
  std::vector<std::vector<int>> binding_ = std::vector<std::vector<int>>(processors_.size());
  std::atomic<int> bound_{0};
  parsec_context_t* context_ = nullptr;
};

/// PaRSEC in one process.
class ParsecSystem : public taskgrain::System {
 public:
  std::string version() const override { return ParsecContext::version(); }
  int cores() const override { return context_.cores(); }
  std::vector<std::vector<int>> binding() override { return context_.binding(); }

  void barrier() override { context_.start(); }
  std::optional<taskgrain::Violation> gather(const taskgrain::Execution& run, taskgrain::Accounts& accounts) override {
    context_.rest();
    return System::gather(run, accounts);
  }

 protected:
  parsec_context_t* context() const { return context_.get(); }

 private:
  ParsecContext context_{taskgrain::cores()};
};
