/// Making the edges between ranks: who tells whom which sends go together, and where they are to be written.

#include <algorithm>
#include <map>
#include <utility>

#include "graph_compiler.hpp"
#include "plain_bytes.hpp"
#include "rank_mail.hpp"

namespace taskgrain::rt::detail {

namespace {

constexpr std::size_t line = 64, small = 4096;

std::size_t up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// A group of sends, as its sender tells the receiver: what follows a GroupHead are its members.
struct GroupHead {
  std::uint64_t members, block_bytes, bytes;
};
struct Member {
  std::uint64_t tag, offset;
};
/// What the receiver answers.
struct BoardHead {
  std::uint64_t blocks, readers, parked, credits;  // parked, credits: offsets in its arena; then follow those of groups
};

}  // namespace

RankEdges::RankEdges(Messages& ranks, const Compiler& graph, const InOrderPrograms& programs)
    : ranks_(ranks), shared_(ranks.shared_memory() != nullptr), first_receive_(programs.first_receive),
      first_credit_(programs.first_credit), mail_(std::make_shared<Mail>(*this, graph.name())) {
  mail_->kind = &ranks_.add({graph.name() + ": an edge between ranks",
                             "graph",
                             [mail = mail_](int from, Reader& message) {
                               Note note;
                               message.read(&note, sizeof note);
                               mail->hear(from, message, note);
                             },
                             {},
                             {},
                             {}});
  const auto number = static_cast<std::size_t>(ranks.ranks());
  for (const auto& receive : graph.all_receives())
    if (std::ranges::find(sources_, receive.rank, &Source::rank) == sources_.end()) sources_.emplace_back(receive.rank);
  for (const int rank : programs.target_ranks) targets_.push_back({rank, 0, {}, nullptr});
  arrivals_.resize(graph.all_receives().size());

  const auto groups = ranks.exchange(find_groups(graph, programs));
  if (!shared_) {
    std::uint64_t most = 0;
    for (std::span<const std::byte> bytes : groups) most = std::max(most, take<std::uint64_t>(bytes));
    numbers_ = ranks.repeated_numbers(1 + static_cast<int>(most));
  }
  const auto boards = ranks.exchange(make_boards(graph, programs, groups));
  take_boards(boards);
  ranks.exchange(Messages::Gathered(number));  // nobody launches before all are ready
}

/// \returns for each rank, what it needs to know of the groups that go there
Messages::Gathered RankEdges::find_groups(const Compiler& graph, const InOrderPrograms& programs) {
  Messages::Gathered told(static_cast<std::size_t>(ranks_.ranks()));
  std::vector<std::uint32_t> of_rank(told.size(), 0);
  for (const auto& group : programs.groups) ++of_rank[static_cast<std::size_t>(group.rank)];
  for (auto& to : told) append(to, std::uint64_t{std::ranges::max(of_rank)});
  std::ranges::fill(of_rank, 0);
  for (const auto& [rank, numbers] : programs.groups) {
    std::size_t bytes = 0;
    for (const std::uint32_t number : numbers) bytes += up(graph.all_sends()[number].from.size(), 16);
    std::size_t offset = first_offset(bytes);
    auto& to = told[static_cast<std::size_t>(rank)];
    Group& group = groups_.emplace_back(rank, of_rank[static_cast<std::size_t>(rank)]++, nullptr,
                                        up(offset + bytes, 2 * line), bytes, nullptr);
    append(to, GroupHead{numbers.size(), group.block_bytes, bytes});
    for (const std::uint32_t number : numbers) {
      const auto& send = graph.all_sends()[number];
      group.sends.push_back({send.from, offset});
      append(to, Member{send.tag, offset});
      offset += up(send.from.size(), 16);
    }
  }
  for (std::size_t w = 0; w < programs.workers.size(); ++w)
    for (const InOrderRecord& record : programs.workers[w].records) {
      if (record.instruction != Instruction::send) continue;
      auto& workers = target(programs.groups[record.operand].rank).workers;
      if (workers.empty() || workers.back() != static_cast<int>(w)) workers.push_back(static_cast<int>(w));
    }
  return told;
}

/// \returns for each rank, where it is to write
Messages::Gathered RankEdges::make_boards(const Compiler& graph, const InOrderPrograms& programs,
                                          const Messages::Gathered& groups) {
  Messages::Gathered told(groups.size());
  std::map<std::pair<int, std::uint64_t>, std::uint32_t> receives;  // by rank and tag
  std::map<int, bool> carried;                                      // whether any edge from what comes from a rank is
  for (std::uint32_t k = 0; k < graph.receives.size(); ++k) {
    const auto& receive = graph.all_receives()[k];
    receives.emplace(std::pair(receive.rank, receive.tag), k);
    carried[receive.rank] |= std::ranges::any_of(graph.out[graph.receives[k]], &Compiler::Out::carried);
  }
  for (Source& source : sources_) {
    struct Found {
      std::size_t block_bytes, bytes;
      std::vector<std::pair<std::uint32_t, std::size_t>> members;  // receives and their offsets
    };
    std::vector<Found> found;
    std::size_t largest = 0;
    std::span<const std::byte> told_groups = groups[static_cast<std::size_t>(source.rank)];
    take<std::uint64_t>(told_groups);
    while (!told_groups.empty()) {
      const auto head = take<GroupHead>(told_groups);
      Found& group = found.emplace_back(head.block_bytes, head.bytes);
      largest = std::max<std::size_t>(largest, head.block_bytes);
      for (std::uint64_t k = 0; k < head.members; ++k) {
        const auto member = take<Member>(told_groups);
        group.members.emplace_back(receives.at({source.rank, member.tag}), member.offset);
      }
      auto& readers = source.groups.emplace_back().readers;
      for (const auto& [receive, offset] : group.members)
        for (const int reader : programs.channels[first_receive_ + receive].readers) readers.push_back(reader);
      std::ranges::sort(readers);
      readers.erase(std::ranges::unique(readers).begin(), readers.end());
      source.readers.insert(source.readers.end(), readers.begin(), readers.end());
    }
    std::ranges::sort(source.readers);
    source.readers.erase(std::ranges::unique(source.readers).begin(), source.readers.end());

    const std::size_t blocks = largest <= small || carried[source.rank] ? 4 : 2;
    const std::size_t parked_bytes = up((found.size() + 1) * sizeof(std::uint32_t), apart);
    std::size_t bytes = parked_bytes + source.readers.size() * apart;
    for (const Found& group : found) bytes += blocks * group.block_bytes;
    source.board = std::make_shared<Board>(ranks_.shared_memory(), bytes);
    source.board->credits = parked_bytes;
    source.blocks = static_cast<std::int64_t>(blocks);
    mail_->keep(source.rank, source.board);

    auto& to = told[static_cast<std::size_t>(source.rank)];
    const auto offset = [&](std::size_t in_board) {
      return shared_ ? ranks_.shared_memory()->offset(source.board->memory) + in_board : in_board;
    };
    append(to, BoardHead{blocks, source.readers.size(), offset(0), offset(parked_bytes)});
    std::size_t at = parked_bytes + source.readers.size() * apart;
    for (std::size_t g = 0; g < found.size(); ++g) {
      append(to, std::uint64_t{offset(at)});
      source.groups[g].blocks = source.board->memory + at;
      source.groups[g].block_bytes = found[g].block_bytes;
      source.groups[g].bytes = found[g].bytes;
      if (numbers_ >= 0) repeat(source, g);
      for (const auto& [receive, in_block] : found[g].members)
        arrivals_[receive] = {source.board->memory + at,
                              found[g].block_bytes,
                              in_block,
                              graph.all_receives()[receive].bytes,
                              static_cast<std::int64_t>(blocks) - 1,
                              &source.board->parked(g)};
      at += blocks * found[g].block_bytes;
    }
    if (numbers_ >= 0) {
      source.read.resize(source.readers.size());
      source.credit = ranks_.repeated({true, source.rank, numbers_, nullptr, 0, 0, source.blocks, nullptr, [] {}});
    }
  }
  return told;
}

void RankEdges::take_boards(const Messages::Gathered& boards) {
  SharedMemory* const memory = ranks_.shared_memory();
  for (Target& to : targets_) {
    std::span<const std::byte> bytes = boards[static_cast<std::size_t>(to.rank)];
    const auto head = take<BoardHead>(bytes);
    to.blocks = static_cast<std::int64_t>(head.blocks);
    std::atomic<std::uint32_t>* parked = nullptr;
    if (shared_) {
      parked = reinterpret_cast<std::atomic<std::uint32_t>*>(memory->at(to.rank, head.parked));
      for (std::size_t k = 0; k < head.readers; ++k)
        to.credits.push_back(
            reinterpret_cast<const std::atomic<std::int64_t>*>(memory->at(to.rank, head.credits + k * apart)));
    } else if (to.own_parked = std::make_unique<std::atomic<std::uint32_t>>(0); numbers_ >= 0) {
      to.credit =
          ranks_.repeated({false, to.rank, numbers_, nullptr, 0, 0, to.blocks, nullptr, [mail = mail_, rank = to.rank] {
                             mail->hear_repeated([rank](RankEdges& of) { of.credited(of.target(rank)); });
                           }});
      to.credits = {&to.credit->done()};
    } else {
      to.own = std::make_unique<std::atomic<std::int64_t>[]>(head.readers);
      for (std::size_t k = 0; k < head.readers; ++k) to.credits.push_back(&to.own[k]);
    }
    std::size_t number = 0;
    for (Group& group : groups_) {
      if (group.rank != to.rank) continue;
      const auto offset = take<std::uint64_t>(bytes);
      if (shared_) {
        group.mask = to.blocks - 1;
        group.blocks = memory->at(to.rank, offset);
        group.parked = parked + number;
      } else {
        if (numbers_ >= 0) group.mask = to.blocks - 1;
        group.own = std::make_shared<Blocks>(static_cast<std::size_t>(group.mask + 1) * group.block_bytes);
        group.blocks = group.own->data();
        if (numbers_ >= 0) repeat(to, group);
      }
      ++number;
    }
    to.parked = shared_ ? parked + number : to.own_parked.get();
  }
}

/// The receiver's end of a group.
void RankEdges::repeat(Source& from, std::size_t number) {
  Source::Group& group = from.groups[number];
  group.message = ranks_.repeated({false, from.rank, numbers_ + 1 + static_cast<int>(number),
                                   group.blocks + first_offset(group.bytes), group.bytes, group.block_bytes,
                                   from.blocks, from.board, [mail = mail_, rank = from.rank, number] {
                                     mail->hear_repeated([rank, number](RankEdges& of) {
                                       Source& source = of.source(rank);
                                       of.came(source, number, source.groups[number].message->done().load());
                                     });
                                   }});
}

/// The sender's.
void RankEdges::repeat(Target& to, Group& group) {
  group.message = ranks_.repeated({true, to.rank, numbers_ + 1 + static_cast<int>(group.number),
                                   group.blocks + first_offset(group.bytes), group.bytes, group.block_bytes, to.blocks,
                                   group.own, [mail = mail_, rank = to.rank] {
                                     mail->hear_repeated([rank](RankEdges& of) { of.credited(of.target(rank)); });
                                   }});
  to.credits.push_back(&group.message->done());  // a block is not written while it is sent
}

}  // namespace taskgrain::rt::detail
