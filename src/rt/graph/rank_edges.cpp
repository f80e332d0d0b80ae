/// Edges between ranks while a graph runs, and their end. rank_edges_compiler.cpp makes them.

#include "rank_edges.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "rank_mail.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

RankEdges::~RankEdges() {
  mail_->on_resume(nullptr);
  mail_->end(cancelled_.load() ? UINT32_MAX : number_of_launches_);
  for (const Target& target : targets_) {
    try {
      tell(target.rank, {Note::gone, 0, 0});
    } catch (const std::exception&) {  // no memory: the board stays
    }
  }
}

void RankEdges::on_resume(std::function<void(int)> resume) { mail_->on_resume(std::move(resume)); }

RankEdges::Target& RankEdges::target(int rank) noexcept { return *std::ranges::find(targets_, rank, &Target::rank); }
RankEdges::Source& RankEdges::source(int rank) noexcept { return *std::ranges::find(sources_, rank, &Source::rank); }

void RankEdges::launch(std::int64_t end) {
  std::vector<int> neighbours;
  for (const Source& one : sources_) neighbours.push_back(one.rank);
  for (const Target& one : targets_)
    if (std::ranges::find(neighbours, one.rank) == neighbours.end()) neighbours.push_back(one.rank);
  for (const int rank : neighbours) tell(rank, {Note::launch, number_of_launches_, end});
  const std::lock_guard lock(launches_mutex_);
  for (const int rank : neighbours) expect(rank, end);
  ++number_of_launches_;
  own_launches_.push_back(end);
  for (const int rank : neighbours) compare_launches(rank);
  std::size_t by_all = own_launches_.size();
  for (const int rank : neighbours) by_all = std::min(by_all, compared_[rank]);
  own_launches_.erase(own_launches_.begin(), own_launches_.begin() + static_cast<std::ptrdiff_t>(by_all));
  for (const int rank : neighbours) compared_[rank] -= by_all;
}

int RankEdges::without_launch() {
  const std::lock_guard lock(launches_mutex_);
  for (const auto& [rank, compared] : compared_)
    if (compared < own_launches_.size()) return rank;
  return -1;
}

/// What goes between this rank and another until the end of a launch may come. \pre the mutex of launches is held
void RankEdges::expect(int rank, std::int64_t end) noexcept {
  if (numbers_ < 0) return;
  if (const auto to = std::ranges::find(targets_, rank, &Target::rank); to != targets_.end())
    ranks_.allow(*to->credit, end);
  if (const auto from = std::ranges::find(sources_, rank, &Source::rank); from != sources_.end()) {
    const std::scoped_lock guard(from->lock);
    from->end = std::max(from->end, end);
    if (from->readers.empty()) {  // this rank may be through before anything has come
      from->all_read = from->end;
      ranks_.allow(*from->credit, from->end);
    }
    allow_groups(*from);
  }
  ranks_.start_repeated();
}

/// \pre the mutex is held
void RankEdges::compare_launches(int rank) {
  auto& theirs = launches_[rank];
  for (auto& k = compared_[rank]; k < own_launches_.size(); ++k) {
    const auto number = number_of_launches_ - static_cast<std::uint32_t>(own_launches_.size() - k);
    const auto their = theirs.extract(number);
    if (their.empty()) return;
    if (their.mapped() != own_launches_[k])
      ranks_.fail(("a launch ends after " + std::to_string(own_launches_[k]) + " iterations of this graph on rank " +
                   std::to_string(ranks_.rank()) + ", and after " + std::to_string(their.mapped()) + " on rank " +
                   std::to_string(rank) + "; all ranks launch equally often, each time with the same iterations")
                      .c_str());
  }
}

bool RankEdges::passed(const Wait& wait, std::int64_t iteration, std::int64_t begin) const noexcept {
  if (wait.channel >= first_credit_) {
    const Target& to = targets_[wait.channel - first_credit_];
    for (const auto* credit : to.credits)
      if (credit->load(std::memory_order_acquire) < iteration + 2 - to.blocks) return false;
    return true;
  }
  const Arrival& from = arrivals_[wait.channel - first_receive_];
  const std::int64_t back = 1 - wait.offset;  // 1 if the edge is carried
  if (iteration - begin < back) return true;
  std::byte* const block =
      const_cast<std::byte*>(from.blocks) + static_cast<std::size_t>((iteration - back) & from.mask) * from.block_bytes;
  return counter(block).load(std::memory_order_acquire) >= iteration + wait.offset;
}

/// The worker sets `parked` and then looks once more; whoever writes what it waits for looks at `parked` after that,
/// with a full fence between in both: one of the two sees the other's write (Dekker).
bool RankEdges::park(const Wait& wait, std::int64_t iteration, std::int64_t begin) noexcept {
  auto& parked = wait.channel >= first_credit_ ? *targets_[wait.channel - first_credit_].parked
                                               : *arrivals_[wait.channel - first_receive_].parked;
  parked.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return !passed(wait, iteration, begin);
}

void RankEdges::send(std::uint32_t number, std::int64_t iteration) {
  const Group& group = groups_[number];
  std::byte* const block = group.blocks + static_cast<std::size_t>(iteration & group.mask) * group.block_bytes;
  for (const auto& [from, offset] : group.sends) {
    if (from.size() == 16)  // without a call
      std::memcpy(block + offset, from.data(), 16);
    else if (!from.empty())
      std::memcpy(block + offset, from.data(), from.size());
  }
  if (group.message != nullptr) {
    ranks_.allow(*group.message, iteration + 1);
    return ranks_.start_repeated();
  }
  if (!shared_)
    return tell(group.rank, {Note::bytes, group.number, iteration + 1},
                {block + first_offset(group.bytes), group.bytes});
  counter(block).store(iteration + 1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (group.parked->load(std::memory_order_relaxed) != 0 && group.parked->exchange(0) != 0) [[unlikely]]
    tell(group.rank, {Note::arrived, group.number, 0});
}

void RankEdges::finish(int worker, std::int64_t iteration) {
  for (Source& source : sources_) {
    const auto reader = std::ranges::lower_bound(source.readers, worker);
    if (reader == source.readers.end() || *reader != worker) continue;
    const auto k = static_cast<std::uint32_t>(reader - source.readers.begin());
    if (source.credit != nullptr) {
      const std::scoped_lock guard(source.lock);
      source.read[k] = iteration + 1;
      note_read(source);
      continue;
    }
    if (!shared_) {
      tell(source.rank, {Note::credit, k, iteration + 1});
      continue;
    }
    source.board->credit(k).store(iteration + 1, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    auto& parked = source.board->parked(source.groups.size());
    if (parked.load(std::memory_order_relaxed) != 0 && parked.exchange(0) != 0) [[unlikely]]
      tell(source.rank, {Note::credited, 0, 0});
  }
}

/// What the workers have read becomes a credit, and makes room for what comes next. \pre the lock is held
void RankEdges::note_read(Source& from) noexcept {
  const std::int64_t all_read = std::ranges::min(from.read);
  if (all_read <= from.all_read) return;
  from.all_read = all_read;
  allow_groups(from);
  ranks_.allow(*from.credit, all_read);
  ranks_.start_repeated();
}

/// Iteration n may come when it needs no block that is read. \pre the lock is held
void RankEdges::allow_groups(Source& from) noexcept {
  for (const Source::Group& group : from.groups)
    ranks_.allow(*group.message, std::min(from.end, from.all_read + from.blocks - 1));
}

std::span<const std::byte> RankEdges::received(std::size_t number, std::int64_t iteration) const noexcept {
  const Arrival& from = arrivals_[number];
  const auto block = static_cast<std::size_t>(iteration & from.mask);
  return {from.blocks + block * from.block_bytes + from.offset, from.bytes};
}

void RankEdges::tell(int rank, const Note& note, std::span<const std::byte> bytes) try {
  Writer message;
  mail_->kind->begin(message);
  message.write(&note, sizeof note);
  message.write(bytes.data(), bytes.size());
  ranks_.send(rank, *mail_->kind, message);
} catch (const RankFailed&) {  // whoever waits for the graph ends it, and all that it does
}

/// By who polls: so many iterations of a group are there.
void RankEdges::came(Source& from, std::size_t number, std::int64_t iterations) noexcept {
  const Source::Group& group = from.groups[number];
  counter(group.blocks + static_cast<std::size_t>((iterations - 1) & (from.blocks - 1)) * group.block_bytes)
      .store(iterations, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (from.board->parked(number).exchange(0) != 0)
    for (const int worker : group.readers) mail_->resume(worker);
}

/// By who polls: a rank has given credit, or what goes there has left its block.
void RankEdges::credited(Target& to) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (to.parked->exchange(0) != 0)
    for (const int worker : to.workers) mail_->resume(worker);
}

/// By who polls.
void RankEdges::hear(int from, Reader& message, const Note& note) {
  const auto resume = [this](const std::vector<int>& workers) {
    for (const int worker : workers) mail_->resume(worker);
  };
  switch (note.kind) {
    case Note::arrived:
      return resume(source(from).groups[note.number].readers);
    case Note::credited:
      return resume(target(from).workers);
    case Note::bytes: {
      Source& of = source(from);
      const Source::Group& group = of.groups[note.number];
      std::byte* const block =
          group.blocks + static_cast<std::size_t>((note.iteration - 1) & (of.blocks - 1)) * group.block_bytes;
      // Messages may overtake one another. Nobody reads this one any more: it was the last of a launch.
      if (counter(block).load(std::memory_order_relaxed) > note.iteration) return;
      if (group.bytes > 0) std::memcpy(block + first_offset(group.bytes), message.take(group.bytes), group.bytes);
      return came(of, note.number, note.iteration);
    }
    case Note::credit: {
      Target& to = target(from);
      to.own[note.number].store(std::max(note.iteration, to.own[note.number].load(std::memory_order_relaxed)),
                                std::memory_order_release);
      return credited(to);
    }
    case Note::launch: {
      const std::lock_guard lock(launches_mutex_);
      expect(from, note.iteration);
      launches_[from][note.number] = note.iteration;
      return compare_launches(from);
    }
    case Note::gone:
      return;
  }
}

}  // namespace taskgrain::rt::detail
