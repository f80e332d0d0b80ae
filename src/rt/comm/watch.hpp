#pragma once

/// Notices that other ranks of the host have ended, also those that could say nothing.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "comm/memory_file.hpp"
#include "comm/segment.hpp"

namespace taskgrain::rt::detail {

/// A thread of its own, which sleeps until a process ends. Now and then it also looks at what the blocks say, and
/// whether a process is stopped.
class Watch {
 public:
  /// Called by the thread, once for each rank that is lost; it does not throw. A rank that has left is not lost.
  using Lost = std::function<void(int rank, const std::string& why)>;

  /// How it learns that a process has ended.
  enum class By {
    handle,  ///< from the kernel at once; where that refuses, as below
    number,  ///< when it looks
  };

  /// \param segment  lives longer
  /// \throws std::system_error
  Watch(const Segment& segment, Lost lost, By by = By::handle,
        std::chrono::milliseconds between_looks = std::chrono::milliseconds(500));
  /// \pre not in the function `lost`
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  /// What the thread knows of another rank.
  struct Other {
    int rank;
    bool watched = false;  ///< its process has been looked for
    FileDescriptor handle{};
    bool ended = false;                   ///< its process
    Clock::time_point wait_for_reason{};  ///< until then, if it has ended
    int stopped = 0;                      ///< looks in a row that found it stopped, and none of its own in between
    std::uint32_t looks = 0;              ///< RankBlock::looks, when this rank last looked
    bool lost = false;
  };

  void watch();
  bool sees_process(const Other& other) const;
  /// Until a process ends, or something is to be looked at. \returns whether to go on
  bool sleep();
  void look_at(Other& other);
  /// Begins to watch its process. The rank has attached.
  void begin(Other& other) const;
  bool process_is_there(const Other& other) const;
  void note_end(Other& other) const;
  bool stays_stopped(Other& other) const;
  void lose(Other& other, const std::string& otherwise);

  const Segment& segment_;
  const Lost lost_;
  const By by_;
  const std::chrono::milliseconds between_looks_;
  const std::uint64_t namespace_;
  const FileDescriptor stop_;  ///< the destructor writes it
  std::vector<Other> others_;
  Clock::time_point next_look_{};
  bool look_ = true;  ///< the time for it has come
  std::thread thread_;
};

}  // namespace taskgrain::rt::detail
