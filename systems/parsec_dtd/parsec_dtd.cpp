/// Dynamic task discovery: one thread inserts a task for each point, in program order, and works with the others when
/// it is far ahead; PaRSEC infers their dependences from the data that they read and write.

#include <parsec/data.h>
#include <parsec/data_distribution.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../parsec_ptg/context.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/outputs.hpp"

namespace {

using namespace taskgrain;

/// Inputs that a task can have, besides its output.
constexpr int most_inputs = MAX_PARAM_COUNT - 1;

/// The data of one graph: the outputs of a ring of steps.
class Part : public parsec_data_collection_t {
 public:
  Part(Execution& run_, std::size_t g_, int cores)
      : run(run_), g(g_), graph(run.graphs()[g]), workers(run.contexts(cores)), outputs_(graph, depth) {
    const auto memory = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    if (depth * graph.width() > memory / 1024)  // PaRSEC takes most of that for each, and does not look for its end
      throw Unsupported("parsec_dtd: " + std::to_string(depth * graph.width()) + " data do not fit into memory");
    parsec_data_collection_init(this, 1, 0);
    rank_of_key = [](parsec_data_collection_t*, parsec_data_key_t) -> std::uint32_t { return 0; };
    data_of_key = [](parsec_data_collection_t* self, parsec_data_key_t at) {
      return static_cast<Part*>(self)->data_[static_cast<std::size_t>(at)];
    };
    parsec_dtd_data_collection_init(this);
    for (std::int64_t row = 0; row < depth; ++row)
      for (std::int64_t point = 0; point < graph.width(); ++point)
        parsec_data_create(&data_.emplace_back(nullptr), this, data_.size() - 1, outputs_.at(row, point),
                           graph.output_bytes(), PARSEC_DATA_FLAG_PARSEC_MANAGED);
  }
  ~Part() {
    for (parsec_data_t* one : data_) parsec_data_destroy(one);
    parsec_dtd_data_collection_fini(this);
    parsec_data_collection_destroy(this);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  parsec_dtd_tile_t* output(std::int64_t step, std::int64_t point) {
    return parsec_dtd_tile_of(this, static_cast<parsec_data_key_t>(step % depth * graph.width() + point));
  }

  Execution& run;
  const std::size_t g;
  const Graph& graph;
  const std::vector<ThreadContext*> workers;

 private:
  /// More make it no faster, and PaRSEC never frees the tile and the task with which it flushes a datum, 1 KiB or so.
  static constexpr std::int64_t depth = 2;
  Outputs outputs_;
  std::vector<parsec_data_t*> data_;
};

/// What a task is told beside its data.
struct Call {
  Part* part;
  std::int64_t step, point;
};

/// A task of as many inputs as there are numbers K.
template <int... K>
parsec_hook_return_t execute_task(parsec_execution_stream_t* stream, parsec_task_t* task) noexcept {
  Call call;
  std::byte* output = nullptr;
  std::array<const std::byte*, sizeof...(K)> inputs;
  parsec_dtd_unpack_args(task, &call, &output, &inputs[K]...);
  call.part->run.execute_point(*call.part->workers[static_cast<std::size_t>(stream->th_id)], call.part->g, call.step,
                               call.point, output, inputs);
  return PARSEC_HOOK_RETURN_DONE;
}

/// How to make the class of these tasks, and how to insert one.
struct Kind {
  parsec_task_class_t* (*make)(parsec_taskpool_t*);
  void (*insert)(parsec_taskpool_t*, parsec_task_class_t*, const Call&, const std::vector<parsec_dtd_tile_t*>& inputs);
};

template <int... K>
constexpr Kind kind_of(std::integer_sequence<int, K...>) {
  return {[](parsec_taskpool_t* pool) {
            const auto make = [&](auto... inputs) {
              return parsec_dtd_create_task_class(pool, "point", static_cast<int>(sizeof(Call)), PARSEC_VALUE,
                                                  PASSED_BY_REF, PARSEC_OUTPUT, inputs..., PARSEC_DTD_ARG_END);
            };
            parsec_task_class_t* made =
                std::apply(make, std::tuple_cat((void(K), std::tuple(PASSED_BY_REF, PARSEC_INPUT))...));
            parsec_dtd_task_class_add_chore(pool, made, PARSEC_DEV_CPU, reinterpret_cast<void*>(execute_task<K...>));
            return made;
          },
          [](parsec_taskpool_t* pool, parsec_task_class_t* kind, const Call& call,
             [[maybe_unused]] const std::vector<parsec_dtd_tile_t*>& inputs) {
            const auto insert = [&](auto... in) {
              parsec_dtd_insert_task_with_task_class(pool, kind, 0, PARSEC_DEV_CPU, PARSEC_DTD_EMPTY_FLAG, &call,
                                                     PARSEC_DTD_EMPTY_FLAG, call.part->output(call.step, call.point),
                                                     in..., PARSEC_DTD_ARG_END);
            };
            std::apply(insert, std::tuple_cat(std::tuple(PARSEC_DTD_EMPTY_FLAG, inputs[K])...));
          }};
}

/// By number of inputs.
constexpr auto kinds = []<int... N>(std::integer_sequence<int, N...>) {
  return std::array{kind_of(std::make_integer_sequence<int, N>())...};
}(std::make_integer_sequence<int, most_inputs + 1>());

class ParsecDtd final : public ParsecContext {
 public:
  ParsecDtd() : pool_(parsec_dtd_taskpool_new()) {
    parsec_context_add_taskpool(context(), pool_);
    for (const Kind& kind : kinds) classes_.push_back(kind.make(pool_));
  }
  ~ParsecDtd() override {
    parts_.clear();
    for (parsec_task_class_t* one : classes_) parsec_dtd_task_class_release(pool_, one);
    parsec_taskpool_free(pool_);
  }

  std::string name() const override { return "parsec_dtd"; }

  void prepare(Execution& run) override {
    parts_.clear();
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      check(run.graphs()[g]);
      parts_.emplace_back(run, g, cores());
    }
  }

  void execute(Execution& run) override {
    std::vector<parsec_dtd_tile_t*> inputs;
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step)
      for (Part& part : parts_) {
        const Interval points = part.graph.points(step);
        for (std::int64_t point = points.first; point <= points.last; ++point) {
          inputs.clear();
          for (const Interval deps : part.graph.deps(step, point))
            for (std::int64_t dep = deps.first; dep <= deps.last; ++dep) inputs.push_back(part.output(step - 1, dep));
          kinds[inputs.size()].insert(pool_, classes_[inputs.size()], {&part, step, point}, inputs);
        }
      }
    // In each run, as PaRSEC's guide has it: without, it crashes once in some thousand runs where cores are taken.
    for (Part& part : parts_) parsec_dtd_data_flush_all(pool_, &part);
    parsec_taskpool_wait(pool_);
  }

 private:
  static void check(const Graph& graph) {
    const std::int64_t last = graph.steps() - 1;
    for (std::int64_t step = std::max<std::int64_t>(0, last + 1 - graph.dependence_sets()); step <= last; ++step)
      for (std::int64_t point = graph.points(step).first; point <= graph.points(step).last; ++point)
        if (graph.deps(step, point).count() > most_inputs)
          throw Unsupported("parsec_dtd: a task of " + std::to_string(graph.deps(step, point).count()) +
                            " inputs; this PaRSEC was built for " + std::to_string(most_inputs) +
                            " (PARSEC_MAX_PARAM_COUNT)");
  }

  parsec_taskpool_t* pool_;
  std::vector<parsec_task_class_t*> classes_;  ///< by number of inputs
  std::deque<Part> parts_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<ParsecDtd>(argc, argv); }
