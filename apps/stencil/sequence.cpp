/// The star stencil as a sequence of tasks on strips of one grid.

#include "../steps/sequence.hpp"
#include "star.hpp"

namespace {

using namespace apps;

class Stencil {
 public:
  Stencil(const StepsOptions& options, OneRank)
      : options_(options), runtime_({.workers = options.threads}), sequence_(runtime_),
        in_(static_cast<std::size_t>(options.size * options.size)), out_(in_.size()) {
    for (std::int64_t row = 0; row < options.size; ++row)
      for (std::int64_t k = 0; k < options.size; ++k)
        in_[static_cast<std::size_t>(row * options.size + k)] = star::initial(row, k);
    const auto rows = [&](std::vector<double>& grid, std::int64_t begin, std::int64_t end) {
      begin = std::max<std::int64_t>(begin, 0), end = std::min(end, options.size);
      return std::span(grid.data() + begin * options.size, static_cast<std::size_t>((end - begin) * options.size));
    };
    for (int block = 0; block < options.blocks; ++block) {
      const star::Strip strip(options.size, options.blocks, block);
      const rt::DataOptions at{.home = home(options, block)};
      own_.push_back(rows(in_, strip.begin, strip.end));
      of_own_.push_back(sequence_.data(own_.back(), at));
      around_.push_back(sequence_.data(rows(in_, strip.begin - star::radius, strip.end + star::radius), at));
      of_out_.push_back(sequence_.data(rows(out_, strip.begin, strip.end), at));
    }
  }

  void run() {
    run_steps(sequence_, options_, [this] {
      for (std::size_t b = 0; b < own_.size(); ++b)
        sequence_.task({read(around_[b]), read_write(of_out_[b])}, [this, b] {
          const star::Strip strip(options_.size, options_.blocks, static_cast<std::int64_t>(b));
          star::apply(in_.data(), out_.data(), options_.size, strip);
        });
      for (std::size_t b = 0; b < own_.size(); ++b)
        sequence_.task({read_write(of_own_[b])}, [this, b] { star::add_one(own_[b]); });
    });
  }

  Verified verify() const { return star::verify(out_, options_.size, options_.steps); }
  int tasks() const { return 2 * options_.blocks; }

 private:
  const StepsOptions options_;
  rt::Runtime runtime_;
  rt::Sequence sequence_;
  std::vector<double> in_, out_;
  std::vector<std::span<double>> own_;              // the rows of in_ of each block
  std::vector<rt::Data> of_own_, around_, of_out_;  // these, with the rows that a step reads, and those of out_
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_sequence_steps<Stencil>(argc, argv, apps::star::problem); }
