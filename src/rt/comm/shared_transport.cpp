#include "shared_transport.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace taskgrain::rt::detail {

SharedTransport::SharedTransport(std::unique_ptr<Segment> segment) : segment_(std::move(segment)), arena_(*segment_) {
  for (int other = 0; other < ranks(); ++other) {
    outs_.push_back(other == rank() ? nullptr : std::make_unique<Out>(segment_->ring(rank(), other)));
    ins_.push_back(other == rank() ? nullptr : std::make_unique<In>(segment_->ring(other, rank())));
    if (other != rank()) most_bytes_ = outs_.back()->ring.most_bytes() - sizeof(Announce);
  }
}

SharedTransport::~SharedTransport() = default;

void SharedTransport::watch(Receiver& receiver) {
  watch_ = std::make_unique<Watch>(*segment_, [&](int lost, const std::string& why) { receiver.lost(lost, why); });
}

void SharedTransport::leave() noexcept {
  watch_.reset();
  segment_->leave();
}

void SharedTransport::push(int to, std::uint64_t type, std::span<const std::byte> a, std::span<const std::byte> b) {
  Out& out = *outs_[static_cast<std::size_t>(to)];
  bool is_kept = false;
  {
    const std::lock_guard lock(out.mutex);
    if (!out.kept.empty() || !out.ring.push(type, a, b)) [[unlikely]] {
      Record& record = out.kept.emplace_back(type, std::vector<std::byte>(a.begin(), a.end()));
      record.bytes.insert(record.bytes.end(), b.begin(), b.end());
      count_queued(to, record.memory());
      kept_.fetch_add(1, std::memory_order_relaxed);
      is_kept = true;
    }
  }
  segment_->ring_doorbell(to);
  if (is_kept) segment_->ring_doorbell(rank());  // somebody here must poll
}

bool SharedTransport::anything() const noexcept {
  if (kept_.load(std::memory_order_relaxed) != 0) return true;
  return std::ranges::any_of(ins_, [](const auto& in) { return in != nullptr && !in->ring.empty(); });
}

bool SharedTransport::poll(Receiver& receiver) {
  bool any = false;
  for (int from = 0; from < ranks(); ++from) {
    In* const in = ins_[static_cast<std::size_t>(from)].get();
    if (in == nullptr) continue;
    const bool came = in->ring.take([&](std::uint64_t type, std::span<const std::byte> bytes) {
      if (type == packet_type) [[likely]]
        return receiver.packet(from, bytes);
      if (abandoned_.load(std::memory_order_relaxed)) return;
      if (type == announce_type) return take_large(from, bytes, receiver);
      if (type == piece_type) return take_piece(from, bytes, receiver);
      std::uint64_t id = 0;
      std::memcpy(&id, bytes.data(), sizeof id);
      if (type == taken_type) return end_large(id, receiver);
      const std::lock_guard lock(leaving_mutex_);  // pieces_type
      leaving_.at(id).in_pieces = true;
      kept_.fetch_add(1, std::memory_order_relaxed);
    });
    any = any || came;
  }
  if (kept_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    for (int to = 0; to < ranks(); ++to)
      if (to != rank()) send_kept(to);
    send_pieces();
  }
  return any;
}

void SharedTransport::send_kept(int to) {
  Out& out = *outs_[static_cast<std::size_t>(to)];
  bool any = false;
  {
    const std::lock_guard lock(out.mutex);
    const bool is_gone = has_left(to);
    for (; !out.kept.empty(); out.kept.pop_front()) {
      if (!is_gone && !out.ring.push(out.kept.front().type, out.kept.front().bytes)) break;
      count_sent(to, out.kept.front().memory());
      kept_.fetch_sub(1, std::memory_order_relaxed);
      any = true;
    }
  }
  if (any) segment_->ring_doorbell(to);
}

bool SharedTransport::flush(Receiver& receiver) {
  poll(receiver);
  for (int to = 0; to < ranks(); ++to) {
    if (to == rank() || has_left(to)) continue;
    Out& out = *outs_[static_cast<std::size_t>(to)];
    const std::lock_guard lock(out.mutex);
    if (!out.kept.empty()) return false;
  }
  const std::lock_guard lock(leaving_mutex_);
  return std::ranges::none_of(leaving_, [&](const auto& each) { return !has_left(each.second.to); });
}

// -- large packets

void SharedTransport::send_large(int to, std::span<const std::byte> head, std::span<const std::byte> body,
                                 void* token) {
  Announce announce{0, body.size(), reinterpret_cast<std::uintptr_t>(body.data()), arena_.find(body)};
  // The receiver may take it before this call returns. Under the lock, the thread that then ends it waits until `head`
  // is not needed any more.
  const std::lock_guard lock(leaving_mutex_);
  announce.id = next_id_++;
  leaving_.emplace(announce.id, Leaving{to, body, token});
  push(to, announce_type, std::as_bytes(std::span(&announce, 1)), head);
}

void SharedTransport::take_large(int from, std::span<const std::byte> bytes, Receiver& receiver) {
  In& in = *ins_[static_cast<std::size_t>(from)];
  Announce what{};
  std::memcpy(&what, bytes.data(), sizeof what);
  const std::byte* const there = what.offset == not_there ? nullptr : segment_->arena(from).data() + what.offset;
  const auto head = bytes.subspan(sizeof what);
  if (there != nullptr && receiver.take_in_place(from, head, {there, static_cast<std::size_t>(what.bytes)}))
    return answer(from, taken_type, what.id);  // a message of the sender's own, which stays
  const Receiver::Place place = receiver.place(from, head, what.bytes);
  bool is_there = true;
  {
    const std::lock_guard lock(touching_);
    if (abandoned_.load(std::memory_order_relaxed)) return;
    if (what.bytes > 0 && there != nullptr)
      std::memcpy(place.to, there, what.bytes);
    else if (what.bytes > 0)
      is_there = read_memory(from, place.to, what);
  }
  if (!is_there) {
    in.coming.emplace(what.id, Coming{place, what.bytes});
    return answer(from, pieces_type, what.id);
  }
  if (segment_->block(from).abandoned.load() != 0) return;  // what was read may have been something else
  receiver.arrived(from, place.token);
  answer(from, taken_type, what.id);
}

/// Reads the body out of the memory of its sender. \returns false if the kernel does not let it
bool SharedTransport::read_memory(int from, std::byte* to, const Announce& what) noexcept {
  In& in = *ins_[static_cast<std::size_t>(from)];
  const RankBlock& block = segment_->block(from);
  const pid_t process = block.process.load(std::memory_order_relaxed);
  if (block.process_namespace != segment_->block(rank()).process_namespace) in.may_read = false;
  constexpr std::size_t most = std::size_t{1} << 30;  // one call reads no more than 2 GiB
  for (std::size_t done = 0; in.may_read && done < what.bytes;) {
    const iovec own{to + done, std::min(most, what.bytes - done)};
    const iovec other{reinterpret_cast<void*>(static_cast<std::uintptr_t>(what.address + done)), own.iov_len};
    const ssize_t got = process_vm_readv(process, &own, 1, &other, 1, 0);
    in.may_read = got > 0;
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  return in.may_read;
}

void SharedTransport::send_pieces() {
  const std::lock_guard lock(leaving_mutex_);
  const std::lock_guard touching(touching_);
  for (auto& [id, leaving] : leaving_) {
    if (!leaving.in_pieces) continue;
    if (abandoned_.load(std::memory_order_relaxed) || has_left(leaving.to)) {
      leaving.in_pieces = false;
      kept_.fetch_sub(1, std::memory_order_relaxed);
      continue;
    }
    Out& out = *outs_[static_cast<std::size_t>(leaving.to)];
    const std::lock_guard out_lock(out.mutex);
    while (out.kept.empty() && leaving.sent < leaving.body.size()) {
      const Piece piece{id, leaving.sent};
      const auto bytes =
          leaving.body.subspan(leaving.sent, std::min(leaving.body.size() - leaving.sent, most_bytes_ / 2));
      if (!out.ring.push(piece_type, std::as_bytes(std::span(&piece, 1)), bytes)) break;
      leaving.sent += bytes.size();
    }
    if (leaving.sent == leaving.body.size()) {  // it ends when the receiver says so
      leaving.in_pieces = false;
      kept_.fetch_sub(1, std::memory_order_relaxed);
    }
    segment_->ring_doorbell(leaving.to);
  }
}

void SharedTransport::take_piece(int from, std::span<const std::byte> bytes, Receiver& receiver) {
  In& in = *ins_[static_cast<std::size_t>(from)];
  Piece piece{};
  std::memcpy(&piece, bytes.data(), sizeof piece);
  const auto body = bytes.subspan(sizeof piece);
  const auto found = in.coming.find(piece.id);
  {
    const std::lock_guard lock(touching_);
    if (abandoned_.load(std::memory_order_relaxed)) return;
    std::memcpy(found->second.place.to + piece.offset, body.data(), body.size());
  }
  if ((found->second.missing -= body.size()) != 0) return;
  void* const token = found->second.place.token;
  in.coming.erase(found);
  receiver.arrived(from, token);
  answer(from, taken_type, piece.id);
}

void SharedTransport::end_large(std::uint64_t id, Receiver& receiver) {
  void* token = nullptr;
  {
    const std::lock_guard lock(leaving_mutex_);
    const auto found = leaving_.find(id);
    token = found->second.token;
    leaving_.erase(found);
  }
  receiver.reusable(token);
}

}  // namespace taskgrain::rt::detail
