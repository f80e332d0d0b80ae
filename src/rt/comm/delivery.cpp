#include "delivery.hpp"

#include <cstring>
#include <exception>
#include <utility>

#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

namespace {

PacketHead head_of(std::span<const std::byte> packet) noexcept {
  PacketHead head{};
  std::memcpy(&head, packet.data(), sizeof head);
  return head;
}

/// Reads the arguments. It begins at the head, as the Writer did, because both align relative to their beginning.
Reader arguments_of(std::span<const std::byte> packet) {
  Reader arguments(packet);
  arguments.take(sizeof(PacketHead));
  return arguments;
}

}  // namespace

void Delivery::packet(int from, std::span<const std::byte> bytes) {
  const PacketHead head = head_of(bytes);
  if (head.kind >= Control::first) [[unlikely]]
    return receive_control(from, head.kind, bytes.subspan(sizeof head));
  if (failure_.exists() || closing_) [[unlikely]]
    return;
  engine_.mark_busy();
  if (const DeclaredKind* const kind = deliverable(head)) [[likely]]
    return run(from, *kind, bytes);
  keep_unexpected({from, head, {bytes.begin(), bytes.end()}, nullptr});
}

const DeclaredKind* Delivery::deliverable(const PacketHead& head) noexcept {
  const auto later = static_cast<std::int32_t>(head.waits - static_cast<std::uint32_t>(waits_.returned()));
  return later > 0 ? nullptr : kinds_.find(head.kind);
}

void Delivery::run(int from, const DeclaredKind& kind, std::span<const std::byte> packet) noexcept {
  // The sender means another kind by this number. Its declaration comes, or has come, and fails this rank.
  if (head_of(packet).check != kind.check) [[unlikely]]
    return;
  guarded(kind, [&] {
    Reader arguments = arguments_of(packet);
    kind.run(from, arguments);
  });
  engine_.count_processed();
}

template <typename Function>
void Delivery::guarded(const DeclaredKind& kind, const Function& function) noexcept {
  if (failure_.exists() || closing_) return;
  try {
    function();
  } catch (...) {
    const Worker* const worker = engine_.here();
    failure_.fail((kind.name + " " + std::to_string(kind.number) + " failed: " + message_of_current() +
                   (worker == nullptr ? "" : worker->engine().waiting_here()))
                      .c_str());
  }
}

Transport::Receiver::Place Delivery::place(int, std::span<const std::byte> bytes, std::size_t size) {
  const PacketHead head = head_of(bytes);
  auto large =
      std::make_unique<Large>(head.kind, std::vector<std::byte>(bytes.begin(), bytes.end()), std::vector<std::byte>());
  std::byte* to = nullptr;
  const DeclaredKind* const kind = deliverable(head);
  if (kind != nullptr && kind->check == head.check) {
    engine_.mark_busy();
    guarded(*kind, [&] {
      Reader arguments = arguments_of(large->head);
      to = kind->place(arguments, size);
      if (to == nullptr && size > 0) throw UsageError("`place` has returned a null pointer");
      large->placed = true;
    });
  }
  if (to == nullptr && size > 0) {
    large->body.resize(size);
    to = large->body.data();
  }
  return {to, large.release()};
}

bool Delivery::take_in_place(int from, std::span<const std::byte> bytes, std::span<const std::byte> body) {
  const PacketHead head = head_of(bytes);
  if (head.kind != Control::long_message) return false;
  packet(from, body);
  return true;
}

void Delivery::arrived(int from, void* token) {
  std::unique_ptr<Large> large(static_cast<Large*>(token));
  if (large->kind == Control::long_message) return packet(from, large->body);
  if (failure_.exists() || closing_) return;
  engine_.mark_busy();
  const PacketHead head = head_of(large->head);
  // If it was placed, `place` was called, and so `process` must be.
  if (const DeclaredKind* const kind = large->placed ? kinds_.find(head.kind) : deliverable(head))
    return process(*kind, *large);
  keep_unexpected({from, head, {}, std::move(large)});
}

void Delivery::process(const DeclaredKind& kind, const Large& large) noexcept {
  if (head_of(large.head).check != kind.check) return;  // another kind, as in `run`
  guarded(kind, [&] {
    if (!large.placed) {  // it was unexpected, so its body is in memory of the runtime
      Reader where = arguments_of(large.head);
      std::byte* const to = kind.place(where, large.body.size());
      if (to == nullptr && !large.body.empty()) throw UsageError("`place` has returned a null pointer");
      if (!large.body.empty()) std::memcpy(to, large.body.data(), large.body.size());
    }
    Reader what = arguments_of(large.head);
    kind.process(what);
  });
  engine_.count_processed();
}

void Delivery::reusable(void* token) {
  const std::unique_ptr<Large> large(static_cast<Large*>(token));
  outbox_.release(*large);
  if (large->kind == Control::long_message) return;
  engine_.mark_busy();
  const DeclaredKind& kind = *kinds_.find(large->kind);
  guarded(kind, [&] {
    Reader arguments = arguments_of(large->head);
    kind.reusable(arguments);
  });
  engine_.count_processed();
}

void Delivery::drop(void* token) noexcept {
  const std::unique_ptr<Large> large(static_cast<Large*>(token));
  outbox_.release(*large);
}

void Delivery::persistent_done(const PersistentMessage::Plan& plan) {
  if (failure_.exists() || closing_) return;
  engine_.mark_busy();
  plan.on_done();
  engine_.count_processed();
}

void Delivery::take_from_self() {
  const Outbox::ToSelf own = outbox_.take_from_self();
  for (const auto& bytes : own.small) packet(outbox_.rank(), bytes);
  for (const auto& [head, body] : own.large) {
    if (failure_.exists()) return;
    const Place where = place(outbox_.rank(), head, body.size());
    if (!body.empty()) std::memmove(where.to, body.data(), body.size());
    arrived(outbox_.rank(), where.token);
    reusable(new Large{head_of(head).kind, head, {}});
  }
}

// -- kinds

const DeclaredKind& Delivery::add(MessageKind&& of) {
  const DeclaredKind& kind = kinds_.add(std::move(of));
  check_declared(kind.number);
  for (const Unexpected& message : unexpected_)
    if (message.head.kind == kind.number) unexpected_ready_.store(true);
  if (unexpected_ready_.load()) outbox_.ring_own_doorbell();
  return kind;
}

void Delivery::check_declared(std::uint32_t number) {
  if (const std::string difference = kinds_.difference(number); !difference.empty()) failure_.fail(difference.c_str());
}

// -- unexpected messages

void Delivery::keep_unexpected(Unexpected message) {
  if (kinds_.find(message.head.kind) == nullptr && waits_.begun() > waits_.ended() &&
      message.head.waits == static_cast<std::uint32_t>(waits_.ended()))
    return fail_unknown(message);
  unexpected_.push_back(std::move(message));
}

void Delivery::check_unexpected() noexcept {
  for (const Unexpected& message : unexpected_)
    if (kinds_.find(message.head.kind) == nullptr && message.head.waits == static_cast<std::uint32_t>(waits_.ended())) {
      fail_unknown(message);
      break;
    }
}

/// The sender made this kind before the wait in which this rank is already, so this rank will not make it: ranks
/// differ.
void Delivery::fail_unknown(const Unexpected& message) noexcept {
  failure_.fail(("rank " + std::to_string(message.from) + " sends " + kinds_.name_by(message.from, message.head.kind) +
                 ", an active message that this rank had not made when it began to wait")
                    .c_str());
}

void Delivery::deliver_unexpected() {
  unexpected_ready_.exchange(false);  // before the loads of returned_ below: `end` stores returned_ and then this flag
  std::deque<Unexpected> all;
  all.swap(unexpected_);
  for (Unexpected& one : all) {
    const DeclaredKind* const kind = deliverable(one.head);
    if (kind == nullptr)
      unexpected_.push_back(std::move(one));
    else if (engine_.mark_busy(); one.large != nullptr)
      process(*kind, *one.large);
    else
      run(one.from, *kind, one.packet);
  }
}

// -- control messages

void Delivery::receive_control(int from, std::uint32_t kind, std::span<const std::byte> bytes) {
  const auto read = [&]<typename T>(T& what) {
    std::memcpy(&what, bytes.data(), sizeof what);
    bytes = bytes.subspan(sizeof what);
  };
  const auto words = [&] { return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()); };
  switch (kind) {
    case Control::declare: {
      std::uint32_t number = 0;
      read(number);
      kinds_.declare(from, number, words());
      return check_declared(number);
    }
    case Control::termination: {
      TerminationMessage message{};
      read(message);
      waits_.receive(from, message);
      return engine_.notify_main_worker();
    }
    case Control::failure: {
      int of = 0;
      read(of);
      return static_cast<void>(failure_.set(of, words()));
    }
    case Control::departure: {
      Departure left{};
      read(left);
      waits_.depart(from, left);
      return engine_.notify_main_worker();  // all others may have departed: `alone`
    }
    case Control::exchange_part: {
      ExchangeHead head{};
      read(head);
      ExchangePart part{words().substr(0, head.call),
                        {bytes.begin() + static_cast<std::ptrdiff_t>(head.call), bytes.end()}};
      const bool waits = waits_.receive_part(from, head, part.call);
      exchange_parts_[head.number][from] = std::move(part);
      if (waits) engine_.notify_main_worker();
      return;
    }
    default:
      failure_.fail(("rank " + std::to_string(from) + " sends a packet of kind " + std::to_string(kind) +
                     "; is it of another version?")
                        .c_str());
  }
}

}  // namespace taskgrain::rt::detail
