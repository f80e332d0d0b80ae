#include "mpi_transport.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "taskgrain/rt/detail/scope_exit.hpp"

namespace taskgrain::rt::detail {
namespace {

/// The time from a poll that finds nothing to the next, in durations of such a poll (`anything`).
constexpr std::int64_t idle_poll_factor = 8;

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check_mpi("MPI_Comm_rank", MPI_Comm_rank(comm, &rank));
  return rank;
}

/// The largest tag. MPI defines the attribute for MPI_COMM_WORLD only.
int most_tag() {
  void* most = nullptr;
  int known = 0;
  check_mpi("MPI_Comm_get_attr", MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&most), &known));
  return known != 0 ? *static_cast<int*>(most) : 32767;
}

}  // namespace

int ranks_in(MPI_Comm comm) {
  int ranks = 0;
  check_mpi("MPI_Comm_size", MPI_Comm_size(comm, &ranks));
  return ranks;
}

MpiTransport::MpiTransport(MPI_Comm ranks, MpiTransportOptions options)
    : comm_(ranks), options_(options), any_thread_(library_.thread_level() >= MPI_THREAD_MULTIPLE),
      main_thread_(std::this_thread::get_id()), rank_(rank_in(comm_)), ranks_(ranks_in(comm_)),
      peers_(static_cast<std::size_t>(ranks_)),
      persistent_(comm_, most_bodies + 1, options.most_tag == 0 ? most_tag() : options.most_tag, options.piece_bytes,
                  [this](int rank, const char* call, int code) { report_error(rank, mpi_error(call, code)); }),
      buffers_(static_cast<std::size_t>(options.receives)) {
  const std::size_t receives = buffers_.size();
  requests_.assign(receives, MPI_REQUEST_NULL);
  indices_.resize(receives);
  statuses_.resize(receives);
  for (std::size_t k = 0; k < receives; ++k)
    check_mpi("MPI_Recv_init", MPI_Recv_init(buffers_[k].bytes, static_cast<int>(MpiMessage::capacity), MPI_BYTE,
                                             MPI_ANY_SOURCE, message_tag, comm_, &requests_[k]));
  check_mpi("MPI_Startall", MPI_Startall(options.receives, requests_.data()));
}

MpiTransport::~MpiTransport() {
  if (MpiLibrary::finalised()) return;
  const auto cancel = [](MPI_Request& request) {
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  };
  const auto receives = buffers_.size();
  for (std::size_t k = 0; k < receives; ++k) cancel(requests_[k]);
  for (std::size_t k = 0; k < operations_.size(); ++k) {
    MPI_Request& request = requests_[receives + k];
    if (operations_[k].type == Operation::piece_received)
      cancel(request);
    else
      MPI_Request_free(&request);
    // MPI may read the buffers of incomplete sends until MPI_Finalize, so they are leaked.
    static_cast<void>(operations_[k].message.release());
  }
}

// -- under mpi_

void MpiTransport::restart(int receive) {
  const int code = MPI_Start(&requests_[static_cast<std::size_t>(receive)]);
  if (code != MPI_SUCCESS) report_error(-1, mpi_error("MPI_Start", code));
}

/// Calls MPI_Testsome for receives, operations and persistent messages. \returns whether any was complete
bool MpiTransport::test() {
  const std::size_t own = requests_.size();
  // As copies: MPI does not change the handle of a persistent request.
  const std::span<const MPI_Request> persistent = persistent_.to_test();
  requests_.insert(requests_.end(), persistent.begin(), persistent.end());
  make_room_for_results();
  int number = 0;
  const int code =
      MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &number, indices_.data(), statuses_.data());
  requests_.resize(own);
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
    report_error(-1, mpi_error("MPI_Testsome", code));
    return false;
  }
  if (number == 0 || number == MPI_UNDEFINED) return false;

  bool finished = false;
  for (std::size_t k = 0; k < static_cast<std::size_t>(number); ++k) {
    MPI_Status& status = statuses_[k];
    const int error = code == MPI_ERR_IN_STATUS ? status.MPI_ERROR : MPI_SUCCESS;
    const auto index = static_cast<std::size_t>(indices_[k]);
    if (error == MPI_ERR_PENDING) continue;
    if (index >= own) {
      persistent_.complete(index - own, error);
    } else if (index >= buffers_.size()) {
      requests_[index] = MPI_REQUEST_NULL;
      finish(operations_[index - buffers_.size()], error);
      finished = true;
    } else if (error != MPI_SUCCESS) {
      report_error(-1, mpi_error("MPI_Recv", error));
    } else {
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      arrivals_.push_back({indices_[k], status.MPI_SOURCE, static_cast<std::size_t>(bytes)});
    }
  }
  persistent_.end_test();
  if (!finished) return true;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < operations_.size(); ++k)
    if (const MPI_Request request = requests_[buffers_.size() + k]; request != MPI_REQUEST_NULL) {
      operations_[kept] = std::move(operations_[k]);
      requests_[buffers_.size() + kept++] = request;
    }
  operations_.resize(kept);
  requests_.resize(buffers_.size() + kept);
  return true;
}

void MpiTransport::finish(Operation& operation, int code) {
  Peer& peer = peers_[static_cast<std::size_t>(operation.peer)];
  const char* call = "MPI_Isend";
  switch (operation.type) {
    case Operation::message_sent:
      --peer.on_the_way;
      pool_.give_back(std::move(operation.message));
      break;
    case Operation::piece_sent:
      call = "MPI_Issend";
      sent_piece(peer, operation.tag);
      break;
    case Operation::piece_received: {
      call = "MPI_Irecv";
      IncomingBody& body = incoming_bodies_[operation.place];
      if (code == MPI_SUCCESS && --body.pieces == 0) {
        complete_bodies_.emplace_back(operation.peer, body.token);
        free_incoming_.push_back(operation.place);
      }
      break;
    }
  }
  if (code != MPI_SUCCESS) report_error(operation.peer, mpi_error(call, code));
}

// -- by the polling thread

/// One round: tests requests, delivers what is complete, and starts the receives again.
MpiTransport::Found MpiTransport::progress_once(Receiver& receiver) {
  {
    const std::scoped_lock guard(mpi_);
    persistent_.start();
    persistent_.free_ended();
    if (!test()) return Found::nothing;
  }
  const bool all = arrivals_.size() == buffers_.size() || !persistent_.tests_all();
  for (const PersistentMessage::Plan* plan : persistent_.done) receiver.persistent_done(*plan);
  persistent_.done.clear();
  for (const Arrival& arrival : arrivals_) deliver(receiver, arrival);
  for (const auto& [from, token] : complete_bodies_) receiver.arrived(from, token);
  complete_bodies_.clear();
  if (!arrivals_.empty()) {
    const std::scoped_lock guard(mpi_);
    for (const Arrival& arrival : arrivals_) restart(arrival.receive);
  }
  arrivals_.clear();
  return all ? Found::all : Found::some;
}

void MpiTransport::deliver(Receiver& receiver, const Arrival& arrival) {
  const int from = arrival.from;
  Peer& peer = peers_[static_cast<std::size_t>(from)];
  ++peer.received;
  std::span<const std::byte> rest(receive_buffer(arrival.receive), arrival.bytes);
  while (!rest.empty()) {
    PacketHeader header;
    std::memcpy(&header, rest.data(), sizeof header);
    rest = rest.subspan(sizeof header);
    const auto packet = rest.first(header.bytes);
    rest = rest.subspan(padded(header.bytes));
    switch (header.protocol) {
      case PacketHeader::small:
        receiver.packet(from, packet);
        break;
      case PacketHeader::eager: {
        const Receiver::Place place = receiver.place(from, packet, header.body);
        if (header.body > 0) std::memcpy(place.to, rest.data(), header.body);
        receiver.arrived(from, place.token);
        rest = rest.subspan(padded(header.body));
        break;
      }
      case PacketHeader::rendezvous:
        receive_body(from, header.tag, receiver.place(from, packet, header.body), header.body);
        break;
      case PacketHeader::failure_reason:
        lose(receiver, from, "it said: " + std::string(reinterpret_cast<const char*>(packet.data()), packet.size()));
        break;
      case PacketHeader::leaves:
        peer.expected_messages = header.body;
        break;
    }
  }
}

void MpiTransport::receive_body(int from, std::uint16_t tag, const Receiver::Place& place, std::size_t bytes) {
  const std::scoped_lock guard(mpi_);
  if (free_incoming_.empty()) {
    free_incoming_.push_back(incoming_bodies_.size());
    incoming_bodies_.emplace_back();
  }
  const std::size_t number = free_incoming_.back();
  free_incoming_.pop_back();
  incoming_bodies_[number] = {from, place.token,
                              static_cast<int>((bytes + options_.piece_bytes - 1) / options_.piece_bytes)};
  for (std::size_t at = 0; at < bytes; at += options_.piece_bytes) {
    const std::size_t piece = std::min(options_.piece_bytes, bytes - at);
    MPI_Request request;
    const int code = MPI_Irecv(place.to + at, static_cast<int>(piece), MPI_BYTE, from, tag, comm_, &request);
    if (code != MPI_SUCCESS) return report_error(from, mpi_error("MPI_Irecv", code));
    start({Operation::piece_received, tag, from, nullptr, number}, request);
  }
}

void MpiTransport::start_pending_sends(bool all) {
  if (pending_peers_.load(std::memory_order_relaxed) == nullptr) return;
  const std::scoped_lock guard(mpi_);
  for (Peer* peer = pending_peers_.exchange(nullptr, std::memory_order_acquire); peer != nullptr;) {
    Peer* const next = peer->next_pending;
    {
      const std::scoped_lock also(peer->lock);
      peer->is_pending = false;
    }
    start_sends(*peer, all);
    peer = next;
  }
}

/// Passes reports of other threads and `test` on to the Receiver. \returns whether there were any
bool MpiTransport::deliver_reports(Receiver& receiver) {
  if (!has_reports_.load(std::memory_order_relaxed)) return false;
  {
    const std::scoped_lock guard(reports_lock_);
    has_reports_.store(false, std::memory_order_relaxed);
    taken_reusable_.swap(reusable_);
    taken_errors_.swap(errors_);
  }
  for (void* token : taken_reusable_) receiver.reusable(token);
  taken_reusable_.clear();
  std::string why;
  for (const TransportError& error : taken_errors_) {
    if (error.rank < 0)
      why = error.why;
    else
      lose(receiver, error.rank, error.why);
  }
  taken_errors_.clear();
  if (!why.empty()) throw std::runtime_error(why);
  return true;
}

/// Reports a lost rank once, with the first reason.
void MpiTransport::lose(Receiver& receiver, int rank, const std::string& why) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.dropped) return;
  {
    const std::scoped_lock guard(mpi_);
    drop(peer);
    persistent_.drop(rank);
  }
  receiver.lost(rank, why);
}

bool MpiTransport::poll(Receiver& receiver) { return poll(receiver, false); }

bool MpiTransport::poll(Receiver& receiver, bool all) {
  // A function of the receiver may poll again: then polling_ is set, and the inner call returns.
  if (!may_poll() || polling_.exchange(true, std::memory_order_acquire)) return false;
  const ScopeExit leaves([this] { polling_.store(false, std::memory_order_release); });

  const std::int64_t begin = ticks();
  bool came = false;
  auto found = Found::all;
  for (int round = 0; round < most_rounds && found == Found::all; ++round) {
    poll_requested_.store(false, std::memory_order_relaxed);
    found = progress_once(receiver);
    if (found == Found::nothing && round == 0) {
      // A poll that was preempted may take a thousand times as long, so one measurement at most doubles the estimate.
      const std::int64_t took = std::max<std::int64_t>(1, ticks() - begin);
      poll_cost_ = poll_cost_ == 0 ? took : std::min(took, 2 * poll_cost_);
    }
    came |= found != Found::nothing;
    came |= deliver_reports(receiver);
    start_pending_sends(all);  // so that replies leave before the next round
  }
  next_poll_.store(ticks() + (came ? 0 : idle_poll_factor * poll_cost_), std::memory_order_relaxed);
  return came;
}

bool MpiTransport::flush(Receiver& receiver) {
  poll(receiver, true);
  if (!may_poll() || !all_complete()) return false;
  if (announced_failure_.load()) return true;
  if (!sent_leave_) {
    sent_leave_ = true;
    for (Peer& peer : peers_) {
      if (number_of(peer) == rank_) continue;
      std::uint64_t sent;
      {
        const std::scoped_lock guard(mpi_);
        sent = peer.sent;
      }
      const std::scoped_lock guard(peer.lock);
      append(peer, {0, PacketHeader::leaves, 0, sent + 1}, {});
    }
    poll(receiver, true);
  }
  return all_complete() && std::ranges::all_of(peers_, [&](const Peer& peer) {
           return number_of(peer) == rank_ || peer.dropped || peer.has_left();
         });
}

bool MpiTransport::all_sent() noexcept {
  const std::scoped_lock guard(mpi_);
  return persistent_.all_sent() && std::ranges::all_of(peers_, [](Peer& peer) {
           const std::scoped_lock also(peer.lock);
           return peer.dropped || (peer.filling == nullptr && peer.full.empty() && peer.on_the_way == 0);
         });
}

/// True if all sends of this rank, and all receives of announced bodies, are complete.
bool MpiTransport::all_complete() {
  const std::scoped_lock guard(mpi_);
  for (Peer& peer : peers_) {
    const std::scoped_lock also(peer.lock);
    if (!peer.dropped && (peer.filling != nullptr || !peer.full.empty() || peer.on_the_way > 0 ||
                          peer.free_tags.size() < peer.bodies.size()))
      return false;
  }
  return !has_reports_.load(std::memory_order_relaxed) &&
         std::ranges::all_of(incoming_bodies_, [&](const IncomingBody& body) {
           return body.pieces == 0 || peers_[static_cast<std::size_t>(body.from)].dropped;
         });
}

}  // namespace taskgrain::rt::detail
