/// Conjugate gradients as a sequence of tasks: two of each block in a step.

#include "../steps/sequence.hpp"
#include "poisson.hpp"

namespace {

using namespace apps;

class Solver {
 public:
  Solver(const StepsOptions& options, OneRank)
      : options_(options), chunks_(options, options.blocks, "blocks"),
        blocks_(static_cast<std::size_t>(options.blocks)), runtime_({.workers = options.threads}), sequence_(runtime_),
        of_all_curvature_(sequence_.data(curvature_)), of_all_residuals_(sequence_.data(residuals_)) {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const std::size_t first = chunks_.first(b), count = chunks_.first(b + 1) - first;
      const rt::DataOptions at{.home = home(options, static_cast<int>(b))};
      of_block_.push_back(sequence_.data(blocks_[b], at));
      of_curvature_.push_back(sequence_.data(std::span(curvature_).subspan(first, count), at));
      of_residual_.push_back(sequence_.data(std::span(residuals_).subspan(first, count), at));
      // The worker that will use this memory is the first to touch it.
      sequence_.task({write(of_block_[b]), write(of_residual_[b])}, [this, b] {
        blocks_[b] = cg::Block(chunks_, b);
        blocks_[b].descend({}, residuals_);
      });
    }
    sequence_.wait();
  }

  void run() {
    run_steps(sequence_, options_, [this] {
      for (std::size_t b = 0; b < blocks_.size(); ++b)
        sequence_.task({read(of_all_residuals_), read_write(of_block_[b]), write(of_curvature_[b])},
                       [this, b] { blocks_[b].advance(residuals_, curvature_); });
      for (std::size_t b = 0; b < blocks_.size(); ++b)
        sequence_.task({read(of_all_curvature_), read_write(of_block_[b]), write(of_residual_[b])},
                       [this, b] { blocks_[b].descend(curvature_, residuals_); });
    });
  }

  Verified verify() const {
    std::vector<double> all;
    for (const cg::Block& block : blocks_) all.insert(all.end(), block.x().begin(), block.x().end());
    return cg::verify(all, cg::sum(residuals_), options_.steps);
  }
  int tasks() const { return 2 * options_.blocks; }

 private:
  const StepsOptions options_;
  const cg::Chunks chunks_;
  alignas(64) cg::Curvature curvature_{};  // lines of the cache, whose parts two workers write
  alignas(64) cg::Residuals residuals_{};
  std::vector<cg::Block> blocks_;
  rt::Runtime runtime_;
  rt::Sequence sequence_;
  const rt::Data of_all_curvature_, of_all_residuals_;
  std::vector<rt::Data> of_block_, of_curvature_, of_residual_;
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_sequence_steps<Solver>(argc, argv, apps::cg::problem); }
