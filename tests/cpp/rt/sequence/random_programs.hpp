#pragma once

/// Random programs: tasks over random data that overlaps, and what they do one after the other.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "rt/graph/simulated_device.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/sequence.hpp"

namespace taskgrain::rt::random_programs {

inline constexpr std::size_t elements = 48, columns = 8, sums = 3, streams = 2;

/// A block of the elements, as a matrix of `columns`; several of them are a set.
struct Piece {
  std::size_t first, rows, width;
};
struct Use {
  std::size_t data;
  Mode mode;
};
struct Step {
  std::uint64_t seed;
  std::vector<Use> uses;
  std::optional<std::size_t> sum;     // that its result is added to
  std::optional<std::size_t> stream;  // of a device that does it
};

struct Memory {
  std::vector<std::uint64_t> cells = std::vector<std::uint64_t>(elements + sums, 1);

  std::uint64_t& sum(std::size_t k) { return cells[elements + k]; }
  bool operator==(const Memory&) const = default;
};

class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed) {
    for (std::size_t k = 0; k < 4 + below(8); ++k) {
      auto& pieces = data_.emplace_back();
      for (std::size_t n = below(5) == 0 ? 3 : 1; n > 0; --n) {
        const std::size_t row = below(elements / columns), column = below(columns);
        pieces.push_back({row * columns + column, 1 + below(elements / columns - row), 1 + below(columns - column)});
      }
    }
    for (std::size_t k = 0; k < 5 + below(40); ++k) steps_.push_back(any_step());
  }

  std::size_t data() const { return data_.size(); }
  const std::vector<Piece>& pieces(std::size_t k) const { return data_[k]; }
  const std::vector<Step>& steps() const { return steps_; }

  template <typename Each>
  void each_cell(std::size_t data, const Each& each) const {
    std::vector<bool> seen(elements);
    for (const Piece& piece : data_[data])
      for (std::size_t row = 0; row < piece.rows; ++row)
        for (std::size_t k = 0; k < piece.width; ++k)
          if (const std::size_t cell = piece.first + row * columns + k; !seen[cell]) seen[cell] = true, each(cell);
  }
  /// \returns the result
  std::uint64_t run(const Step& step, Memory& memory, std::int64_t iteration) const {
    std::uint64_t hash = mixed(step.seed + static_cast<std::uint64_t>(iteration));
    for (const auto& [data, mode] : step.uses)
      if (mode == Mode::read || mode == Mode::read_write)
        each_cell(data, [&](std::size_t cell) { hash = mixed(hash ^ memory.cells[cell]); });
    for (const auto& [data, mode] : step.uses) {
      if (mode == Mode::write || mode == Mode::read_write)
        each_cell(data, [&](std::size_t cell) { memory.cells[cell] = mixed(hash + cell); });
      if (mode == Mode::commutative) each_cell(data, [&](std::size_t cell) { memory.cells[cell] += hash + cell; });
    }
    return hash;
  }
  static std::uint64_t add(std::uint64_t sum, std::uint64_t value) { return 31 * sum + value; }  // shows the order

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool apart(std::size_t a, std::size_t b) const {
    std::vector<bool> of_a(elements);
    bool apart = true;
    each_cell(a, [&](std::size_t cell) { of_a[cell] = true; });
    each_cell(b, [&](std::size_t cell) { apart = apart && !of_a[cell]; });
    return apart;
  }
  Step any_step() {
    Step step{random_(), {}, {}, {}};
    for (std::size_t n = below(4); n > 0; --n) {
      const Use use{below(data()), static_cast<Mode>(below(4))};
      // What commutes sees none of what the others have done.
      const bool fits = std::ranges::all_of(step.uses, [&](const Use& other) {
        return other.data != use.data &&
               ((use.mode != Mode::commutative && other.mode != Mode::commutative) || apart(use.data, other.data));
      });
      if (fits) step.uses.push_back(use);
    }
    if (below(4) == 0)
      step.sum = below(sums);
    else if (below(3) == 0)
      step.stream = below(streams);
    return step;
  }

  std::mt19937_64 random_;
  std::vector<std::vector<Piece>> data_;
  std::vector<Step> steps_;
};

/// The program on a sequence: of this rank alone, or of all, where some data has a rank and only that knows what is
/// there at first.
class Given {
 public:
  Given(Runtime& runtime, const RandomProgram& program, std::size_t window, std::size_t automatic = 0)
      : Given(runtime, nullptr, program, window, automatic) {}
  Given(Runtime& runtime, Communicator* ranks, const RandomProgram& program, std::size_t window,
        std::size_t automatic = 0)
      : program_(program),
        sequence_(ranks == nullptr ? Sequence(runtime, {.window = window, .automatic_traces = automatic})
                                   : Sequence(runtime, *ranks, {.window = window})) {
    const auto rank_of = [&](std::size_t k) {
      if (ranks == nullptr) return -1;
      return static_cast<int>(mixed(100 * program.steps().size() + k) % (static_cast<unsigned>(ranks->ranks()) + 1)) -
             1;
    };
    const auto make = [&](std::size_t cell, int rank) {
      if (rank >= 0) memory.cells[cell] = rank == ranks->rank() ? 1 : 666;
    };
    for (std::size_t k = 0; k < program.data(); ++k) {
      std::vector<Data> pieces;
      const DataOptions options{.rank = rank_of(k)};
      const bool one = program.pieces(k).size() == 1;
      for (const Piece& piece : program.pieces(k))
        pieces.push_back(sequence_.block(&memory.cells[piece.first], piece.rows, piece.width, columns,
                                         one ? options : DataOptions{}));
      if (one)
        data_.push_back(std::move(pieces[0]));
      else
        data_.push_back(sequence_.together({&pieces[0], &pieces[1], &pieces[2]}, options));
      program.each_cell(k, [&](std::size_t cell) { make(cell, options.rank); });
    }
    for (std::size_t k = 0; k < sums; ++k) {
      const int rank = rank_of(program.data() + k);
      sums_.push_back(sequence_.data(memory.sum(k), {.rank = rank}));
      make(elements + k, rank);
    }
  }

  /// Waits for all of the memory.
  void wait() {
    for (const auto* some : {&data_, &sums_})
      for (const Data& one : *some) sequence_.wait(one);
    sequence_.wait();
  }
  void give() { give(program_.steps().size()); }
  void give(std::size_t steps) {
    for (const Step& step : std::span(program_.steps()).first(steps)) {
      std::vector<Access> accesses;
      for (const Use& use : step.uses) accesses.push_back(data_[use.data].access(use.mode));
      const auto run = [this, &step](const Turn& turn) { return program_.run(step, memory, turn.iteration); };
      if (step.sum)
        sequence_.reduce(sums_[*step.sum], memory.sum(*step.sum), RandomProgram::add, accesses, run);
      else if (step.stream)
        sequence_.async_task<Event>(accesses, [this, &step, run](const Turn& turn, const Issue<Event>& issue) {
          return device_.submit(*step.stream, issue.after, [run, turn] { run(turn); }, issue.done);
        });
      else
        sequence_.task(accesses, [run](const Turn& turn) { run(turn); });
    }
  }
  void wait(std::size_t data) { sequence_.wait(data_[data]); }
  /// A task that comes before all that comes, and waits.
  void hold(const std::atomic<bool>& go) {
    std::vector<Access> accesses;
    for (const Data& one : data_) accesses.push_back(write(one));
    for (const Data& one : sums_) accesses.push_back(write(one));
    sequence_.task(accesses, [&go] {
      while (!go) std::this_thread::yield();
    });
  }
  Sequence& sequence() { return sequence_; }

  Memory memory;

 private:
  using Event = SimulatedDevice::Event;

  const RandomProgram& program_;
  SimulatedDevice device_{streams};
  Sequence sequence_;
  std::vector<Data> data_, sums_;
};

inline void run_serially(const RandomProgram& program, std::size_t steps, Memory& memory, std::int64_t iteration) {
  for (const Step& step : std::span(program.steps()).first(steps)) {
    const std::uint64_t result = program.run(step, memory, iteration);
    if (step.sum) memory.sum(*step.sum) = RandomProgram::add(memory.sum(*step.sum), result);
  }
}
inline Memory serial(const RandomProgram& program, std::int64_t rounds, bool iterations) {
  Memory memory;
  for (std::int64_t k = 0; k < rounds; ++k) run_serially(program, program.steps().size(), memory, iterations ? k : 0);
  return memory;
}

}  // namespace taskgrain::rt::random_programs
