#include <algorithm>
#include <unordered_map>
#include <utility>

#include "graph_compiler.hpp"
#include "program.hpp"

namespace taskgrain::rt::detail {

namespace {

class InOrderCompiler {
 public:
  InOrderCompiler(const Compiler& graph, int workers)
      : graph_(graph), workers_(static_cast<std::size_t>(workers)), place_(graph.size()), incoming_(workers_),
        needs_(workers_) {
    programs_.workers.resize(workers_);
    programs_.devices = graph.devices();
  }

  InOrderPrograms compile(CompileStatistics& statistics) {
    lay_out();
    make_external_channels();
    collect_incoming();
    collect_credits();
    for (std::size_t w = 0; w < workers_; ++w) find_waits(w);
    for (auto& places : watched_) {
      std::ranges::sort(places);
      places.erase(std::ranges::unique(places).begin(), places.end());
      statistics.messages += places.size();
    }
    for (std::size_t w = 0; w < workers_; ++w) number_waits(w);
    number_signals();
    return std::move(programs_);
  }

 private:
  /// An edge to a record of this program from another program, a device, an event or a rank.
  struct Incoming {
    RecordIndex record;
    std::uint32_t channel;
    RecordIndex place;  // index of the record that signals, in its program; 0 if no program writes the channel
    bool carried;
  };
  /// A wait. number_waits computes its value.
  struct Need {
    std::uint32_t channel;
    RecordIndex place;
    bool carried;
  };

  bool external(std::uint32_t channel) const { return programs_.channels[channel].writer < 0; }

  bool sends(std::uint32_t n) const { return graph_.node(n).kind == Compiler::NodeKind::send; }

  /// Orders each program by level; within a level first the records that other workers wait for, then sends, those to
  /// one rank together, then the rest.
  void lay_out() {
    std::vector<std::vector<std::uint32_t>> nodes(workers_);
    std::vector<bool> watched(graph_.size(), false);
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      if (graph_.external(n)) continue;
      nodes[static_cast<std::size_t>(graph_.worker(n))].push_back(n);
      watched[n] = std::ranges::any_of(graph_.out[n], [&](const auto& edge) {
        return graph_.worker(edge.to) != graph_.worker(n) || sends(edge.to);
      });
    }
    for (std::size_t w = 0; w < workers_; ++w) {
      std::ranges::stable_sort(nodes[w], {}, [&](std::uint32_t n) {
        return sends(n) ? std::pair(3 * level_of_send(n) + 1, rank_of_send(n))
                        : std::pair(3 * std::uint64_t{graph_.level[n]} + (watched[n] ? 0 : 2), 0);
      });
      programs_.workers[w].records.reserve(nodes[w].size());
      for (const std::uint32_t n : nodes[w]) lay_out(n, programs_.workers[w].records);
    }
  }

  int rank_of_send(std::uint32_t n) const { return graph_.all_sends()[graph_.number[n]].rank; }
  /// The level of the last task before it.
  std::uint64_t level_of_send(std::uint32_t n) const { return graph_.level[n] == 0 ? 0 : graph_.level[n] - 1; }

  /// Consecutive sends of one level to one rank become one record. Not of different levels: an earlier send must not
  /// wait for the predecessors of a later one.
  void lay_out(std::uint32_t n, std::vector<InOrderRecord>& records) {
    if (sends(n)) {
      const int rank = rank_of_send(n);
      const bool joins = !records.empty() && records.back().instruction == Instruction::send &&
                         programs_.groups[records.back().operand].rank == rank &&
                         level_of_send(n) == level_of_last_send_;
      if (!joins) {
        records.push_back({graph_.step(n)});
        records.back().operand = static_cast<std::uint32_t>(programs_.groups.size());
        programs_.groups.push_back({rank, {}});
      }
      programs_.groups.back().sends.push_back(graph_.number[n]);
      level_of_last_send_ = level_of_send(n);
    } else {
      records.push_back({graph_.step(n)});
    }
    place_[n] = static_cast<RecordIndex>(records.size() - 1);
  }

  void make_external_channels() {
    for (const DeviceTask& task : programs_.devices.tasks)
      programs_.channels.push_back({-1, {task.worker}});  // the worker waits for its devices at the end of a launch
    programs_.channels.resize(programs_.channels.size() + graph_.preconditions.size(), {-1, {}});
    programs_.first_receive = static_cast<std::uint32_t>(programs_.channels.size());
    programs_.channels.resize(programs_.channels.size() + graph_.receives.size(), {-1, {}});
    programs_.first_credit = static_cast<std::uint32_t>(programs_.channels.size());
    for (const auto& send : graph_.all_sends()) programs_.target_ranks.push_back(send.rank);
    std::ranges::sort(programs_.target_ranks);
    programs_.target_ranks.erase(std::ranges::unique(programs_.target_ranks).begin(), programs_.target_ranks.end());
    programs_.channels.resize(programs_.channels.size() + programs_.target_ranks.size(), {-1, {}});
    first_between_ = static_cast<std::uint32_t>(programs_.channels.size());
    watched_.resize(programs_.channels.size());
  }

  std::uint32_t channel_between(int from, int to) {
    const std::uint64_t pair = static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint64_t>(to);
    const auto [at, is_new] = between_.emplace(pair, static_cast<std::uint32_t>(programs_.channels.size()));
    if (is_new) {
      programs_.channels.push_back({from, {to}});
      watched_.emplace_back();
    }
    return at->second;
  }

  void collect_incoming() {
    for (std::uint32_t n = 0; n < graph_.size(); ++n)
      for (const auto& [to, carried] : graph_.out[n]) {
        auto& incoming = incoming_[static_cast<std::size_t>(graph_.worker(to))];
        const bool on_device = graph_.on_device(n, to);
        if (graph_.node(n).kind == Compiler::NodeKind::receive)
          incoming.push_back({place_[to], programs_.first_receive + graph_.number[n], 0, carried});
        else if (graph_.external(n))
          incoming.push_back(
              {place_[to], InOrderPrograms::channel_of_precondition(graph_.number[n], programs_.devices), 0, carried});
        else if (graph_.node(n).kind == Compiler::NodeKind::async && !on_device)
          incoming.push_back({place_[to], InOrderPrograms::channel_of_device_task(graph_.number[n]), 0, carried});
        else if (graph_.worker(n) != graph_.worker(to))
          incoming.push_back({place_[to], channel_between(graph_.worker(n), graph_.worker(to)), place_[n], carried});
      }
  }

  /// The first send of a program to a rank waits for credits of that rank.
  void collect_credits() {
    for (std::size_t w = 0; w < workers_; ++w) {
      std::vector<bool> seen(programs_.target_ranks.size(), false);
      const auto& records = programs_.workers[w].records;
      for (RecordIndex place = 0; place < records.size(); ++place) {
        if (records[place].instruction != Instruction::send) continue;
        const int rank = programs_.groups[records[place].operand].rank;
        const auto k = static_cast<std::size_t>(std::ranges::lower_bound(programs_.target_ranks, rank) -
                                                programs_.target_ranks.begin());
        if (seen[k]) continue;
        seen[k] = true;
        incoming_[w].push_back({place, programs_.first_credit + static_cast<std::uint32_t>(k), 0, false});
      }
    }
  }

  /// Finds the waits of a program that no earlier wait implies: for each record and channel, only the latest record
  /// that it needs.
  void find_waits(std::size_t w) {
    struct Latest {
      // Indices + 1 of the writer's records: the program has waited for `waited`, this record needs `needed`. [1]: of
      // the previous iteration (carried edges).
      std::uint64_t waited[2] = {0, 0}, needed[2] = {0, 0};
    };
    std::unordered_map<std::uint32_t, Latest> all;
    std::vector<std::uint32_t> channels;  // of one record
    auto& incoming = incoming_[w];
    auto& records = programs_.workers[w].records;
    std::ranges::stable_sort(incoming, {}, &Incoming::record);
    const auto need = [&](std::uint32_t channel, Latest& latest, bool carried) {
      if (latest.needed[carried] <= latest.waited[carried]) return;
      const auto place = static_cast<RecordIndex>((latest.waited[carried] = latest.needed[carried]) - 1);
      needs_[w].push_back({channel, place, carried});
      if (!external(channel))
        watched_[channel].push_back(place);
      else if (auto& readers = programs_.channels[channel].readers; !std::ranges::count(readers, static_cast<int>(w)))
        readers.push_back(static_cast<int>(w));
    };
    auto next = incoming.begin();
    for (RecordIndex record = 0; record < records.size(); ++record) {
      channels.clear();
      for (; next != incoming.end() && next->record == record; ++next) {
        auto& needed = all[next->channel].needed[next->carried];
        needed = std::max(needed, std::uint64_t{next->place} + 1);
        channels.push_back(next->channel);
      }
      for (const std::uint32_t channel : channels) {
        Latest& latest = all[channel];
        need(channel, latest, false);
        if (latest.waited[false] == 0) need(channel, latest, true);
      }
      records[record].waits_end = static_cast<std::uint32_t>(needs_[w].size());
    }
  }

  void number_waits(std::size_t w) {
    auto& waits = programs_.workers[w].waits;
    waits.reserve(needs_[w].size());
    for (const auto& [channel, place, carried] : needs_[w]) {
      if (external(channel)) {
        const bool by_rank = channel >= programs_.first_receive && channel < first_between_;
        waits.push_back({carried ? 0 : 1, 1, channel, true, by_rank});
        continue;
      }
      const auto& places = watched_[channel];
      const std::int64_t k = std::ranges::lower_bound(places, place) - places.begin() + 1,
                         stride = static_cast<std::int64_t>(places.size());
      waits.push_back({carried ? k - stride : k, stride, channel, false});
    }
  }

  void number_signals() {
    std::vector<std::vector<std::pair<RecordIndex, Signal>>> signals(workers_);
    for (std::uint32_t channel = 0; channel < watched_.size(); ++channel) {
      const auto& places = watched_[channel];
      for (std::size_t k = 0; k < places.size(); ++k)
        signals[static_cast<std::size_t>(programs_.channels[channel].writer)].push_back(
            {places[k], {static_cast<std::int64_t>(k) + 1, static_cast<std::int64_t>(places.size()), channel}});
    }
    for (std::size_t w = 0; w < workers_; ++w) {
      InOrderProgram& program = programs_.workers[w];
      std::ranges::stable_sort(signals[w], {}, [](const auto& one) { return one.first; });
      auto next = signals[w].begin();
      for (RecordIndex place = 0; place < program.records.size(); ++place) {
        for (; next != signals[w].end() && next->first == place; ++next) program.signals.push_back(next->second);
        program.records[place].signals_end = static_cast<std::uint32_t>(program.signals.size());
      }
    }
  }

  const Compiler& graph_;
  const std::size_t workers_;
  std::vector<RecordIndex> place_;               // by node
  std::uint64_t level_of_last_send_ = 0;         // of those laid out
  std::vector<std::vector<Incoming>> incoming_;  // by worker
  std::vector<std::vector<Need>> needs_;
  std::unordered_map<std::uint64_t, std::uint32_t> between_;  // channels by their ends
  std::vector<std::vector<RecordIndex>> watched_;  // by channel: places in the writer's program; none if it is external
  std::uint32_t first_between_ = 0;                // channel between workers
  InOrderPrograms programs_;
};

}  // namespace

InOrderPrograms compile_in_order(const Compiler& graph, CompileStatistics& statistics) {
  return InOrderCompiler(graph, graph.workers).compile(statistics);
}

}  // namespace taskgrain::rt::detail
