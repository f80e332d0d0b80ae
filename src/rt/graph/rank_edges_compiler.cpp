/// Setting up the edges between ranks: senders describe their groups, receivers allocate windows and answer with
/// offsets.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "graph_compiler.hpp"
#include "rank_compiler.hpp"
#include "rank_edges.hpp"

namespace taskgrain::rt::detail {

namespace {

constexpr std::size_t line = 64, small = 4096;

std::size_t up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// The memory by which edges between this rank and another one go; null if persistent messages carry them.
SharedMemory* memory_with(Messages& ranks, int rank) {
  SharedMemory* const memory = ranks.shared_memory();
  return memory != nullptr && memory->shared_with(rank) ? memory : nullptr;
}

/// The description of a group, from its sender to its receiver. Its members follow.
struct GroupHead {
  std::uint64_t members, block_bytes, bytes;
};
struct Member {
  std::uint64_t tag, offset;
};
/// The answer of the receiver. The offsets of the groups follow.
struct WindowHead {
  std::uint64_t blocks, per_credit, readers, parked, credits;  // parked, credits: offsets in its arena
};

}  // namespace

RankEdges::RankEdges(Messages& ranks, const Compiler& graph, InOrderPrograms& programs)
    : first_credit_(programs.first_credit), endpoint_(std::make_shared<EdgeEndpoint>(ranks, graph.name())),
      sender_(ranks, *endpoint_, programs), receiver_(ranks, *endpoint_, graph, programs),
      launches_(ranks, *endpoint_, sender_, receiver_) {
  launches_.set_neighbours();
  const auto groups = ranks.exchange(sender_.describe_groups(graph, programs), "CompiledGraph");
  int tags = 0;           // the first tag: that of credits; then follow those of groups
  bool all_share = true;  // the same on all ranks
  for (int rank = 0; rank < ranks.ranks(); ++rank) all_share &= memory_with(ranks, rank) != nullptr;
  if (!all_share) {
    std::uint64_t most = 0;
    for (std::span<const std::byte> bytes : groups) most = std::max(most, take<std::uint64_t>(bytes));
    tags = ranks.persistent_tags(1 + static_cast<int>(most));
  }
  endpoint_->open(*this);
  sender_.attach(ranks.exchange(receiver_.make_windows(graph, programs, groups, tags), "CompiledGraph"), tags);
  for (InOrderProgram& program : programs.workers) receiver_.leave_out_waits(program, first_credit_);
  ranks.exchange(Messages::Gathered(1), "CompiledGraph");  // a barrier: no rank launches before all are ready
}

EdgeSender::EdgeSender(Messages& ranks, EdgeEndpoint& endpoint, const InOrderPrograms& programs)
    : ranks_(ranks), endpoint_(endpoint) {
  for (const int rank : programs.target_ranks) destinations_.push_back({rank, 0, {}, nullptr});
}

EdgeReceiver::EdgeReceiver(Messages& ranks, EdgeEndpoint& endpoint, const Compiler& graph,
                           const InOrderPrograms& programs)
    : ranks_(ranks), endpoint_(endpoint), first_receive_(programs.first_receive), slots_(graph.all_receives().size()) {
  for (const auto& receive : graph.all_receives())
    if (std::ranges::find(origins_, receive.rank, &Origin::rank) == origins_.end()) origins_.emplace_back(receive.rank);
}

Messages::Gathered EdgeSender::describe_groups(const Compiler& graph, const InOrderPrograms& programs) {
  Messages::Gathered described(static_cast<std::size_t>(ranks_.ranks()));
  std::vector<std::uint32_t> of_rank(described.size(), 0);
  for (const auto& group : programs.groups) ++of_rank[static_cast<std::size_t>(group.rank)];
  for (auto& to : described) append(to, std::uint64_t{std::ranges::max(of_rank)});
  std::ranges::fill(of_rank, 0);
  for (const auto& [rank, numbers] : programs.groups) {
    std::size_t bytes = 0;
    for (const std::uint32_t number : numbers) bytes += up(graph.all_sends()[number].from.size(), 16);
    std::size_t offset = first_offset(bytes);
    auto& to = described[static_cast<std::size_t>(rank)];
    SendGroup& group = groups_.emplace_back(rank, of_rank[static_cast<std::size_t>(rank)]++, nullptr,
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
      auto& workers = destination(programs.groups[record.operand].rank).workers;
      if (workers.empty() || workers.back() != static_cast<int>(w)) workers.push_back(static_cast<int>(w));
    }
  return described;
}

Messages::Gathered EdgeReceiver::make_windows(const Compiler& graph, const InOrderPrograms& programs,
                                              const Messages::Gathered& groups, int tags) {
  Messages::Gathered windows(groups.size());
  std::map<std::pair<int, std::uint64_t>, std::uint32_t> receives;  // by rank and tag
  std::map<int, bool> carried;                                      // whether any edge from what comes from a rank is
  for (std::uint32_t k = 0; k < graph.receives.size(); ++k) {
    const auto& receive = graph.all_receives()[k];
    receives.emplace(std::pair(receive.rank, receive.tag), k);
    carried[receive.rank] |= std::ranges::any_of(graph.out[graph.receives[k]], &Compiler::Out::carried);
  }
  for (Origin& origin : origins_) {
    struct Found {
      std::size_t block_bytes, bytes;
      std::vector<std::pair<std::uint32_t, std::size_t>> members;  // receives and their offsets
    };
    std::vector<Found> found;
    std::size_t largest = 0;
    std::span<const std::byte> described = groups[static_cast<std::size_t>(origin.rank)];
    take<std::uint64_t>(described);
    while (!described.empty()) {
      const auto head = take<GroupHead>(described);
      Found& group = found.emplace_back(head.block_bytes, head.bytes);
      largest = std::max<std::size_t>(largest, head.block_bytes);
      for (std::uint64_t k = 0; k < head.members; ++k) {
        const auto member = take<Member>(described);
        group.members.emplace_back(receives.at({origin.rank, member.tag}), member.offset);
      }
      auto& readers = origin.groups.emplace_back().readers;
      for (const auto& [receive, offset] : group.members)
        for (const int reader : programs.channels[first_receive_ + receive].readers) readers.push_back(reader);
      std::ranges::sort(readers);
      readers.erase(std::ranges::unique(readers).begin(), readers.end());
      origin.readers.insert(origin.readers.end(), readers.begin(), readers.end());
    }
    std::ranges::sort(origin.readers);
    origin.readers.erase(std::ranges::unique(origin.readers).begin(), origin.readers.end());

    SharedMemory* const memory = memory_with(ranks_, origin.rank);
    const bool rare_credits = memory == nullptr && largest <= small;
    const std::size_t blocks = rare_credits ? 8 : largest <= small || carried[origin.rank] ? 4 : 2;
    const std::size_t parked_bytes = up((found.size() + 1) * sizeof(std::uint32_t), apart);
    std::size_t bytes = parked_bytes + origin.readers.size() * apart;
    for (const Found& group : found) bytes += blocks * group.block_bytes;
    origin.window = std::make_shared<ReceiveWindow>(memory, bytes);
    origin.window->credits = parked_bytes;
    origin.blocks = static_cast<std::int64_t>(blocks);
    origin.per_credit = rare_credits ? 4 : 1;
    endpoint_.keep(origin.rank, origin.window);

    auto& to = windows[static_cast<std::size_t>(origin.rank)];
    const auto offset = [&](std::size_t in_window) {
      return memory != nullptr ? memory->offset(origin.window->memory) + in_window : in_window;
    };
    append(to, WindowHead{blocks, static_cast<std::uint64_t>(origin.per_credit), origin.readers.size(), offset(0),
                          offset(parked_bytes)});
    std::size_t at = parked_bytes + origin.readers.size() * apart;
    for (std::size_t g = 0; g < found.size(); ++g) {
      append(to, std::uint64_t{offset(at)});
      origin.groups[g].blocks = origin.window->memory + at;
      origin.groups[g].block_bytes = found[g].block_bytes;
      origin.groups[g].bytes = found[g].bytes;
      if (memory == nullptr) repeat(origin, g, tags);
      for (const auto& [receive, in_block] : found[g].members)
        slots_[receive] = {origin.window->memory + at,
                           found[g].block_bytes,
                           in_block,
                           graph.all_receives()[receive].bytes,
                           static_cast<std::int64_t>(blocks) - 1,
                           &origin.window->parked(g)};
      at += blocks * found[g].block_bytes;
    }
    if (memory == nullptr) {
      origin.read.resize(origin.readers.size());
      origin.credit = ranks_.persistent({true, origin.rank, tags, nullptr, 0, 0, origin.blocks, nullptr, [] {}});
    }
  }
  return windows;
}

void EdgeReceiver::leave_out_waits(InOrderProgram& program, std::uint32_t first_credit) const {
  std::set<std::pair<const std::byte*, bool>> waited;  // for these blocks of a group; of the previous iteration
  const std::vector<Wait> all = std::exchange(program.waits, {});
  auto next = all.begin();
  for (InOrderRecord& record : program.records) {
    for (const auto end = all.begin() + record.waits_end; next != end; ++next) {
      if (next->by_rank && next->channel < first_credit) {
        const std::byte* const blocks = slots_[next->channel - first_receive_].blocks;
        if (waited.contains({blocks, false}) || !waited.emplace(blocks, next->offset == 0).second) continue;
      }
      program.waits.push_back(*next);
    }
    record.waits_end = static_cast<std::uint32_t>(program.waits.size());
  }
}

void EdgeSender::attach(const Messages::Gathered& windows, int tags) {
  for (Destination& to : destinations_) {
    SharedMemory* const memory = memory_with(ranks_, to.rank);
    std::span<const std::byte> bytes = windows[static_cast<std::size_t>(to.rank)];
    const auto head = take<WindowHead>(bytes);
    to.blocks = static_cast<std::int64_t>(head.blocks);
    to.per_credit = static_cast<std::int64_t>(head.per_credit);
    std::atomic<std::uint32_t>* parked = nullptr;
    if (memory != nullptr) {
      parked = reinterpret_cast<std::atomic<std::uint32_t>*>(memory->at(to.rank, head.parked));
      for (std::size_t k = 0; k < head.readers; ++k)
        to.credits.push_back(
            reinterpret_cast<const std::atomic<std::int64_t>*>(memory->at(to.rank, head.credits + k * apart)));
    } else {
      to.own_parked = std::make_unique<std::atomic<std::uint32_t>>(0);
      to.credit = ranks_.persistent({false, to.rank, tags, nullptr, 0, 0, to.blocks, nullptr,
                                     [this, endpoint = endpoint_.shared_from_this(), rank = to.rank] {
                                       endpoint->if_open([&] { on_credit(rank); });
                                     }});
    }
    std::size_t number = 0;
    for (SendGroup& group : groups_) {
      if (group.rank != to.rank) continue;
      const auto offset = take<std::uint64_t>(bytes);
      group.mask = to.blocks - 1;
      if (memory != nullptr) {
        group.blocks = memory->at(to.rank, offset);
        group.parked = parked + number;
      } else {
        group.own = std::make_shared<OwnBlocks>(static_cast<std::size_t>(group.mask + 1) * group.block_bytes);
        group.blocks = group.own->data();
        repeat(to, group, tags);
      }
      ++number;
    }
    to.parked = memory != nullptr ? parked + number : to.own_parked.get();
  }
}

// on_done may be called after the graph was destroyed, and `this` with it: then EdgeEndpoint::if_open does nothing.

void EdgeReceiver::repeat(Origin& from, std::size_t number, int tags) {
  ReceiveGroup& group = from.groups[number];
  group.message = ranks_.persistent(
      {false, from.rank, tags + 1 + static_cast<int>(number), group.blocks + first_offset(group.bytes), group.bytes,
       group.block_bytes, from.blocks, from.window,
       [this, endpoint = endpoint_.shared_from_this(), rank = from.rank, number] {
         endpoint->if_open([&] { on_group(rank, number, origin(rank).groups[number].message->done().load()); });
       }});
}

void EdgeSender::repeat(Destination& to, SendGroup& group, int tags) {
  group.message = ranks_.persistent(
      {true, to.rank, tags + 1 + static_cast<int>(group.number), group.blocks + first_offset(group.bytes), group.bytes,
       group.block_bytes, to.blocks, group.own, [this, endpoint = endpoint_.shared_from_this(), rank = to.rank] {
         endpoint->if_open([&] { on_credit(rank); });
       }});
  to.credits.push_back(&group.message->done());  // so a block is not overwritten while it is sent
}

}  // namespace taskgrain::rt::detail
