#include "sequence/across_ranks.hpp"

#include <algorithm>
#include <utility>

#include "taskgrain/rt/detail/tasks.hpp"

namespace taskgrain::rt::detail {

namespace {

constexpr const char* was_given = " was given other tasks, or data of other sizes, than rank ";
constexpr const char* the_same = "; all ranks give a sequence the same tasks, in one order, on data of the same sizes";

int before(const Messages& messages) noexcept { return (messages.rank() + messages.ranks() - 1) % messages.ranks(); }

/// The place where two ranks differ in the numbers of their traces; empty if they do not.
std::string other_traces(int a, const std::vector<std::uint64_t>& of_a, int b, const std::vector<std::uint64_t>& of_b) {
  const auto [at_a, at_b] = std::ranges::mismatch(of_a, of_b);
  if (at_a == of_a.end() && at_b == of_b.end()) return {};
  const auto number = [](const auto& at, const auto& all) {
    return at == all.end() ? "no trace" : "trace " + std::to_string(*at);
  };
  return "rank " + std::to_string(a) + " was given " + number(at_a, of_a) + " where rank " + std::to_string(b) +
         " was given " + number(at_b, of_b) + " (call " + std::to_string(at_a - of_a.begin() + 1) +
         " of `trace` since they last waited)";
}

}  // namespace

// -- the arrivals

void Arrivals::take(int from, std::uint64_t number, Arrived arrived) {
  const std::lock_guard lock(mutex_);
  const auto early = early_.extract({from, number});
  if (early.empty())
    expected_.emplace(Key{from, number}, std::move(arrived));
  else
    arrived(early.mapped().first, early.mapped().second);
}

void Arrivals::put(int from, std::uint64_t number, std::uint64_t hash, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  const auto arrived = expected_.extract({from, number});
  if (arrived.empty())
    early_.emplace(Key{from, number}, std::pair(hash, std::vector<std::byte>(bytes.begin(), bytes.end())));
  else
    arrived.mapped()(hash, bytes);
}

void Arrivals::compare(Messages& messages, std::uint64_t wait, int rank, Given given) {
  std::pair<int, Given> first;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waits_.find(wait);
    if (found == waits_.end()) {
      waits_.emplace(wait, std::pair(rank, std::move(given)));
      return;
    }
    first = std::move(found->second);
    waits_.erase(found);
  }
  auto& [other, theirs] = first;
  if (theirs.hash == given.hash) return;
  // Each of two ranks may find it first, and both name the same one: that on which a body has thrown, or the later one.
  const bool threw = !given.thrown.empty(), other_threw = !theirs.thrown.empty();
  if (threw != other_threw ? other_threw : rank < other) std::swap(rank, other), std::swap(given, theirs);
  std::string difference;
  if (threw != other_threw)
    difference =
        "the body of a loop or a trace has thrown, and not on rank " + std::to_string(other) + ": " + given.thrown;
  else if (difference = other_traces(rank, given.traces, other, theirs.traces); difference.empty())
    difference = "rank " + std::to_string(rank) + was_given + std::to_string(other);
  messages.fail_for(rank, difference + the_same);
}

void Arrivals::forget() noexcept {
  const std::lock_guard lock(mutex_);
  expected_.clear();
  early_.clear();
}

// -- across ranks

AcrossRanks::AcrossRanks(Communicator& communicator, const std::string& name)
    : communicator_(communicator),
      message_(communicator.active_message(
          [arrivals = arrivals_](int from, std::uint64_t number, std::uint64_t hash, view<const std::byte> bytes) {
            arrivals->put(from, number, hash, bytes);
          },
          name + ": data")),
      wait_(communicator.active_message(
          [arrivals = arrivals_, &messages = communicator.messages()](
              std::uint64_t wait, std::uint64_t hash, std::string thrown, view<const std::uint64_t> traces) {
            arrivals->compare(messages, wait, before(messages),
                              {hash, std::move(thrown), {traces.begin(), traces.end()}});
          },
          name + ": wait")) {}

void AcrossRanks::compare() {
  note(++waits_);
  wait_.send((rank() + 1) % ranks(), waits_, hash_, thrown_, view<const std::uint64_t>(traces_));
  arrivals_->compare(communicator_.messages(), waits_, rank(),
                     {hash_, std::exchange(thrown_, {}), std::exchange(traces_, {})});
}

void AcrossRanks::note_trace(std::uint64_t id) {
  constexpr std::size_t most = 256;  // the first that differs is among these, or the error names none
  note(id);
  if (traces_.size() < most) traces_.push_back(id);
}

void AcrossRanks::note_thrown() {
  thrown_ = message_of_current();
  note(1);
}

void AcrossRanks::make(const DataRegistry& registry, std::uint32_t index) {
  leave(nullptr);
  const auto& own = registry[index];
  // The memory may be that of an object that is gone, whose tasks say nothing about this one.
  std::vector<Region> named;
  for (const std::uint32_t other : own.overlaps)
    if (registry.is_named(other))
      named.insert(named.end(), registry[other].regions.begin(), registry[other].regions.end());
  for (const Region& region : named) holders_.each_piece(region, [](std::uintptr_t, const Holders::Piece&) {});
  for (const Region& region : own.regions)
    holders_.each_piece(region, [&](std::uintptr_t begin, Holders::Piece& piece) {
      const Region bytes{begin, piece.end - begin, 1, 0};
      if (std::ranges::none_of(named, [&](const Region& one) { return overlap(one, bytes); }))
        piece = Holders::Piece{piece.end};
      if (piece.initial && own.rank >= 0) piece.ranks = {own.rank};
    });
}

void AcrossRanks::enter(Holders& holders, const DataRegistry& registry, std::span<const Access> accesses,
                        const Task& task, std::vector<Transfer>& transfers, Transfer* first) {
  const auto each_read = [&](const auto& call) {
    for (const Access& access : accesses)
      if (access.mode != Mode::write)
        for (const Region& region : registry[access.index].regions) call(access.index, region);
  };
  each_read([&](std::uint32_t index, const Region& region) {  // before anything is changed
    if (registry[index].travels || holders.has(region, task.rank)) return;
    throw_usage({"a task", task.name.empty() ? "" : " " + task.name, " of rank ", std::to_string(task.rank), " uses '",
                 registry[index].name, "' of another rank, which cannot be copied as bytes"});
  });
  each_read(
      [&](std::uint32_t index, const Region& region) { holders.read(region, task.rank, index, transfers, first); });
  for (const Access& access : accesses)
    if (access.mode != Mode::read)
      for (const Region& region : registry[access.index].regions) holders.write(region, task.rank);
}

std::vector<Transfer> AcrossRanks::enter(const DataRegistry& registry, std::span<const Access> accesses,
                                         const Task& task) {
  leave(nullptr);
  std::vector<Transfer> transfers;
  enter(holders_, registry, accesses, task, transfers);
  return transfers;
}

std::vector<Transfer> AcrossRanks::enter(const DataRegistry& registry, const Body& body,
                                         std::vector<std::vector<Transfer>>* at) {
  const auto each_task = [&](Holders& holders, const auto& transfers_of, Transfer* first) {
    for (std::size_t k = 0; k < body.tasks.size(); ++k)
      enter(holders, registry, body.accesses_of(k), {body.tasks[k].rank, body.tasks[k].name}, transfers_of(k), first);
  };
  leave(nullptr);
  // Who has what at the end of an iteration: as at the end of each other, and the beginning of all but the first.
  Holders end = holders_;
  end.begin_body();
  std::vector<Transfer> others;
  Transfer first{0, 0};
  each_task(end, [&](std::size_t) -> auto& { return others; }, &first);
  // So is it before the first, where it matters: at what the body reads before it writes it.
  std::vector<Transfer> before;
  for (std::size_t k = 0; k < first.regions.size(); ++k)
    end.each_piece(first.regions[k], [&](std::uintptr_t begin, const Holders::Piece& piece) {
      for (const int rank : piece.ranks)
        holders_.read({begin, piece.end - begin, 1, first.regions[k].stride}, rank, first.data[k], before);
    });
  holders_ = end;
  if (at == nullptr) return before;
  at->resize(body.tasks.size());
  each_task(end, [&](std::size_t k) -> auto& { return (*at)[k]; }, nullptr);
  return before;
}

void AcrossRanks::note(const DataRegistry& registry, std::span<const Access> accesses, int rank) noexcept {
  note(static_cast<std::uint64_t>(rank) + 1);
  for (const Access& access : accesses)
    note(8 * registry[access.index].number + static_cast<std::uint64_t>(access.mode));
}

void AcrossRanks::agree(const std::string& what) {
  const auto all = communicator_.all_gather(hash_);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0]) throw_usage({what, ": rank ", std::to_string(rank), was_given, "0", the_same});
}

std::function<void()> AcrossRanks::function(const Transfer& transfer, std::vector<std::shared_ptr<void>> owners,
                                            std::function<void()> ended) {
  if (transfer.from == rank())
    return [this, transfer, owners = std::move(owners), number = sent_[transfer.to]++, hash = hash_] {
      std::vector<std::byte> packed;
      std::span<const std::byte> bytes = transfer.in_place();
      if (bytes.empty()) {
        packed.resize(transfer.bytes());
        transfer.pack(packed.data());
        bytes = packed;
      }
      message_.send(transfer.to, rank(), number, hash, view<const std::byte>(bytes));
    };
  const auto arrived = [transfer, owners = std::move(owners), ended = std::move(ended), hash = hash_](
                           std::uint64_t theirs, std::span<const std::byte> bytes) {
    if (theirs != hash || bytes.size() != transfer.bytes())
      throw_usage({"rank ", std::to_string(transfer.from), was_given, std::to_string(transfer.to), the_same});
    transfer.unpack(bytes.data());
    ended();
  };
  return [arrivals = arrivals_, from = transfer.from, number = received_[transfer.from]++, arrived] {
    arrivals->take(from, number, arrived);
  };
}

}  // namespace taskgrain::rt::detail
