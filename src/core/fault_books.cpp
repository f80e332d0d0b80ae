#include "fault_books.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

constexpr std::size_t head_bytes = 256;

void kill_process(const Fault&, std::int64_t) {
  ::kill(getpid(), SIGKILL);
  for (;;) pause();  // until the signal has come
}

void fail(const Fault& fault, std::int64_t number) {
  throw std::runtime_error("the fault that the run was asked for: task (" + std::to_string(fault.step) + ", " +
                           std::to_string(fault.point) + ") fails, time " + std::to_string(number) + " of " +
                           std::to_string(fault.times));
}

struct Kind {
  std::string_view name;
  void (*strike)(const Fault& fault, std::int64_t number);
};
constexpr std::array kinds{Kind{"kill", kill_process}, Kind{"fail", fail}, Kind{"note", [](auto&, auto) {}}};

const Kind& kind_of(const Fault& fault) {
  std::string names;
  for (const Kind& kind : kinds) {
    if (kind.name == fault.kind) return kind;
    names.append(names.empty() ? "" : ", ").append(kind.name);
  }
  throw InvalidSpec("fault.kind", fault.kind, names);
}

/// Throws `InvalidSpec` unless the graphs have the task.
void check(const Fault& fault, std::span<const Graph> graphs) {
  const auto within = [](const char* field, std::int64_t value, std::int64_t first, std::int64_t last) {
    if (value < first || value > last)
      throw InvalidSpec(field, std::to_string(value), std::to_string(first) + " to " + std::to_string(last));
  };
  within("fault.graph", fault.graph, 0, std::ssize(graphs) - 1);
  const Graph& graph = graphs[static_cast<std::size_t>(fault.graph)];
  within("fault.step", fault.step, 0, graph.steps() - 1);
  const Interval points = graph.points(fault.step);
  within("fault.point", fault.point, points.first, points.last);
  if (fault.times < 1) throw InvalidSpec("fault.times", std::to_string(fault.times), "1 or more");
}

/// The whole file, made and filled with zeros by whoever comes first. Its room is taken at once: a disk that is full
/// is an error here, and no signal later.
void* mapped(const std::string& file, std::size_t bytes) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  bool sized = descriptor >= 0;
  if (sized) {
    errno = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
    sized = errno == 0;
  }
  void* const memory =
      sized ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;  // NOLINT
  const int why = errno;
  if (descriptor >= 0) close(descriptor);
  if (memory == MAP_FAILED) {
    const std::string reason = std::strerror(why);
    if (why == ENOSPC || why == EDQUOT || why == ENOMEM)
      throw Unsupported("fault: no room for its books in " + file + " (" + reason + ")");
    throw InvalidSpec("fault.file", file, "a file that can be made (" + reason + ")");
  }
  return memory;
}

}  // namespace

FaultBooks::FaultBooks(const Fault& fault, std::span<const Graph> graphs)
    : fault_(fault), strike_(kind_of(fault).strike) {
  static_assert(std::is_trivially_copyable_v<Violation> && sizeof(Head) <= head_bytes);
  static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);
  check(fault, graphs);
  std::int64_t tasks = 0;
  for (const Graph& graph : graphs) {
    if (graph.steps() > (most_tasks - tasks) / graph.width())
      throw Unsupported("fault: a run with a fault has at most " + std::to_string(most_tasks) + " tasks");
    first_.push_back(static_cast<std::size_t>(tasks));
    steps_.push_back(graph.steps());
    tasks += graph.steps() * graph.width();
  }
  bytes_ = head_bytes + static_cast<std::size_t>(tasks) * sizeof(Entry);
  auto* const memory = static_cast<std::byte*>(mapped(fault.file, bytes_));
  // Zeros are the beginning of all these.
  head_ = reinterpret_cast<Head*>(memory);
  entries_ = {reinterpret_cast<Entry*>(memory + head_bytes), static_cast<std::size_t>(tasks)};
}

FaultBooks::~FaultBooks() { munmap(head_, bytes_); }

FaultBooks::Entry& FaultBooks::entry(std::size_t graph, std::int64_t step, std::int64_t point) const noexcept {
  return entries_[first_[graph] + static_cast<std::size_t>(point * steps_[graph] + step)];
}

void FaultBooks::begin(std::size_t graph, std::int64_t step, std::int64_t point) {
  entry(graph, step, point).begun.fetch_add(1, std::memory_order_relaxed);
  if (std::cmp_not_equal(graph, fault_.graph) || step != fault_.step || point != fault_.point) return;
  std::int64_t before = head_->strikes.load();
  while (before < fault_.times)
    if (head_->strikes.compare_exchange_weak(before, before + 1)) return strike_(fault_, before + 1);
}

void FaultBooks::end(std::size_t graph, std::int64_t step, std::int64_t point) noexcept {
  entry(graph, step, point).ended.fetch_add(1, std::memory_order_release);
}

void FaultBooks::count(std::size_t graph, std::int64_t step, std::int64_t point) noexcept {
  entry(graph, step, point).begun.fetch_add(1, std::memory_order_relaxed);
  end(graph, step, point);
}

std::uint32_t FaultBooks::ended(std::size_t graph, std::int64_t step, std::int64_t point) const noexcept {
  return entry(graph, step, point).ended.load(std::memory_order_acquire);
}

std::int64_t FaultBooks::begun() const noexcept {
  std::int64_t sum = 0;
  for (const Entry& one : entries_) sum += one.begun.load();
  return sum;
}

std::int64_t FaultBooks::strikes() const noexcept { return head_->strikes.load(); }

void FaultBooks::note(const Violation& violation) noexcept {
  int nobody = 0;
  if (!head_->notes.compare_exchange_strong(nobody, 1)) return;
  head_->violation = violation;
  head_->notes.store(2);
}

std::optional<Violation> FaultBooks::violation() const noexcept {
  if (head_->notes.load() != 2) return std::nullopt;
  return head_->violation;
}

}  // namespace taskgrain
