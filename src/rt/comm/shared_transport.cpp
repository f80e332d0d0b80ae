#include "shared_transport.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <numeric>
#include <system_error>
#include <utility>

namespace taskgrain::rt::detail {

// -- the arena

namespace {
constexpr std::size_t least_reserved = std::size_t{1} << 20;
}

std::byte* Arena::allocate(std::size_t bytes) {
  const auto short_of = [this, wanted = bytes] {
    return std::system_error(ENOMEM, std::system_category(),
                             "no " + std::to_string(wanted) + " bytes in one piece are left of the " +
                                 std::to_string(memory_.size()) + " of shared memory that this rank has");
  };
  if (bytes > memory_.size()) throw short_of();
  bytes = std::max<std::size_t>(1, (bytes + apart - 1) / apart) * apart;
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(free_, [&](const auto& one) { return one.second >= bytes; });
  if (found == free_.end()) throw short_of();
  const auto [offset, size] = *found;
  if (offset + bytes > reserved_) {
    // Reserve twice as much as before, so that few calls of the kernel are needed; or just enough, if that fails.
    const std::size_t enough = offset + bytes, more = std::min(std::max(enough, 2 * reserved_), memory_.size());
    try {
      segment_.reserve(reserved_, std::max(more, std::min(least_reserved, memory_.size())) - reserved_);
      reserved_ = std::max(more, std::min(least_reserved, memory_.size()));
    } catch (const std::system_error&) {
      segment_.reserve(reserved_, enough - reserved_);
      reserved_ = enough;
    }
  }
  used_.emplace(offset, bytes);
  free_.erase(found);
  if (size > bytes) free_.emplace(offset + bytes, size - bytes);
  return memory_.data() + offset;
}

void Arena::release(const std::byte* piece) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(static_cast<std::size_t>(piece - memory_.data()));
  if (found == used_.end()) return;
  auto node = used_.extract(found);
  const auto at = free_.insert(std::move(node)).position;  // moves the node, so it allocates nothing
  const auto join = [&](auto first, auto second) {
    if (first->first + first->second != second->first) return false;
    first->second += second->second;
    free_.erase(second);
    return true;
  };
  if (const auto next = std::next(at); next != free_.end()) join(at, next);
  if (at != free_.begin()) join(std::prev(at), at);
}

// -- packets

namespace {

std::vector<int> in_order(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<int> places_of(const std::vector<int>& host, int all) {
  std::vector<int> places(std::max(static_cast<std::size_t>(all), host.size()), -1);
  for (std::size_t k = 0; k < host.size(); ++k) places[static_cast<std::size_t>(host[k])] = static_cast<int>(k);
  return places;
}

}  // namespace

SharedTransport::SharedTransport(std::unique_ptr<Segment> segment, std::vector<int> host, int all)
    : segment_(std::move(segment)), host_(host.empty() ? in_order(segment_->ranks()) : std::move(host)),
      places_(places_of(host_, all)), arena_(*segment_, places_), outgoing_(places_.size()) {
  const int own = segment_->rank();
  for (int other = 0; other < segment_->ranks(); ++other) {
    if (other == own) continue;
    auto& out = outgoing_[static_cast<std::size_t>(rank_at(other))];
    out = std::make_unique<Outgoing>(segment_->ring(own, other));
    incoming_.push_back(std::make_unique<Incoming>(rank_at(other), segment_->ring(other, own)));
    most_bytes_ = out->ring.most_bytes() - sizeof(Announce);
  }
}

SharedTransport::~SharedTransport() = default;

void SharedTransport::watch(Receiver& receiver) {
  receiver_ = &receiver;
  watch_ =
      std::make_unique<Watch>(*segment_, [&](int lost, const std::string& why) { receiver.lost(rank_at(lost), why); });
}

void SharedTransport::leave() noexcept {
  watch_.reset();
  segment_->leave();
  for (const auto& [id, send] : pending_sends_) receiver_->drop(send.token);
  for (const auto& in : incoming_)
    for (const auto& [id, received] : in->pending) receiver_->drop(received.place.token);
}

void SharedTransport::push(int to, std::uint64_t type, std::span<const std::byte> a, std::span<const std::byte> b) {
  Outgoing& out = *outgoing_[static_cast<std::size_t>(to)];
  bool is_backlogged = false;
  {
    const std::lock_guard lock(out.mutex);
    if (!out.backlog.empty() || !out.ring.push(type, a, b)) [[unlikely]] {
      Record& record = out.backlog.emplace_back(type, std::vector<std::byte>(a.begin(), a.end()));
      record.bytes.insert(record.bytes.end(), b.begin(), b.end());
      count_queued(to, record.memory());
      backlog_.fetch_add(1, std::memory_order_relaxed);
      is_backlogged = true;
    }
  }
  segment_->ring_doorbell(place_of(to));
  if (is_backlogged) segment_->ring_doorbell(segment_->rank());  // a thread of this rank must poll to send the backlog
}

bool SharedTransport::anything() const noexcept {
  if (backlog_.load(std::memory_order_relaxed) != 0) return true;
  return std::ranges::any_of(incoming_, [](const auto& in) { return !in->ring.empty(); });
}

bool SharedTransport::poll(Receiver& receiver) {
  bool any = false;
  for (const auto& in : incoming_) {
    const bool came = in->ring.take([&](std::uint64_t type, std::span<const std::byte> bytes) {
      if (type == packet_type) [[likely]]
        return receiver.packet(in->from, bytes);
      if (abandoned_.load(std::memory_order_relaxed)) return;
      if (type == announce_type) return receive_large(*in, bytes, receiver);
      if (type == piece_type) return receive_piece(*in, bytes, receiver);
      std::uint64_t id = 0;
      std::memcpy(&id, bytes.data(), sizeof id);
      if (type == ack_type) return complete_large(id, receiver);
      const std::lock_guard lock(pending_mutex_);  // request_pieces_type
      pending_sends_.at(id).in_pieces = true;
      backlog_.fetch_add(1, std::memory_order_relaxed);
    });
    any = any || came;
  }
  if (backlog_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    for (int to = 0; to < ranks(); ++to)
      if (reaches(to)) send_backlog(to);
    send_pieces();
  }
  return any;
}

void SharedTransport::send_backlog(int to) {
  Outgoing& out = *outgoing_[static_cast<std::size_t>(to)];
  bool any = false;
  {
    const std::lock_guard lock(out.mutex);
    const bool is_gone = has_left(to);
    for (; !out.backlog.empty(); out.backlog.pop_front()) {
      if (!is_gone && !out.ring.push(out.backlog.front().type, out.backlog.front().bytes)) break;
      count_sent(to, out.backlog.front().memory());
      backlog_.fetch_sub(1, std::memory_order_relaxed);
      any = true;
    }
  }
  if (any) segment_->ring_doorbell(place_of(to));
}

bool SharedTransport::flush(Receiver& receiver) {
  poll(receiver);
  for (int to = 0; to < ranks(); ++to) {
    if (!reaches(to) || has_left(to)) continue;
    Outgoing& out = *outgoing_[static_cast<std::size_t>(to)];
    const std::lock_guard lock(out.mutex);
    if (!out.backlog.empty()) return false;
  }
  const std::lock_guard lock(pending_mutex_);
  return std::ranges::none_of(pending_sends_, [&](const auto& each) { return !has_left(each.second.to); });
}

// -- large packets

void SharedTransport::send_large(int to, std::span<const std::byte> head, std::span<const std::byte> body,
                                 void* token) {
  Announce announce{0, body.size(), reinterpret_cast<std::uintptr_t>(body.data()), arena_.find(body)};
  // The receiver may acknowledge before this call returns. complete_large waits for this lock, so `head`, which the
  // token owns, lives until `push` has copied it.
  const std::lock_guard lock(pending_mutex_);
  announce.id = next_id_++;
  pending_sends_.emplace(announce.id, PendingSend{to, body, token});
  push(to, announce_type, std::as_bytes(std::span(&announce, 1)), head);
}

void SharedTransport::receive_large(Incoming& in, std::span<const std::byte> bytes, Receiver& receiver) {
  const int from = in.from;
  Announce what{};
  std::memcpy(&what, bytes.data(), sizeof what);
  const std::byte* const there = what.offset == outside_arena ? nullptr : arena_.at(from, what.offset);
  const auto head = bytes.subspan(sizeof what);
  if (there != nullptr && receiver.take_in_place(from, head, {there, static_cast<std::size_t>(what.bytes)}))
    return reply(from, ack_type, what.id);  // read in place: the packet lies in the arena until the acknowledgement
  const Receiver::Place place = receiver.place(from, head, what.bytes);
  bool is_there = true;
  {
    const std::lock_guard lock(body_mutex_);
    if (abandoned_.load(std::memory_order_relaxed)) return receiver.drop(place.token);
    if (what.bytes > 0 && there != nullptr)
      std::memcpy(place.to, there, what.bytes);
    else if (what.bytes > 0)
      is_there = read_memory(in, place.to, what);
  }
  if (!is_there) {
    in.pending.emplace(what.id, PendingReceive{place, what.bytes});
    return reply(from, request_pieces_type, what.id);
  }
  // The sender may have freed the body before it was read.
  if (segment_->block(place_of(from)).abandoned.load() != 0) return receiver.drop(place.token);
  receiver.arrived(from, place.token);
  reply(from, ack_type, what.id);
}

/// Reads the body from the memory of its sender. \returns false if the kernel refuses
bool SharedTransport::read_memory(Incoming& in, std::byte* to, const Announce& what) noexcept {
  const RankBlock& block = segment_->block(place_of(in.from));
  const pid_t process = block.process.load(std::memory_order_relaxed);
  if (block.process_namespace != segment_->block(segment_->rank()).process_namespace) in.can_read = false;
  constexpr std::size_t most = std::size_t{1} << 30;  // one call reads no more than 2 GiB
  for (std::size_t done = 0; in.can_read && done < what.bytes;) {
    const iovec own{to + done, std::min(most, what.bytes - done)};
    const iovec other{reinterpret_cast<void*>(static_cast<std::uintptr_t>(what.address + done)), own.iov_len};
    const ssize_t got = process_vm_readv(process, &own, 1, &other, 1, 0);
    in.can_read = got > 0;
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  return in.can_read;
}

void SharedTransport::send_pieces() {
  const std::lock_guard lock(pending_mutex_);
  const std::lock_guard body_lock(body_mutex_);
  for (auto& [id, pending] : pending_sends_) {
    if (!pending.in_pieces) continue;
    if (abandoned_.load(std::memory_order_relaxed) || has_left(pending.to)) {
      pending.in_pieces = false;
      backlog_.fetch_sub(1, std::memory_order_relaxed);
      continue;
    }
    Outgoing& out = *outgoing_[static_cast<std::size_t>(pending.to)];
    const std::lock_guard out_lock(out.mutex);
    while (out.backlog.empty() && pending.sent < pending.body.size()) {
      const Piece piece{id, pending.sent};
      const auto bytes =
          pending.body.subspan(pending.sent, std::min(pending.body.size() - pending.sent, most_bytes_ / 2));
      if (!out.ring.push(piece_type, std::as_bytes(std::span(&piece, 1)), bytes)) break;
      pending.sent += bytes.size();
    }
    if (pending.sent == pending.body.size()) {  // it stays in pending_sends_ until the acknowledgement
      pending.in_pieces = false;
      backlog_.fetch_sub(1, std::memory_order_relaxed);
    }
    segment_->ring_doorbell(place_of(pending.to));
  }
}

void SharedTransport::receive_piece(Incoming& in, std::span<const std::byte> bytes, Receiver& receiver) {
  Piece piece{};
  std::memcpy(&piece, bytes.data(), sizeof piece);
  const auto body = bytes.subspan(sizeof piece);
  const auto found = in.pending.find(piece.id);
  {
    const std::lock_guard lock(body_mutex_);
    if (abandoned_.load(std::memory_order_relaxed)) return;
    std::memcpy(found->second.place.to + piece.offset, body.data(), body.size());
  }
  if ((found->second.missing -= body.size()) != 0) return;
  void* const token = found->second.place.token;
  in.pending.erase(found);
  receiver.arrived(in.from, token);
  reply(in.from, ack_type, piece.id);
}

void SharedTransport::complete_large(std::uint64_t id, Receiver& receiver) {
  void* token = nullptr;
  {
    const std::lock_guard lock(pending_mutex_);
    const auto found = pending_sends_.find(id);
    token = found->second.token;
    pending_sends_.erase(found);
  }
  receiver.reusable(token);
}

}  // namespace taskgrain::rt::detail
