#pragma once

/// Pinned threads that start together and are joined by spinning: the caller is the first of them.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "taskgrain/binding.hpp"

inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Team {
 public:
  explicit Team(std::vector<int> processors) : processors_(std::move(processors)) {
    taskgrain::pin_this_process(processors_);  // says what cannot be bound: a thread must not throw
    for (int core = 1; core < size(); ++core) threads_.emplace_back([this, core] { serve(core); });
    taskgrain::pin_this_thread(processors_[0]);
  }
  ~Team() {
    job_ = nullptr;
    release();
  }

  int size() const { return static_cast<int>(processors_.size()); }

  /// Calls `job(core)` once on every core and returns when all are done.
  void run(const std::function<void(int core)>& job) {
    job_ = &job;
    running_.store(size() - 1, std::memory_order_relaxed);
    release();
    job(0);
    while (running_.load(std::memory_order_acquire) != 0) spin_pause();
  }

 private:
  static constexpr auto patience = std::chrono::milliseconds(5);  // before an idle thread sleeps

  void release() {
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
  }

  void serve(int core) {
    taskgrain::pin_this_thread(processors_[static_cast<std::size_t>(core)]);
    for (std::uint32_t seen = 0;; ++seen) {
      const auto give_up = std::chrono::steady_clock::now() + patience;
      while (generation_.load(std::memory_order_acquire) == seen)
        if (std::chrono::steady_clock::now() > give_up) generation_.wait(seen, std::memory_order_acquire);
      if (job_ == nullptr) return;
      (*job_)(core);
      running_.fetch_sub(1, std::memory_order_release);
    }
  }

  std::vector<int> processors_;
  // Written by the caller between runs; generation_ publishes it.
  const std::function<void(int)>* job_ = nullptr;
  alignas(128) std::atomic<std::uint32_t> generation_{0};
  alignas(128) std::atomic<int> running_{0};  // threads, but for the caller, that are not done
  std::vector<std::jthread> threads_;
};
