/// Lagrangian hydrodynamics as a sequence of tasks on blocks. The time step is a reduction.

#include "../steps/sequence.hpp"
#include "sod.hpp"

namespace {

using namespace apps;

class Hydro {
 public:
  Hydro(const StepsOptions& options, OneRank)
      : options_(options), runtime_({.workers = options.threads}), sequence_(runtime_) {
    const hydro::Mesh mesh = hydro::sod::mesh(options.size);
    blocks_.reserve(static_cast<std::size_t>(options.blocks));
    for (int b = 0; b < options.blocks; ++b) {
      hydro::Block& block = blocks_.emplace_back(hydro::sod::block(mesh, options, options.blocks, b));
      const rt::DataOptions at{.home = home(options, b)};
      clock_ = shorter(clock_, block.clock());
      of_block_.push_back(sequence_.data(block, at));
      of_sent_.push_back(sequence_.token(at));
    }
    of_clock_ = sequence_.data(clock_);
  }

  void run() {
    run_steps(sequence_, options_, [this] {
      for (std::size_t b = 0; b < blocks_.size(); ++b)
        sequence_.task({read(of_clock_), read_write(of_block_[b]), write(of_sent_[b])},
                       [this, b] { blocks_[b].push(clock_.dt); });
      for (std::size_t b = 0; b < blocks_.size(); ++b) {
        std::vector<rt::Access> uses{read_write(of_block_[b])};
        for (const hydro::Border& border : blocks_[b].borders()) uses.push_back(read(of_sent_[border.block]));
        sequence_.reduce(of_clock_, clock_, hydro::shorter, uses, [this, b] {
          for (hydro::Border& border : blocks_[b].borders())
            std::ranges::copy(sent(border.block, b), border.received.begin());
          return blocks_[b].move();
        });
      }
    });
  }

  Verified verify() const {
    std::vector<double> all;
    for (const hydro::Block& block : blocks_) {
      const std::vector<double> values = block.values();
      all.insert(all.end(), values.begin(), values.end());
    }
    return hydro::sod::verify(all, options_.size, clock_.time);
  }
  int tasks() const { return 2 * options_.blocks + 1; }

 private:
  const std::vector<hydro::Vec>& sent(int from, std::size_t to) {
    return std::ranges::find(blocks_[from].borders(), static_cast<int>(to), &hydro::Border::block)->sent;
  }

  const StepsOptions options_;
  std::vector<hydro::Block> blocks_;
  hydro::Clock clock_{0.0, hydro::sod::end};
  rt::Runtime runtime_;
  rt::Sequence sequence_;
  std::vector<rt::Data> of_block_, of_sent_;  // each block, and the forces that it gives to others
  rt::Data of_clock_;
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_sequence_steps<Hydro>(argc, argv, apps::hydro::sod::problem); }
