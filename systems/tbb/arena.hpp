#pragma once

/// The threads of oneTBB, each bound to the processor of its slot.

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "taskgrain/binding.hpp"

namespace taskgrain {

inline std::size_t slot() { return static_cast<std::size_t>(tbb::this_task_arena::current_thread_index()); }

/// Binds each thread that enters the arena to the processor of its slot.
class Pin final : public tbb::task_scheduler_observer {
 public:
  Pin(tbb::task_arena& arena, std::vector<int> processors)
      : task_scheduler_observer(arena), processors_(std::move(processors)), binding_(processors_.size()) {
    observe(true);
  }
  ~Pin() override { observe(false); }

  void on_scheduler_entry(bool) override {
    pin_this_thread(processors_[slot()]);
    std::vector<int> bound = binding_of_this_thread();
    const std::lock_guard lock(mutex_);  // a thread may come late, while the binding is asked for
    const bool first = binding_[slot()].empty();
    binding_[slot()] = std::move(bound);
    if (first) seen_.fetch_add(1, std::memory_order_release);
  }
  std::size_t seen() const { return seen_.load(std::memory_order_acquire); }
  std::vector<std::vector<int>> binding() const {
    const std::lock_guard lock(mutex_);
    return binding_;
  }

 private:
  const std::vector<int> processors_;
  mutable std::mutex mutex_;
  std::vector<std::vector<int>> binding_;  // [slot]
  std::atomic<std::size_t> seen_{0};       // slots that somebody was in
};

struct Arena {
  const std::vector<int> processors = cores();
  tbb::global_control most_threads{tbb::global_control::max_allowed_parallelism, processors.size()};
  tbb::task_arena arena{static_cast<int>(processors.size())};
  Pin pin{arena, processors};

  Arena() {
    // What cannot be bound is said here: an observer must not throw.
    std::async(std::launch::async, [this] { std::ranges::for_each(processors, pin_this_thread); }).get();
    // The library gives threads to whom has work, so all of the arena are seen only when there is work for all.
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    arena.execute([&] {
      tbb::parallel_for(
          0, static_cast<int>(processors.size()),
          [&](int) {
            while (pin.seen() < processors.size() && std::chrono::steady_clock::now() < give_up)
              std::this_thread::yield();
          },
          tbb::simple_partitioner());
    });
  }
};

}  // namespace taskgrain
