#include "mpi_persistent.hpp"

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "mpi_library.hpp"

namespace taskgrain::rt::detail {

/// The PersistentMessage of the user. The Message itself lives until its requests are complete.
class MpiPersistentMessages::Handle final : public PersistentMessage {
 public:
  Handle(MpiPersistentMessages& of, Message& message)
      : PersistentMessage(message.plan.sends), of_(of), message_(message) {}
  /// The push is the last access: the polling thread may free the message after it.
  ~Handle() override { push(of_.closed_, &message_, &Message::next_closed); }

  void allow(std::int64_t messages) noexcept override {
    if (messages <= allowed()) return;
    message_.allowed.store(messages, std::memory_order_release);
    if (!message_.listed.exchange(true, std::memory_order_acq_rel))
      push(of_.allowed_, &message_, &Message::next_allowed);
  }
  std::int64_t allowed() const noexcept override { return message_.allowed.load(std::memory_order_relaxed); }
  const std::atomic<std::int64_t>& done() const noexcept override { return message_.done; }

 private:
  MpiPersistentMessages& of_;
  Message& message_;
};

MpiPersistentMessages::MpiPersistentMessages(MPI_Comm comm, int first, int most, std::size_t piece_bytes,
                                             std::function<void(int, const char*, int)> report_error)
    : comm_(comm), next_(first), most_(most), piece_bytes_(static_cast<std::int64_t>(piece_bytes)),
      report_error_(std::move(report_error)) {}

MpiPersistentMessages::~MpiPersistentMessages() {
  if (MpiLibrary::finalised()) return;
  for (auto& message : messages_) {
    const bool sends = message->plan.sends;
    for (std::int64_t k = message->complete; k < message->started && !sends; ++k) {
      MPI_Cancel(&message->request(k));
      MPI_Wait(&message->request(k), MPI_STATUS_IGNORE);
    }
    // MPI may read the slots of incomplete sends until MPI_Finalize, so their memory is leaked.
    if (sends && message->complete < message->started) new std::shared_ptr<void>(std::move(message->plan.memory));
    for (MPI_Request& request : message->requests)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
}

int MpiPersistentMessages::reserve_tags(int count) {
  if (count > most_ - next_ + 1)
    throw std::runtime_error("a compiled graph needs " + std::to_string(count) +
                             " tags of MPI for its edges, and of its " + std::to_string(most_) +
                             " (MPI_TAG_UB), earlier graphs have left " + std::to_string(most_ - next_ + 1) +
                             "; compile a graph once and launch it often");
  return std::exchange(next_, next_ + count);
}

std::unique_ptr<PersistentMessage> MpiPersistentMessages::make(PersistentMessage::Plan plan) {
  auto made = std::make_unique<Message>();
  made->plan = std::move(plan);
  const auto& [sends, rank, tag, slots, byte_count, stride, slot_count, memory, on_done] = made->plan;
  const auto bytes = static_cast<std::int64_t>(byte_count);
  made->pieces = std::max<std::int64_t>(1, (bytes + piece_bytes_ - 1) / piece_bytes_);
  made->requests.assign(static_cast<std::size_t>(made->pieces * slot_count), MPI_REQUEST_NULL);
  Message& message =
      *messages_.emplace_back(std::move(made));  // so the destructor frees its requests if a call below throws
  for (std::int64_t k = 0; k < message.pieces * slot_count; ++k) {
    const std::int64_t at = k % message.pieces * piece_bytes_;
    std::byte* const from = bytes == 0 ? nullptr : slots + k / message.pieces * static_cast<std::int64_t>(stride) + at;
    const auto count = static_cast<int>(std::min(piece_bytes_, bytes - at));
    if (sends)
      check_mpi("MPI_Send_init", MPI_Send_init(from, count, MPI_BYTE, rank, tag, comm_, &message.request(k)));
    else
      check_mpi("MPI_Recv_init", MPI_Recv_init(from, count, MPI_BYTE, rank, tag, comm_, &message.request(k)));
  }
  // Now, so that polls allocate nothing.
  ended_.reserve(messages_.size());
  active_.reserve(messages_.size());
  oldest_.reserve(messages_.size());
  done.reserve(most_tested);
  return std::make_unique<Handle>(*this, message);
}

void MpiPersistentMessages::start() {
  // closed_ before allowed_: a closed message is allowed no more, so after both were taken it is in neither list and
  // may be freed.
  Message* closed = closed_.exchange(nullptr, std::memory_order_acquire);
  for (; closed != nullptr; closed = closed->next_closed) ended_.push_back(closed);
  if (!any_allowed()) return;
  for (Message* next = allowed_.exchange(nullptr, std::memory_order_acquire); next != nullptr;) {
    Message& message = *next;
    next = message.next_allowed;
    message.listed.exchange(
        false, std::memory_order_acq_rel);  // before `start` reads `allowed`: a later `allow` pushes it again
    start(message);
  }
}

void MpiPersistentMessages::start(Message& message) {
  const std::int64_t allowed = message.allowed.load(std::memory_order_acquire) * message.pieces;
  const auto slots = static_cast<std::int64_t>(message.requests.size());
  // The requests of a slot may start again once all of its pieces are complete.
  const std::int64_t free = message.complete / message.pieces * message.pieces + slots;
  for (const std::int64_t end = std::min(allowed, free); message.started < end; ++message.started) {
    if (lost(message)) return;
    if (const int code = MPI_Start(&message.request(message.started)); code != MPI_SUCCESS)
      return report_error_(message.plan.rank, "MPI_Start", code);
  }
  if (message.tested || message.started == message.complete) return;
  message.tested = true;
  active_.push_back(&message);
  oldest_.push_back(message.request(message.complete));
}

void MpiPersistentMessages::free_ended() {
  const auto number = std::erase_if(ended_, [this](Message* message) {
    if (message->done.load(std::memory_order_relaxed) < message->allowed.load(std::memory_order_relaxed)) return false;
    for (MPI_Request& request : message->requests) MPI_Request_free(&request);
    message->requests.clear();
    count(*message, freed_[message->plan.rank]);
    return true;
  });
  if (number > 0) std::erase_if(messages_, [](const auto& message) { return message->requests.empty(); });
}

void MpiPersistentMessages::count(const Message& message, PersistentCounts& counts) noexcept {
  (message.plan.sends ? counts.sends_allowed : counts.receives_allowed) +=
      static_cast<std::uint64_t>(message.allowed.load());
  (message.plan.sends ? counts.sends_done : counts.receives_done) += static_cast<std::uint64_t>(message.done.load());
}

PersistentCounts MpiPersistentMessages::counts(int rank) const noexcept {
  const auto found = freed_.find(rank);
  PersistentCounts counts = found == freed_.end() ? PersistentCounts() : found->second;
  for (const auto& message : messages_)
    if (message->plan.rank == rank) count(*message, counts);
  return counts;
}

bool MpiPersistentMessages::all_sent() const noexcept {
  return std::ranges::all_of(messages_, [this](const auto& message) {
    return !message->plan.sends || message->started >= message->allowed.load() * message->pieces || lost(*message);
  });
}

std::span<const MPI_Request> MpiPersistentMessages::to_test() noexcept {
  first_tested_ = end_tested_ < oldest_.size() ? end_tested_ : 0;
  end_tested_ = first_tested_ + std::min(most_tested, oldest_.size() - first_tested_);
  return std::span(oldest_).subspan(first_tested_, end_tested_ - first_tested_);
}

void MpiPersistentMessages::complete(std::size_t tested, int code) {
  const std::size_t at = first_tested_ + tested;
  Message& message = *active_[at];
  if (code != MPI_SUCCESS) report_error_(message.plan.rank, message.plan.sends ? "MPI_Send" : "MPI_Recv", code);
  if (++message.complete % message.pieces == 0 && code == MPI_SUCCESS) {
    message.done.store(message.complete / message.pieces, std::memory_order_release);
    done.push_back(&message.plan);
  }
  start(message);
  if (message.complete < message.started)
    oldest_[at] = message.request(message.complete);
  else
    message.tested = false;
}

void MpiPersistentMessages::end_test() noexcept {
  for (std::size_t at = end_tested_; at-- > first_tested_;)
    if (!active_[at]->tested) {
      active_[at] = std::exchange(active_.back(), nullptr);
      oldest_[at] = oldest_.back();
      active_.pop_back();
      oldest_.pop_back();
    }
}

}  // namespace taskgrain::rt::detail
