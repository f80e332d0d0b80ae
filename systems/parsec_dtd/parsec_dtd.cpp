/// One thread inserts a task for each point, in program order, and works with the others when it is far ahead.

#include <deque>
#include <vector>

#include "insertion.hpp"

namespace {

using namespace taskgrain;

class ParsecDtd final : public ParsecSystem {
 public:
  std::string name() const override { return "parsec_dtd"; }

  void prepare(Execution& run) override {
    parts_.clear();
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      ParsecInsertion::check(run.graphs()[g]);
      parts_.emplace_back(run, g, cores(), ParsecShare{.columns = {{0, run.graphs()[g].width() - 1}}});
    }
  }

  void execute(Execution& run) override {
    std::vector<parsec_dtd_tile_t*> inputs;
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step)
      for (ParsecPart& part : parts_) {
        const Interval points = part.graph.points(step);
        for (std::int64_t point = points.first; point <= points.last; ++point) {
          inputs.clear();
          for (const Interval deps : part.graph.deps(step, point))
            for (std::int64_t dep = deps.first; dep <= deps.last; ++dep) inputs.push_back(part.output(step - 1, dep));
          insertion_.insert(part, step, point, inputs);
        }
      }
    for (ParsecPart& part : parts_) insertion_.flush(part);
    insertion_.wait();
  }

 private:
  ParsecInsertion insertion_{context()};
  std::deque<ParsecPart> parts_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<ParsecDtd>(argc, argv); }
