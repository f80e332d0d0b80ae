/// The gas as a sequence of tasks: one for each block and stage, which fetches its ghosts from its neighbours' cells.

#include <array>
#include <deque>
#include <span>
#include <vector>

#include "../steps/sequence.hpp"
#include "euler.hpp"

namespace {

using namespace apps;

class Aero {
 public:
  Aero(const StepsOptions& options, OneRank)
      : options_(options), mesh_(euler::box(options.size)), partition_(mesh_, options.blocks),
        step_(euler::time_step(options.size, options.steps)), runtime_({.workers = options.threads}),
        sequence_(runtime_) {
    for (int b = 0; b < options.blocks; ++b) {
      Part& part = parts_.emplace_back(euler::Block(mesh_, partition_, b));
      for (std::size_t k = 0; k < part.cells.size(); ++k) {
        part.cells[k] = part.block.initial();
        part.data[k] = sequence_.data(std::span(part.cells[k].data(), part.block.own()), {.home = home(options, b)});
      }
    }
    for (Part& part : parts_)
      for (std::size_t stage = 0; stage < way.size(); ++stage) {
        const auto [now, next] = way[stage];
        part.uses[stage] = {next == 0 ? read_write(part.data[0]) : write(part.data[next]), read(part.data[now])};
        if (now != 0 && next != 0) part.uses[stage].push_back(read(part.data[0]));
        for (const auto& one : part.block.neighbours()) part.uses[stage].push_back(read(at(one.block).data[now]));
      }
  }

  void run() {
    run_steps(sequence_, options_, [this] {
      for (std::size_t stage = 0; stage < way.size(); ++stage)
        for (Part& part : parts_)
          sequence_.task(std::span<const rt::Access>(part.uses[stage]), [this, &part, stage] { advance(part, stage); });
    });
  }

  Verified verify() const {
    std::vector<double> all;
    for (const Part& part : parts_) {
      const auto values = euler::values(part.cells[0], part.block.own());
      all.insert(all.end(), values.begin(), values.end());
    }
    return euler::verify(mesh_, partition_, all, options_.size, options_.steps);
  }
  int tasks() const { return static_cast<int>(way.size()) * options_.blocks; }

 private:
  /// From which cells to which a stage goes: elsewhere, as neighbours may still read those that it starts from. A step
  /// starts from 0, and ends there.
  struct Way {
    std::size_t now, next;
  };
  static constexpr std::array<Way, euler::stages.size()> way{{{0, 1}, {1, 2}, {2, 1}, {1, 0}}};
  struct Part {
    explicit Part(euler::Block&& of) : block(std::move(of)) {}

    euler::Block block;
    std::array<std::vector<euler::Cell>, 3> cells;
    std::array<rt::Data, 3> data;  // own cells
    std::array<std::vector<rt::Access>, euler::stages.size()> uses;
  };

  Part& at(int block) { return parts_[static_cast<std::size_t>(block)]; }
  void advance(Part& part, std::size_t stage) {
    const auto [now, next] = way[stage];
    for (const auto& one : part.block.neighbours()) {
      const std::vector<euler::Cell>& from = at(one.block).cells[now];
      euler::Cell* ghost = &part.cells[now][one.begin];
      for (const int cell : one.theirs) *ghost++ = from[static_cast<std::size_t>(cell)];
    }
    part.block.advance(part.cells[now], part.cells[0], part.cells[next], euler::stages[stage] * step_);
  }

  const StepsOptions options_;
  const euler::Mesh mesh_;
  const euler::Partition partition_;
  const double step_;
  std::deque<Part> parts_;  // they stay where they are
  rt::Runtime runtime_;
  rt::Sequence sequence_;
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_sequence_steps<Aero>(argc, argv, apps::euler::problem); }
