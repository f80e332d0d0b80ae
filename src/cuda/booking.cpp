#include "booking.hpp"

#include <exception>
#include <stdexcept>
#include <utility>

#include "taskgrain/error.hpp"

namespace taskgrain::device {
namespace {

Check check_of(Validation validation) {
  if (validation == Validation::off) return Check::off;
  return validation == Validation::sample ? Check::sample : Check::full;
}

/// Of a memory kernel, as on a core: halves of whole doubles.
std::int64_t sample_doubles(const KernelSpec& spec) {
  return static_cast<std::int64_t>(spec.sample_bytes() / sizeof(double));
}

}  // namespace

Books::Books(const Graph& graph) {
  if (graph.steps() > most_tasks / graph.width())
    throw Unsupported("a device keeps a number for each task, of at most " + std::to_string(most_tasks));
  finished.resize(static_cast<std::size_t>(graph.steps() * graph.width()));
}

void check_kernel(const Kernel& kernel, const std::string& system) {
  if (kernel.entry().device == DeviceWork::absent)
    throw Unsupported(system + ": no device version of the kernel " + kernel.spec().name);
}

std::vector<double> scratch_of(const Kernel& kernel) {
  if (!kernel.entry().uses_samples) return {};
  return std::vector<double>(static_cast<std::size_t>(sample_doubles(kernel.spec()) * kernel.spec().samples), 0.5);
}

void append_inputs(const Graph& graph, std::int64_t step, std::int64_t point, std::span<const std::byte* const> data,
                   std::vector<Input>& inputs) {
  if (std::cmp_not_equal(graph.deps(step, point).count(), data.size()))
    throw std::logic_error("task (" + std::to_string(step) + ", " + std::to_string(point) + ") got " +
                           std::to_string(data.size()) + " inputs");
  std::size_t k = 0;
  for (const Interval deps : graph.deps(step, point))
    for (std::int64_t dep = deps.first; dep <= deps.last; ++dep) inputs.push_back({data[k++], dep});
}

Task task_of(const Execution& run, std::size_t index, std::int64_t step, std::int64_t point, std::byte* output,
             const Input* inputs, std::int64_t inputs_number, const Shared& shared) {
  const Graph& graph = run.graphs()[index];
  const Kernel& kernel = run.kernel(index);
  const Cell cell = Cell::of(graph.index(), step, point);
  Task task{};
  task.shared = shared;
  task.inputs = inputs;
  task.inputs_number = inputs_number;
  task.output = output;
  task.output_bytes = static_cast<std::int64_t>(graph.output_bytes());
  task.before = Cell::of(graph.index(), step - 1, 0).graph_and_step;
  task.cell[0] = cell.graph_and_step;
  task.cell[1] = cell.point;
  task.step = step;
  task.point = point;
  task.steps = graph.steps();
  task.iterations = kernel.iterations_of({graph.index(), step, point});
  task.check = check_of(run.validation());
  task.work = kernel.entry().device;
  task.samples = kernel.spec().samples;
  task.sample_doubles = sample_doubles(kernel.spec());
  // All tasks share the working set, so each goes on where the one before it in the graph ends.
  task.first_sample =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(step * graph.width() + point) *
                                static_cast<std::uint64_t>(task.iterations) % static_cast<std::uint64_t>(task.samples));
  return task;
}

void settle(Execution& run, ThreadContext& context, std::size_t index, const Books& books, unsigned blocks) {
  const Graph& graph = run.graphs()[index];
  if (books.wrong.found != 0)
    run.book_wrong_input(context, index, books.wrong.step, books.wrong.point, books.wrong.input,
                         {books.wrong.got[0], books.wrong.got[1]});
  if (!(books.sink < 0))
    run.book_failure(context,
                     std::make_exception_ptr(std::runtime_error("a task's computation ended with " +
                                                                std::to_string(books.sink) + ", not less than 0")));
  for (std::int64_t point = 0; point < graph.width(); ++point)
    for (std::int64_t step = 0; step < graph.steps(); ++step) {
      const unsigned times = books.finished[static_cast<std::size_t>(point * graph.steps() + step)] / blocks;
      for (unsigned n = 0; n < times; ++n) run.book_point(context, index, step, point);
    }
}

}  // namespace taskgrain::device
