#pragma once

/// A known graph, compiled into what one rank does in each class of steps: receive, execute, send.
///
/// What a rank sends another for a step is one message if it is small or lies in one piece, and otherwise one message
/// for each piece: large outputs are never copied. Either way it arrives in one buffer, and inputs point into that.

#include <mpi.h>

#include <climits>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "taskgrain/error.hpp"
#include "taskgrain/graph.hpp"
#include "taskgrain/step_classes.hpp"

/// A task of this rank.
struct Item {
  std::int64_t point;
  std::byte* output;
  std::span<const std::byte* const> inputs;
};

/// Columns of the step before, increasing, that go to one rank.
struct Send {
  int rank;
  std::vector<taskgrain::Interval> pieces;
  std::vector<std::byte> packed;  ///< empty: the pieces go straight from where they are
};

struct Program {
  std::vector<MPI_Request> receives;  ///< persistent, posted two steps ahead
  std::vector<Send> sends;
  std::vector<Item> items;
  std::size_t sent_items = 0;  ///< how many of `items`, the first ones, other ranks may need
  std::vector<std::pmr::vector<std::byte>> arrivals;
  std::vector<const std::byte*> inputs;
};

class Exchange {
 public:
  using Interval = taskgrain::Interval;
  using Columns = std::function<Interval(int rank)>;

  /// \param memory  where outputs and arrivals lie
  Exchange(const taskgrain::Graph& graph, int rank, int ranks, const Columns& columns,
           std::pmr::memory_resource* memory)
      : graph_(graph), classes_(graph), bytes_(graph.output_bytes()), own_(columns(rank)), owner_(graph_width()),
        memory_(memory) {
    if (bytes_ > INT_MAX)
      throw taskgrain::Unsupported("mpi: output_bytes above 2^31 - 1, the most that one message counts");
    for (int r = 0; r < ranks; ++r)
      for (std::int64_t i = columns(r).first; i <= columns(r).last; ++i) owner_[static_cast<std::size_t>(i)] = r;
    for (auto& row : rows_) row.resize(static_cast<std::size_t>(own_.size()) * bytes_, std::byte{0xff});
    std::set<std::int64_t> sent;
    for (const std::int64_t step : classes_.representatives()) compile(step, programs_.emplace_back(), sent);
    for (Program& program : programs_) {
      const auto rest =
          std::ranges::stable_partition(program.items, [&](const Item& item) { return sent.contains(item.point); });
      program.sent_items = static_cast<std::size_t>(rest.begin() - program.items.begin());
    }
  }
  ~Exchange() {
    for (Program& program : programs_)
      for (MPI_Request& request : program.receives) MPI_Request_free(&request);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  std::int64_t steps() const { return graph_.steps(); }
  const Program& program(std::int64_t step) const { return programs_[class_of(step)]; }
  std::size_t class_of(std::int64_t step) const { return classes_[step]; }
  /// The first step of each class.
  const std::vector<std::int64_t>& representatives() const { return classes_.representatives(); }

  /// Posts the receives of a step. \pre step - 2 is executed: the buffers may be those of that step
  void post(std::int64_t step) {
    if (step >= steps()) return;
    auto& receives = programs_[classes_[step]].receives;
    if (!receives.empty()) MPI_Startall(static_cast<int>(receives.size()), receives.data());
  }

  /// Waits until the inputs of a step have arrived and its outputs may be written: those of step - 2 are sent.
  void wait(std::int64_t step) {
    auto& receives = programs_[classes_[step]].receives;
    if (!receives.empty()) MPI_Waitall(static_cast<int>(receives.size()), receives.data(), MPI_STATUSES_IGNORE);
    finish_sends(step);
  }

  /// Sends the outputs of a step to the ranks that need them for the next.
  void send(std::int64_t step) {
    if (step + 1 >= steps()) return;
    for (Send& send : programs_[classes_[step + 1]].sends) {
      std::byte* packed = send.packed.data();
      for (const Interval piece : send.pieces) {
        if (send.packed.empty()) {
          start_send(step, row(step, piece.first), size_of(piece), send.rank);
        } else {
          std::memcpy(packed, row(step, piece.first), size_of(piece));
          packed += size_of(piece);
        }
      }
      if (!send.packed.empty()) start_send(step, send.packed.data(), send.packed.size(), send.rank);
    }
  }

  /// Waits for the sends of the last two steps.
  void finish() {
    finish_sends(0);
    finish_sends(1);
  }

 private:
  /// Up to here several pieces are cheaper copied into one message than sent as several.
  static constexpr std::size_t most_packed = 4096;

  std::size_t graph_width() const { return static_cast<std::size_t>(graph_.width()); }
  std::size_t size_of(Interval piece) const { return static_cast<std::size_t>(piece.size()) * bytes_; }
  std::byte* row(std::int64_t step, std::int64_t point) {
    return rows_[step & 1].data() + static_cast<std::size_t>(point - own_.first) * bytes_;
  }
  static int count(std::size_t bytes) {
    if (bytes > INT_MAX) throw taskgrain::Unsupported("mpi: a message of more than 2^31 - 1 bytes");
    return static_cast<int>(bytes);
  }
  /// One tag for each graph: between two ranks messages of a graph stay in order.
  int tag() const { return static_cast<int>(graph_.index()); }

  void start_send(std::int64_t step, const std::byte* data, std::size_t bytes, int rank) {
    MPI_Isend(data, count(bytes), MPI_BYTE, rank, tag(), MPI_COMM_WORLD, &pending_[step & 1].emplace_back());
  }
  void finish_sends(std::int64_t step) {
    auto& pending = pending_[step & 1];
    if (!pending.empty()) MPI_Waitall(static_cast<int>(pending.size()), pending.data(), MPI_STATUSES_IGNORE);
    pending.clear();
  }

  using Pieces = std::map<int, std::vector<Interval>>;  ///< by rank

  static Pieces pieces_of(const std::set<std::pair<int, std::int64_t>>& columns) {
    Pieces pieces;
    for (const auto& [rank, column] : columns) {
      auto& of_rank = pieces[rank];
      if (!of_rank.empty() && of_rank.back().last + 1 == column) {
        of_rank.back().last = column;
      } else {
        of_rank.push_back({column, column});
      }
    }
    return pieces;
  }
  bool packs(const std::vector<Interval>& pieces) const {
    std::size_t bytes = 0;
    for (const Interval piece : pieces) bytes += size_of(piece);
    return pieces.size() > 1 && bytes <= most_packed;
  }

  void compile(std::int64_t step, Program& program, std::set<std::int64_t>& sent) {
    const auto owner = [&](std::int64_t column) { return owner_[static_cast<std::size_t>(column)]; };
    std::set<std::pair<int, std::int64_t>> needed, wanted;  // (rank, column): of others by this one, and the reverse
    const auto for_own = [&](std::int64_t at, auto body) {
      for (std::int64_t i = own_.first; i <= own_.last; ++i)
        if (graph_.contains(at, i)) body(i);
    };
    const auto for_points = [](const taskgrain::Points& points, auto body) {
      for (const Interval interval : points)
        for (std::int64_t j = interval.first; j <= interval.last; ++j) body(j);
    };
    for_own(step, [&](std::int64_t i) {
      for_points(graph_.deps(step, i), [&](std::int64_t j) {
        if (!own_.contains(j)) needed.emplace(owner(j), j);
      });
    });
    for_own(step - 1, [&](std::int64_t i) {
      for_points(graph_.reverse_deps(step - 1, i), [&](std::int64_t j) {
        if (!own_.contains(j)) wanted.emplace(owner(j), i), sent.insert(i);
      });
    });

    for (const auto& [rank, pieces] : pieces_of(wanted)) {
      Send& send = program.sends.emplace_back(rank, pieces, std::vector<std::byte>());
      for (const Interval piece : pieces)
        if (packs(pieces)) send.packed.resize(send.packed.size() + size_of(piece));
    }
    std::map<std::int64_t, const std::byte*> arrived;  // where a column of another rank will be
    for (const auto& [rank, pieces] : pieces_of(needed)) receive(program, rank, pieces, arrived);

    std::vector<std::size_t> ends;
    for_own(step, [&](std::int64_t i) {
      for_points(graph_.deps(step, i), [&](std::int64_t j) {
        program.inputs.push_back(own_.contains(j) ? row(step - 1, j) : arrived.at(j));
      });
      program.items.push_back({i, row(step, i), {}});
      ends.push_back(program.inputs.size());
    });
    for (std::size_t k = 0; k < ends.size(); ++k) {
      const std::size_t first = k == 0 ? 0 : ends[k - 1];
      program.items[k].inputs = std::span(program.inputs).subspan(first, ends[k] - first);
    }
  }

  void receive(Program& program, int rank, const std::vector<Interval>& pieces,
               std::map<std::int64_t, const std::byte*>& arrived) {
    std::size_t total = 0;
    for (const Interval piece : pieces) total += size_of(piece);
    std::byte* at = program.arrivals.emplace_back(total, memory_).data();
    const auto expect = [&](std::byte* buffer, std::size_t bytes) {
      MPI_Recv_init(buffer, count(bytes), MPI_BYTE, rank, tag(), MPI_COMM_WORLD, &program.receives.emplace_back());
    };
    if (packs(pieces)) expect(at, total);
    for (const Interval piece : pieces) {
      if (!packs(pieces)) expect(at, size_of(piece));
      for (std::int64_t j = piece.first; j <= piece.last; ++j, at += bytes_) arrived[j] = at;
    }
  }

  const taskgrain::Graph& graph_;
  taskgrain::StepClasses classes_;
  std::size_t bytes_;
  Interval own_;
  std::vector<int> owner_;
  std::pmr::memory_resource* memory_;
  std::pmr::vector<std::byte> rows_[2]{
      std::pmr::vector<std::byte>(memory_),
      std::pmr::vector<std::byte>(memory_)};  ///< outputs of even and odd steps, own columns only
  std::vector<Program> programs_;
  std::vector<MPI_Request> pending_[2];  ///< sends of even and odd steps
};

/// Every graph has a tag of its own. \throws taskgrain::Unsupported if this MPI has fewer
inline void check_tags(std::size_t graphs) {
  int* most = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
  if (found != 0 && graphs > static_cast<std::size_t>(*most))
    throw taskgrain::Unsupported("mpi: " + std::to_string(graphs) + " graphs, a tag each; this MPI has " +
                                 std::to_string(*most));
}
