#pragma once

/// Dynamic task discovery: PaRSEC infers the dependences of inserted tasks from the data that they read and write.

#include <parsec/data.h>
#include <parsec/data_distribution.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../parsec_ptg/context.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/outputs.hpp"

/// How ranks share the columns of a graph.
struct ParsecShare {
  int own = 0;
  /// Of each rank; a single one has all.
  std::vector<taskgrain::Interval> columns;
  /// PaRSEC's number for size and layout of an output in messages.
  int datatype = 0;
};

/// The data of one graph: the outputs of a ring of steps.
class ParsecPart : public parsec_data_collection_t {
 public:
  ParsecPart(taskgrain::Execution& run_, std::size_t g_, int cores, ParsecShare share)
      : run(run_), g(g_), graph(run.graphs()[g]), workers(run.contexts(cores)), share_(std::move(share)) {
    const auto memory = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    if (depth * graph.width() > memory / 1024)  // PaRSEC takes most of that for each, and does not look for its end
      throw taskgrain::Unsupported(std::to_string(depth * graph.width()) + " data of PaRSEC do not fit into memory");
    const std::size_t lines = taskgrain::Outputs::stride_of(graph, 0) / sizeof(Line);
    const auto own = static_cast<std::size_t>(columns().size());
    outputs_.resize(depth * own * lines);
    data_.resize(depth * own);
    parsec_data_collection_init(this, static_cast<int>(share_.columns.size()), share_.own);
    rank_of_key = [](parsec_data_collection_t* self, parsec_data_key_t at) {
      const auto* part = static_cast<ParsecPart*>(self);
      return static_cast<std::uint32_t>(part->owner(static_cast<std::int64_t>(at) % part->graph.width()));
    };
    data_of_key = [](parsec_data_collection_t* self, parsec_data_key_t at) {
      return static_cast<ParsecPart*>(self)->datum(static_cast<std::int64_t>(at));
    };
    parsec_dtd_data_collection_init(this);
    for (std::int64_t row = 0; row < depth; ++row)
      for (std::int64_t point = columns().first; point <= columns().last; ++point) {
        parsec_data_t*& made = datum(row * graph.width() + point);
        const auto place = static_cast<std::size_t>(&made - data_.data());
        parsec_data_create(&made, this, key(row, point), &outputs_[place * lines], graph.output_bytes(),
                           PARSEC_DATA_FLAG_PARSEC_MANAGED);
      }
  }
  ~ParsecPart() {
    for (parsec_data_t* one : data_) parsec_data_destroy(one);
    parsec_dtd_data_collection_fini(this);
    parsec_data_collection_destroy(this);
  }
  ParsecPart(const ParsecPart&) = delete;
  ParsecPart& operator=(const ParsecPart&) = delete;

  /// Of this rank.
  taskgrain::Interval columns() const { return share_.columns[static_cast<std::size_t>(share_.own)]; }
  bool owns(std::int64_t point) const { return columns().contains(point); }
  int datatype() const { return share_.datatype; }

  parsec_dtd_tile_t* output(std::int64_t step, std::int64_t point) {
    return parsec_dtd_tile_of(this, key(step % depth, point));
  }

  /// More make it no faster, and PaRSEC never frees the tile and the task with which it flushes a datum, 1 KiB or so.
  static constexpr std::int64_t depth = 2;

  taskgrain::Execution& run;
  const std::size_t g;
  const taskgrain::Graph& graph;
  const std::vector<taskgrain::ThreadContext*> workers;

 private:
  /// Of the cache: no two outputs share one.
  struct alignas(64) Line {
    std::array<std::uint8_t, 64> bytes;
    Line() { bytes.fill(0xff); }  // no task's output: what runs early is caught
  };

  parsec_data_key_t key(std::int64_t row, std::int64_t point) const {
    return static_cast<parsec_data_key_t>(row * graph.width() + point);
  }
  /// Ranks without columns come last.
  std::size_t owner(std::int64_t point) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(share_.columns, point, {}, &taskgrain::Interval::last) -
                                    share_.columns.begin());
  }
  parsec_data_t*& datum(std::int64_t at) {
    const std::int64_t row = at / graph.width(), point = at % graph.width();
    return data_[static_cast<std::size_t>(row * columns().size() + point - columns().first)];
  }

  const ParsecShare share_;
  std::vector<Line> outputs_;
  std::vector<parsec_data_t*> data_;  ///< by row and own column
};

/// Inserts tasks into a pool of a class for each number of inputs.
class ParsecInsertion {
 public:
  /// Inputs that a task can have, besides its output.
  static constexpr int most_inputs = MAX_PARAM_COUNT - 1;

  explicit ParsecInsertion(parsec_context_t* context) : pool_(parsec_dtd_taskpool_new()) {
    parsec_context_add_taskpool(context, pool_);
    for (const Kind& kind : kinds) classes_.push_back(kind.make(pool_));
  }
  ~ParsecInsertion() {
    for (parsec_task_class_t* one : classes_) parsec_dtd_task_class_release(pool_, one);
    parsec_taskpool_free(pool_);
  }
  ParsecInsertion(const ParsecInsertion&) = delete;
  ParsecInsertion& operator=(const ParsecInsertion&) = delete;

  parsec_taskpool_t* pool() const { return pool_; }

  /// Throws `Unsupported` if a task has too many inputs.
  static void check(const taskgrain::Graph& graph) {
    const std::int64_t last = graph.steps() - 1;
    for (std::int64_t step = std::max<std::int64_t>(0, last + 1 - graph.dependence_sets()); step <= last; ++step)
      for (std::int64_t point = graph.points(step).first; point <= graph.points(step).last; ++point)
        if (graph.deps(step, point).count() > most_inputs)
          throw taskgrain::Unsupported("a task of " + std::to_string(graph.deps(step, point).count()) +
                                       " inputs; this PaRSEC was built for " + std::to_string(most_inputs) +
                                       " (PARSEC_MAX_PARAM_COUNT)");
  }

  /// With `inputs` in the order that the graph gives them.
  void insert(ParsecPart& part, std::int64_t step, std::int64_t point, const std::vector<parsec_dtd_tile_t*>& inputs) {
    kinds[inputs.size()].insert(pool_, classes_[inputs.size()], {&part, step, point}, inputs);
  }

  /// Writes all data back once their tasks are done: in each run, as PaRSEC's guide has it. Without, it crashes once in
  /// some thousand runs where cores are taken.
  void flush(ParsecPart& part) { parsec_dtd_data_flush_all(pool_, &part); }
  /// Returns when all tasks are done.
  void wait() { parsec_taskpool_wait(pool_); }

 private:
  /// What a task is told beside its data.
  struct Call {
    ParsecPart* part;
    std::int64_t step, point;
  };

  /// A task of as many inputs as there are numbers K.
  template <int... K>
  static parsec_hook_return_t execute(parsec_execution_stream_t* stream, parsec_task_t* task) noexcept {
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
    void (*insert)(parsec_taskpool_t*, parsec_task_class_t*, const Call&,
                   const std::vector<parsec_dtd_tile_t*>& inputs);
  };

  template <int... K>
  static constexpr Kind kind_of(std::integer_sequence<int, K...>) {
    return {[](parsec_taskpool_t* pool) {
              const auto make = [&](auto... inputs) {
                return parsec_dtd_create_task_class(pool, "point", static_cast<int>(sizeof(Call)), PARSEC_VALUE,
                                                    PASSED_BY_REF, PARSEC_OUTPUT | PARSEC_AFFINITY, inputs...,
                                                    PARSEC_DTD_ARG_END);
              };
              parsec_task_class_t* made =
                  std::apply(make, std::tuple_cat((void(K), std::tuple(PASSED_BY_REF, PARSEC_INPUT))...));
              parsec_dtd_task_class_add_chore(pool, made, PARSEC_DEV_CPU, reinterpret_cast<void*>(execute<K...>));
              return made;
            },
            [](parsec_taskpool_t* pool, parsec_task_class_t* kind, const Call& call,
               [[maybe_unused]] const std::vector<parsec_dtd_tile_t*>& inputs) {
              const int datatype = call.part->datatype();
              const auto insert = [&](auto... in) {
                parsec_dtd_insert_task_with_task_class(pool, kind, 0, PARSEC_DEV_CPU, PARSEC_DTD_EMPTY_FLAG, &call,
                                                       datatype, call.part->output(call.step, call.point), in...,
                                                       PARSEC_DTD_ARG_END);
              };
              std::apply(insert, std::tuple_cat(std::tuple(datatype, inputs[K])...));
            }};
  }

  /// By number of inputs.
  static const std::array<Kind, most_inputs + 1> kinds;

  parsec_taskpool_t* pool_;
  std::vector<parsec_task_class_t*> classes_;  ///< by number of inputs
};

inline constexpr std::array<ParsecInsertion::Kind, ParsecInsertion::most_inputs + 1> ParsecInsertion::kinds =
    []<int... N>(std::integer_sequence<int, N...>) {
      return std::array{kind_of(std::make_integer_sequence<int, N>())...};
    }(std::make_integer_sequence<int, most_inputs + 1>());
