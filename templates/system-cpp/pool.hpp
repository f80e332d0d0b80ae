#pragma once

/// Stands for your runtime: threads that take tasks from one queue. Replace it.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <latch>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "taskgrain/binding.hpp"

class Pool {
 public:
  using Task = std::function<void(int thread)>;

  /// One thread on each processor.
  explicit Pool(const std::vector<int>& processors) : binding_(processors.size()) {
    std::latch bound(static_cast<std::ptrdiff_t>(processors.size()));
    for (std::size_t k = 0; k < processors.size(); ++k)
      threads_.emplace_back([this, &bound, k, processor = processors[k]] {
        taskgrain::pin_this_thread(processor);
        binding_[k] = taskgrain::binding_of_this_thread();
        bound.count_down();
        serve(static_cast<int>(k));
      });
    bound.wait();
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    ready_.notify_all();
  }

  int threads() const { return static_cast<int>(threads_.size()); }
  const std::vector<std::vector<int>>& binding() const { return binding_; }

  /// From any thread, those of the pool too.
  void submit(Task task) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push(std::move(task));
      ++unfinished_;
    }
    ready_.notify_one();
  }
  /// Until all tasks are done, also those that tasks have submitted.
  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return unfinished_ == 0; });
  }

 private:
  void serve(int thread) {
    std::unique_lock lock(mutex_);
    for (;;) {
      ready_.wait(lock, [&] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const Task task = std::move(queue_.front());
      queue_.pop();
      lock.unlock();
      task(thread);
      lock.lock();
      if (--unfinished_ == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_, done_;
  std::queue<Task> queue_;
  std::int64_t unfinished_ = 0;
  bool ending_ = false;
  std::vector<std::vector<int>> binding_;  // [k] written by thread k
  std::vector<std::jthread> threads_;      // last, so that they end first
};
