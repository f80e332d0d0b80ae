/// MpiTransport: sending. mpi_transport.cpp receives and polls.

#include <algorithm>
#include <cassert>
#include <mutex>

#include "mpi_transport.hpp"

namespace taskgrain::rt::detail {
namespace {

/// MPI implementations send messages of this size eagerly, also to ranks that do not poll.
constexpr std::size_t most_reason_bytes = 2000;

}  // namespace

// -- by any thread

bool MpiTransport::append(Peer& peer, const PacketHeader& header, std::span<const std::byte> packet,
                          std::span<const std::byte> body) {
  if (peer.dropped) return false;
  bool full = false;
  const std::size_t needed = sizeof header + padded(packet.size()) + padded(body.size());
  assert(needed <= MpiMessage::capacity);
  if (peer.filling != nullptr && MpiMessage::capacity - peer.filling->used < needed) {
    peer.full.push_back(std::move(peer.filling));
    count_queued(number_of(peer), sizeof(MpiMessage));
    full = true;
  }
  if (peer.filling == nullptr) peer.filling = pool_.take();
  peer.filling->append(header, packet, body);
  mark_pending(peer);
  return full;
}

/// Pushes the peer to pending_peers_, so that the next poll starts its sends. \pre the peer's lock is held
void MpiTransport::mark_pending(Peer& peer) noexcept {
  if (peer.is_pending) return;
  peer.is_pending = true;
  peer.next_pending = pending_peers_.load(std::memory_order_relaxed);
  while (!pending_peers_.compare_exchange_weak(peer.next_pending, &peer, std::memory_order_release,
                                               std::memory_order_relaxed)) {
  }
}

void MpiTransport::send(int to, std::span<const std::byte> packet) {
  Peer& peer = peers_[static_cast<std::size_t>(to)];
  bool full;
  {
    const std::scoped_lock guard(peer.lock);
    full = append(peer, {static_cast<std::uint32_t>(packet.size()), PacketHeader::small, 0, 0}, packet);
  }
  if (full) send_soon(peer);
}

void MpiTransport::send_large(int to, std::span<const std::byte> head, std::span<const std::byte> body, void* token) {
  Peer& peer = peers_[static_cast<std::size_t>(to)];
  bool soon = true, reusable = true;
  {
    const std::scoped_lock guard(peer.lock);
    if (peer.dropped) {
      soon = false;
    } else if (body.size() <= most_bytes() && padded(head.size()) + padded(body.size()) <= most_bytes()) {
      soon = append(peer, {static_cast<std::uint32_t>(head.size()), PacketHeader::eager, 0, body.size()}, head, body);
    } else {
      reusable = false;
      if (peer.bodies.empty()) {
        peer.bodies.resize(most_bodies);
        peer.free_tags.resize(most_bodies);
        for (std::uint16_t k = 0; k < most_bodies; ++k) peer.free_tags[k] = static_cast<std::uint16_t>(most_bodies - k);
      }
      if (peer.free_tags.empty()) {
        peer.waiting.push_back({{head.begin(), head.end()}, body, token});
        count_queued(to, peer.waiting.back().memory());
      } else {
        const std::uint16_t tag = peer.free_tags.back();
        peer.free_tags.pop_back();
        announce(peer, tag, head, body, token);
      }
    }
  }
  if (reusable) report_reusable(token);
  if (soon) send_soon(peer);
}

/// \pre the peer's lock is held, and no body in flight to it has the tag
void MpiTransport::announce(Peer& peer, std::uint16_t tag, std::span<const std::byte> head,
                            std::span<const std::byte> body, void* token) {
  peer.bodies[tag - 1u] = {body, token, 0};
  peer.announced.push_back(tag);
  append(peer, {static_cast<std::uint32_t>(head.size()), PacketHeader::rendezvous, tag, body.size()}, head);
}

/// Sends full messages now if mpi_ is free; otherwise `anything` asks for a poll.
void MpiTransport::send_soon(Peer& peer) {
  if (may_poll() && mpi_.try_lock()) {
    const std::unique_lock guard(mpi_, std::adopt_lock);
    start_sends(peer, false);
  } else {
    poll_requested_.store(true, std::memory_order_relaxed);
  }
}

int MpiTransport::persistent_tags(int count) {
  const std::scoped_lock guard(mpi_);
  return persistent_.reserve_tags(count);
}

std::unique_ptr<PersistentMessage> MpiTransport::persistent(PersistentMessage::Plan plan) {
  const std::scoped_lock guard(mpi_);
  return persistent_.make(std::move(plan));
}

PersistentCounts MpiTransport::persistent_counts(int rank) noexcept {
  const std::scoped_lock guard(mpi_);
  return persistent_.counts(rank);
}

void MpiTransport::start_persistent() noexcept {
  if (may_poll() && mpi_.try_lock()) {
    const std::unique_lock guard(mpi_, std::adopt_lock);
    persistent_.start();
  } else {
    poll_requested_.store(true, std::memory_order_relaxed);
  }
}

void MpiTransport::report_reusable(void* token) {
  const std::scoped_lock guard(reports_lock_);
  reusable_.push_back(token);
  has_reports_.store(true, std::memory_order_relaxed);
}

/// \param rank  -1: it concerns no single rank
void MpiTransport::report_error(int rank, std::string why) {
  MpiLibrary::broken();
  const std::scoped_lock guard(reports_lock_);
  errors_.push_back({rank, std::move(why)});
  has_reports_.store(true, std::memory_order_relaxed);
}

bool MpiTransport::anything() const noexcept {
  return may_poll() &&
         (poll_requested_.load(std::memory_order_relaxed) || ticks() - next_poll_.load(std::memory_order_relaxed) >= 0);
}

void MpiTransport::announce_failure(const std::string& reason) noexcept {
  if (announced_failure_.exchange(true)) return;
  try {
    const auto text = std::as_bytes(std::span(reason)).first(std::min(reason.size(), most_reason_bytes));
    const PacketHeader header{static_cast<std::uint32_t>(text.size()), PacketHeader::failure_reason, 0, 0};
    if (!may_poll()) {
      for (Peer& peer : peers_) {
        const std::scoped_lock guard(peer.lock);
        if (number_of(peer) != rank_) append(peer, header, text);
      }
      poll_requested_.store(true, std::memory_order_relaxed);
      return;
    }
    // In messages of their own, which are sent before the messages that wait.
    const std::scoped_lock guard(mpi_);
    for (Peer& peer : peers_) {
      if (number_of(peer) == rank_ || peer.dropped) continue;
      std::unique_ptr<MpiMessage> message = pool_.take();
      message->append(header, text);
      send_message(peer, std::move(message));
    }
  } catch (...) {  // no memory: the other ranks notice the end of this process
  }
}

// -- under mpi_

/// Calls MPI_Isend for messages to a rank, and MPI_Issend for bodies that were announced in them.
/// \param all  also a message that is not full while another is in flight
void MpiTransport::start_sends(Peer& peer, bool all) {
  for (bool more = true; more;) {
    std::unique_ptr<MpiMessage> message;
    {
      const std::scoped_lock guard(peer.lock);
      if (peer.on_the_way < most_messages && !peer.full.empty()) {
        message = std::move(peer.full.front());
        peer.full.pop_front();
        count_sent(number_of(peer), sizeof *message);
      } else if (peer.on_the_way < most_messages && (all || peer.on_the_way == 0)) {
        message = std::move(peer.filling);
      }
      more = message != nullptr;
      if (!more) {
        if (peer.filling != nullptr || !peer.full.empty()) mark_pending(peer);
        tags_.clear();
        tags_.swap(peer.announced);
      }
    }
    if (more) send_message(peer, std::move(message));
  }
  for (const std::uint16_t tag : tags_) start_body(peer, tag);
}

void MpiTransport::send_message(Peer& peer, std::unique_ptr<MpiMessage> message) {
  const MpiMessage& sent = *message;
  start({Operation::message_sent, 0, number_of(peer), std::move(message), 0}, MPI_REQUEST_NULL);
  const int code = MPI_Isend(sent.bytes, static_cast<int>(sent.used), MPI_BYTE, number_of(peer), message_tag, comm_,
                             &requests_.back());
  if (code != MPI_SUCCESS) {
    operations_.pop_back();
    requests_.pop_back();
    return report_error(number_of(peer), mpi_error("MPI_Isend", code));
  }
  ++peer.on_the_way;
  ++peer.sent;
}

void MpiTransport::start_body(Peer& peer, std::uint16_t tag) {
  Body& body = peer.bodies[tag - 1u];
  body.pieces = static_cast<int>((body.bytes.size() + options_.piece_bytes - 1) / options_.piece_bytes);
  for (std::size_t at = 0; at < body.bytes.size(); at += options_.piece_bytes) {
    const auto piece = body.bytes.subspan(at, std::min(options_.piece_bytes, body.bytes.size() - at));
    MPI_Request request;
    const int code =
        MPI_Issend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, number_of(peer), tag, comm_, &request);
    if (code != MPI_SUCCESS) return report_error(number_of(peer), mpi_error("MPI_Issend", code));
    start({Operation::piece_sent, tag, number_of(peer), nullptr, 0}, request);
  }
}

void MpiTransport::start(Operation&& operation, MPI_Request request) {
  operations_.push_back(std::move(operation));
  requests_.push_back(request);
  make_room_for_results();
}

/// Makes room for the results of an MPI_Testsome of all requests.
void MpiTransport::make_room_for_results() {
  if (indices_.size() >= requests_.size()) return;
  indices_.resize(2 * requests_.size());
  statuses_.resize(2 * requests_.size());
}

void MpiTransport::sent_piece(Peer& peer, std::uint16_t tag) {
  Body& body = peer.bodies[tag - 1u];
  if (--body.pieces > 0) return;
  report_reusable(body.token);
  const std::scoped_lock guard(peer.lock);
  if (peer.waiting.empty()) {
    peer.free_tags.push_back(tag);
    return;
  }
  const WaitingBody next = std::move(peer.waiting.front());
  peer.waiting.pop_front();
  count_sent(number_of(peer), next.memory());
  announce(peer, tag, next.head, next.bytes, next.token);
}

/// The rank is lost: discards all that waits for it, and later sends to it.
void MpiTransport::drop(Peer& peer) {
  std::vector<void*> tokens;
  {
    const std::scoped_lock guard(peer.lock);
    peer.dropped = true;
    peer.filling.reset();
    peer.full.clear();
    for (const std::uint16_t tag : peer.announced) tokens.push_back(peer.bodies[tag - 1u].token);
    for (const WaitingBody& body : peer.waiting) tokens.push_back(body.token);
    peer.announced.clear();
    peer.waiting.clear();
  }
  for (void* token : tokens) report_reusable(token);
}

}  // namespace taskgrain::rt::detail
