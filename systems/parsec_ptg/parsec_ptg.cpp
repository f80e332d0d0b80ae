/// Parameterized task graph: points.jdf says which tasks each task comes after and which come after it, as functions of
/// its step and point; PaRSEC unrolls the graph from there while it runs.

#include <climits>
#include <deque>
#include <vector>

#include "context.hpp"
#include "part.h"
#include "taskgrain/error.hpp"
#include "taskgrain/task_table.hpp"

extern "C" {
#include "points.h"
}

struct part {
  part(taskgrain::Execution& run_, std::size_t g_, int cores)
      : run(run_), g(g_), table(run.graphs()[g]), workers(run.contexts(cores)) {
    if (table.graph().tasks() >= INT_MAX)
      throw taskgrain::Unsupported("parsec_ptg: " + std::to_string(table.graph().tasks()) +
                                   " tasks, more than PaRSEC counts");
  }

  taskgrain::Execution& run;
  const std::size_t g;
  const taskgrain::TaskTable table;
  const std::vector<taskgrain::ThreadContext*> workers;
};

extern "C" {
int last_step(const part* p) { return static_cast<int>(p->table.graph().steps() - 1); }
int first_point(const part* p, int step) { return static_cast<int>(p->table.graph().points(step).first); }
int last_point(const part* p, int step) { return static_cast<int>(p->table.graph().points(step).last); }

int roots_of(const part* p) { return static_cast<int>(p->table.roots().size()); }
int root_step(const part* p, int k) { return static_cast<int>(p->table.roots()[static_cast<std::size_t>(k)].step); }
int root_point(const part* p, int k) { return static_cast<int>(p->table.roots()[static_cast<std::size_t>(k)].point); }

int number_before(const part* p, int step, int point) { return static_cast<int>(p->table(step, point).before.size()); }
int point_before(const part* p, int step, int point, int k) {
  return static_cast<int>(p->table(step, point).before[static_cast<std::size_t>(k)]);
}
int number_after(const part* p, int step, int point) { return static_cast<int>(p->table.after(step, point).size()); }
int point_after(const part* p, int step, int point, int k) {
  return static_cast<int>(p->table.after(step, point)[static_cast<std::size_t>(k)]);
}

/// PaRSEC is in C, and carries no exception: one ends the process.
void execute_task(const part* p, int worker, int step, int point) {
  [&]() noexcept {
    const taskgrain::TaskTable::Task& task = p->table(step, point);
    p->run.execute_point(*p->workers[static_cast<std::size_t>(worker)], p->g, step, point, task.output, task.inputs);
  }();
}
}

namespace {

template <typename T>
T here(parsec_data_collection_t*, ...) {
  return 0;
}

class ParsecPtg final : public ParsecSystem {
 public:
  ParsecPtg() {
    parsec_data_collection_init(&place_, 1, 0);
    place_.rank_of = here<std::uint32_t>;
    place_.vpid_of = here<std::int32_t>;
    place_.data_key = here<parsec_data_key_t>;
  }
  ~ParsecPtg() override { parsec_data_collection_destroy(&place_); }

  std::string name() const override { return "parsec_ptg"; }

  void prepare(taskgrain::Execution& run) override {
    parts_.clear();
    for (std::size_t g = 0; g < run.graphs().size(); ++g) parts_.emplace_back(run, g, cores());
  }

  void execute(taskgrain::Execution&) override {
    std::vector<parsec_taskpool_t*> pools;
    for (const part& one : parts_) {
      pools.push_back(&parsec_points_new(&one, &place_)->super);
      parsec_context_add_taskpool(context(), pools.back());
    }
    for (parsec_taskpool_t* pool : pools) {
      parsec_taskpool_wait(pool);
      parsec_taskpool_free(pool);
    }
  }

 private:
  parsec_data_collection_t place_;  ///< where tasks run: PaRSEC asks each for its rank
  std::deque<part> parts_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<ParsecPtg>(argc, argv); }
