#pragma once

/// A device for tests of asynchronous tasks: a thread that serves streams. What is submitted to a stream runs in the
/// order of the submissions, and after the events that it waits for; the head of one stream may pass that of another.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "taskgrain/rt/task_graph.hpp"

namespace taskgrain::rt {

class SimulatedDevice {
 public:
  using Event = std::shared_ptr<bool>;  ///< whether it has happened; under the mutex of the device

  explicit SimulatedDevice(std::size_t streams) : streams_(streams), thread_([this] { serve(); }) {}
  /// Does first what was submitted.
  ~SimulatedDevice() {
    resume();
    {
      const std::lock_guard lock(mutex_);
      end_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  SimulatedDevice(const SimulatedDevice&) = delete;
  SimulatedDevice& operator=(const SimulatedDevice&) = delete;

  /// Gives work to a stream and returns at once.
  /// \param done  is called by the device when the work is done
  Event submit(std::size_t stream, std::span<const Event> after, std::function<void()> work, Done done) {
    Job job{std::make_shared<bool>(false), {after.begin(), after.end()}, std::move(work), std::move(done)};
    Event event = job.event;
    {
      const std::lock_guard lock(mutex_);
      ++submitted_;
      streams_.at(stream).push_back(std::move(job));
    }
    changed_.notify_one();
    return event;
  }

  /// From now on it takes submissions and does nothing.
  void pause() {
    const std::lock_guard lock(mutex_);
    paused_ = true;
  }
  void resume() {
    {
      const std::lock_guard lock(mutex_);
      paused_ = false;
    }
    changed_.notify_one();
  }
  std::size_t submitted() const {
    const std::lock_guard lock(mutex_);
    return submitted_;
  }

 private:
  struct Job {
    Event event;
    std::vector<Event> after;
    std::function<void()> work;
    Done done;
  };

  std::deque<Job>* runnable() {
    if (paused_) return nullptr;
    for (std::size_t k = 0; k < streams_.size(); ++k) {
      auto& stream = streams_[++turn_ % streams_.size()];
      if (stream.empty()) continue;
      bool all = true;
      for (const Event& event : stream.front().after) all = all && *event;
      if (all) return &stream;
    }
    return nullptr;
  }
  bool idle() const {
    for (const auto& stream : streams_)
      if (!stream.empty()) return false;
    return true;
  }
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      std::deque<Job>* stream = runnable();
      if (stream == nullptr) {
        if (end_ && idle()) return;
        changed_.wait(lock);
        continue;
      }
      Job job = std::move(stream->front());
      stream->pop_front();
      lock.unlock();
      job.work();
      lock.lock();
      *job.event = true;
      lock.unlock();
      job.done();
      kept_.push_back(std::move(job.done));  // that it was called is what counts, not that it is gone
      lock.lock();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<Job>> streams_;
  std::vector<Done> kept_;
  std::size_t submitted_ = 0, turn_ = 0;
  bool paused_ = false, end_ = false;
  std::thread thread_;
};

}  // namespace taskgrain::rt
