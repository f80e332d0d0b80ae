#include <nlohmann/json.hpp>
#include <string>

#include "c_run.hpp"
#include "request.hpp"

namespace {

using namespace taskgrain;

thread_local std::string last_error;

const Graph& graph(const tg_run* run, int64_t g) { return run->execution.graphs()[static_cast<std::size_t>(g)]; }

int64_t write(const Points& points, int64_t* out, int64_t capacity) {
  int64_t count = 0;
  for (const Interval interval : points)
    for (int64_t point = interval.first; point <= interval.last; ++point, ++count)
      if (count < capacity) out[count] = point;
  return count;
}

}  // namespace

extern "C" {

int tg_abi_version(void) { return TG_ABI_VERSION; }
const char* tg_error(void) { return last_error.c_str(); }
int tg_fail(int code, const char* why) {
  last_error = why;
  return code;
}

int tg_run_create(const char* request_json, tg_run** run) {
  return guarded([&] {
    const auto json = nlohmann::json::parse(request_json, nullptr, false);
    const RunRequest request = run_request(json);
    *run = new tg_run(std::make_unique<Execution>(request.graphs, request.validation, request.isa, request.fault));
  });
}
void tg_run_destroy(tg_run* run) { delete run; }

int64_t tg_graphs(const tg_run* run) { return static_cast<int64_t>(run->execution.graphs().size()); }
int64_t tg_most_steps(const tg_run* run) { return run->execution.most_steps(); }
int64_t tg_steps(const tg_run* run, int64_t g) { return graph(run, g).steps(); }
int64_t tg_width(const tg_run* run, int64_t g) { return graph(run, g).width(); }
int64_t tg_output_bytes(const tg_run* run, int64_t g) { return static_cast<int64_t>(graph(run, g).output_bytes()); }
int64_t tg_dependence_sets(const tg_run* run, int64_t g) { return graph(run, g).dependence_sets(); }
int64_t tg_dependence_set(const tg_run* run, int64_t g, int64_t step) { return graph(run, g).dependence_set(step); }
int64_t tg_fork_depth(const tg_run* run, int64_t g) { return graph(run, g).fork_depth(); }
tg_interval tg_points(const tg_run* run, int64_t g, int64_t step) {
  const Interval points = graph(run, g).points(step);
  return {points.first, points.last};
}
int64_t tg_deps(const tg_run* run, int64_t g, int64_t step, int64_t point, int64_t* out, int64_t capacity) {
  return write(graph(run, g).deps(step, point), out, capacity);
}
int64_t tg_reverse_deps(const tg_run* run, int64_t g, int64_t step, int64_t point, int64_t* out, int64_t capacity) {
  return write(graph(run, g).reverse_deps(step, point), out, capacity);
}

int tg_execute_point(tg_run* run, int64_t worker, int64_t g, int64_t step, int64_t point, void* output,
                     const void* const* inputs, int64_t n_inputs) {
  return guarded([&] {
    run->execution.execute_point(
        run->context(static_cast<std::size_t>(worker)), static_cast<std::size_t>(g), step, point,
        static_cast<std::byte*>(output),
        {reinterpret_cast<const std::byte* const*>(inputs), static_cast<std::size_t>(n_inputs)});
  });
}

void tg_clear(tg_run* run) { run->execution.clear(); }
tg_accounts tg_accounts_of(const tg_run* run) {
  const Accounts sum = run->execution.accounts();
  return {sum.executed, sum.dependencies, sum.flops, sum.bytes, sum.work};
}
const char* tg_verify(tg_run* run) {
  if (auto failure = run->execution.failure(); failure && guarded([&] { std::rethrow_exception(failure); }) != 0) {
    run->violation = last_error;
    return run->violation.c_str();
  }
  const auto violation = run->execution.verify();
  if (!violation) return nullptr;
  run->violation = violation->text();
  return run->violation.c_str();
}

}  // extern "C"
