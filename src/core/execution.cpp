#include "taskgrain/execution.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "fault_books.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

/// A cell in one register: written as two halves it could not be forwarded to whoever reads it as a whole.
using Register = std::int64_t __attribute__((vector_size(16)));

Cell read_cell(const std::byte* data, std::size_t cell = 0) noexcept {
  Cell value;
  std::memcpy(&value, data + cell * sizeof(Cell), sizeof(Cell));
  return value;
}

void fill(std::byte* output, std::size_t bytes, Cell value) noexcept {
  const Register cell{value.graph_and_step, value.point};
  const std::size_t cells = bytes / sizeof(Cell);
  for (std::size_t k = 0; k < cells; ++k) std::memcpy(output + k * sizeof(Cell), &cell, sizeof(Cell));
  if (const std::size_t rest = bytes % sizeof(Cell); rest != 0) std::memcpy(output + cells * sizeof(Cell), &cell, rest);
}

/// Whether the last `rest` bytes, less than a cell, are the beginning of one.
bool rest_holds(const std::byte* data, std::size_t bytes, std::size_t rest, const Cell& expected) noexcept {
  return rest == 0 || std::memcmp(data + bytes - rest, &expected, rest) == 0;
}

bool all_holds(const std::byte* data, std::size_t bytes, Cell expected) noexcept {
  const std::size_t cells = bytes / sizeof(Cell);
  for (std::size_t k = 0; k < cells; ++k)
    if (read_cell(data, k) != expected) return false;
  return rest_holds(data, bytes, bytes % sizeof(Cell), expected);
}

/// A number for each task; their sum tells which tasks have run, but not how it came about. It is linear so that the
/// sum over a whole graph need not visit its tasks.
constexpr std::uint64_t step_factor = 0x9e3779b97f4a7c15, point_factor = 0xc2b2ae3d27d4eb4f,
                        graph_factor = 0x165667b19e3779f9;
std::uint64_t checksum_of(std::int64_t graph, std::int64_t step, std::int64_t point) noexcept {
  return static_cast<std::uint64_t>(graph) * graph_factor + static_cast<std::uint64_t>(step) * step_factor +
         static_cast<std::uint64_t>(point) * point_factor;
}

/// 0 + 1 + … + n - 1, modulo 2^64.
std::uint64_t sum_below(std::uint64_t n) noexcept { return n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n; }

std::uint64_t checksum_of(const Graph& graph) noexcept {
  const auto of_block = [&](std::int64_t first_step, std::int64_t steps, Interval points) {
    const auto count = static_cast<std::uint64_t>(points.size()), t0 = static_cast<std::uint64_t>(first_step);
    const auto t = static_cast<std::uint64_t>(steps);
    const std::uint64_t all_steps = (sum_below(t0 + t) - sum_below(t0)) * count;
    const std::uint64_t all_points = (sum_below(static_cast<std::uint64_t>(points.first) + count) -
                                      sum_below(static_cast<std::uint64_t>(points.first))) *
                                     t;
    return static_cast<std::uint64_t>(graph.index()) * graph_factor * count * t + all_steps * step_factor +
           all_points * point_factor;
  };
  if (graph.uniform()) return of_block(0, graph.steps(), graph.points(0));
  std::uint64_t sum = 0;
  for (std::int64_t step = 0; step < graph.steps(); ++step) sum += of_block(step, 1, graph.points(step));
  return sum;
}

ViolationKind kind_of(std::span<const Graph> graphs, Cell got, Cell expected) {
  if (got == expected) return ViolationKind::early;  // bytes left over from the repeat before
  if (got.graph() < 0 || got.graph() >= std::ssize(graphs)) return ViolationKind::wrong_bytes;
  if (!graphs[static_cast<std::size_t>(got.graph())].contains(got.step(), got.point)) return ViolationKind::wrong_bytes;
  if (got.graph() != expected.graph()) return ViolationKind::wrong_graph;
  if (got.point != expected.point) return ViolationKind::wrong_producer;
  return got.step() < expected.step() ? ViolationKind::early : ViolationKind::overwritten;
}

/// The first cell that is not as expected.
Cell first_wrong(const std::byte* data, std::size_t bytes, Cell expected) noexcept {
  for (std::size_t k = 0; k < bytes / sizeof(Cell); ++k)
    if (const Cell cell = read_cell(data, k); cell != expected) return cell;
  if (all_holds(data, bytes, expected)) return expected;
  return {-1, -1};  // no task's: within the last, incomplete cell
}

}  // namespace

std::string_view name(Validation validation) noexcept {
  constexpr std::array<std::string_view, 3> names{"off", "sample", "full"};
  return names[static_cast<std::size_t>(validation)];
}

Validation validation_from_name(std::string_view wanted) {
  for (const Validation one : {Validation::off, Validation::sample, Validation::full})
    if (name(one) == wanted) return one;
  throw InvalidSpec("validate", std::string(wanted), "off, sample, full");
}

std::string_view name(ViolationKind kind) noexcept {
  constexpr std::array<std::string_view, 10> names{"wrong_bytes", "wrong_producer", "wrong_graph",   "early",
                                                   "overwritten", "missing_input",  "surplus_input", "repeated",
                                                   "skipped",     "no_such_task"};
  return names[static_cast<std::size_t>(kind)];
}

std::string Violation::text() const {
  const auto pair = [&](const std::array<std::int64_t, 2>& task, ViolationKind without) {
    if (kind == without) return std::string("none");
    return std::string("(").append(std::to_string(task[0])).append(", ").append(std::to_string(task[1])).append(")");
  };
  std::string text = std::string(name(kind)) + ": graph " + std::to_string(graph) + ", step " +
                     (step < 0 ? "unknown" : std::to_string(step)) + ", point " + std::to_string(point);
  if (input >= 0)
    text += ", input " + std::to_string(input) + ": expected " + pair(expected, ViolationKind::surplus_input) +
            ", got " + pair(got, ViolationKind::missing_input);
  return text;
}

void keep_earlier(std::optional<Violation>& first, const std::optional<Violation>& other) noexcept {
  if (other && (!first || other->step < first->step)) first = other;
}

Execution::Execution(const std::vector<GraphSpec>& specs, Validation validation, Isa isa,
                     const std::optional<Fault>& fault)
    : validation_(validation), isa_(isa), fault_(fault) {
  if (specs.empty()) throw InvalidSpec("graphs", "[]", "at least one graph");
  if (fault && validation != Validation::full)
    throw InvalidSpec("validate", validation == Validation::off ? "off" : "sample", "full in a run with a fault");
  double iterations = 0;
  for (const GraphSpec& spec : specs) {
    const Graph& graph = graphs_.emplace_back(spec, static_cast<std::int64_t>(graphs_.size()));
    kernels_.emplace_back(spec.kernel, isa, spec.seed, graph.output_bytes(), graph.weights());
    if (kernels_.back().work_unit() != kernels_.front().work_unit())
      throw InvalidSpec("kernel", spec.kernel.name,
                        "kernels of one work unit in one run, here " + std::string(name(kernels_.front().work_unit())));
    if (validation_ != Validation::off)
      ledgers_.push_back(fault ? std::make_unique<Ledger>() : std::make_unique<Ledger>(graph));
    const std::int64_t tasks = graph.tasks();
    if (tasks > std::numeric_limits<std::int64_t>::max() - tasks_)
      throw InvalidSpec("graphs", std::to_string(specs.size()), "graphs of at most 2^63 - 1 tasks together");
    tasks_ += tasks;
    iterations += static_cast<double>(tasks) * static_cast<double>(spec.kernel.iterations);
    if (!(iterations < 0x1p62))
      throw InvalidSpec("iterations", std::to_string(spec.kernel.iterations),
                        "fewer than 2^62 iterations of all tasks together, here " + std::to_string(tasks_) + " tasks");
    checksum_ += checksum_of(graph);
  }
  if (fault) books_ = std::make_unique<FaultBooks>(*fault, graphs_);
}

Execution::~Execution() = default;

std::int64_t Execution::most_steps() const noexcept { return std::ranges::max(graphs_, {}, &Graph::steps).steps(); }

ThreadContext& Execution::context(std::size_t k) {
  const std::lock_guard lock(contexts_mutex_);
  while (contexts_.size() <= k) contexts_.emplace_back(graphs_.size());
  return contexts_[k];
}

std::vector<ThreadContext*> Execution::contexts(int number) {
  std::vector<ThreadContext*> contexts;
  for (std::size_t k = 0; std::cmp_less(k, number); ++k) contexts.push_back(&context(k));
  return contexts;
}

[[gnu::cold]] void ThreadContext::record(const Violation& violation) { keep_earlier(violation_, violation); }

/// Whether there are as many inputs as dependences and `differs(data, expected)` is zero for all: without a branch per
/// input, because they hold unless a system is broken.
template <typename Differs>
inline bool all_inputs(const Graph& graph, std::int64_t step, std::int64_t point,
                       const std::span<const std::byte* const>& inputs, Differs differs) {
  std::size_t due = 0;
  std::uint64_t bad = 0;
  const Cell before = Cell::of(graph.index(), step - 1, 0);
  graph.deps(step, point).for_each([&](Interval deps) {
    const std::byte* const* data = inputs.data() + due;
    due += static_cast<std::size_t>(deps.size());
    if (due > inputs.size()) return;
    for (std::int64_t dep = deps.first; dep <= deps.last; ++dep)
      bad |= differs(*data++, Cell{before.graph_and_step, dep});
  });
  return bad == 0 && due == inputs.size();
}

inline std::uint64_t differs(Cell got, Cell expected) noexcept {
  return static_cast<std::uint64_t>((got.graph_and_step ^ expected.graph_and_step) | (got.point ^ expected.point));
}

// Here and below `inputs` goes on by reference: as a copy, GCC loads what the caller has just pushed in two halves as
// one word of 16 bytes, which waits until both are in the cache (no store forwarding): 3.5 ns of a task's 11.
bool Execution::inputs_hold(const Graph& graph, std::int64_t step, std::int64_t point,
                            const std::span<const std::byte* const>& inputs) const {
  const std::size_t bytes = graph.output_bytes();
  const auto all = [&](auto check) { return all_inputs(graph, step, point, inputs, check); };
  if (validation_ == Validation::full)
    return all([&](const std::byte* data, Cell expected) { return !holds(graph, data, expected); });
  if (bytes == sizeof(Cell))
    return all([](const std::byte* data, Cell expected) { return differs(read_cell(data), expected); });
  // Head, tail, and a cell in between that changes from task to task.
  const std::size_t tail = bytes / sizeof(Cell) - 1, rest = bytes % sizeof(Cell);
  const std::size_t turn = static_cast<std::size_t>(step + point) * 0x9e3779b97f4a7c15 >> 32;
  const std::size_t middle = turn * tail >> 32;
  return all([&](const std::byte* data, Cell expected) {
    return differs(read_cell(data), expected) | differs(read_cell(data, middle), expected) |
           differs(read_cell(data, tail), expected) |
           static_cast<std::uint64_t>(!rest_holds(data, bytes, rest, expected));
  });
}

/// Whether every byte of an input is what its producer writes, and the producer has run.
bool Execution::holds(const Graph& graph, const std::byte* data, Cell expected) const {
  const auto index = static_cast<std::size_t>(graph.index());
  // Right bytes may be left over from the repeat before; a mark cannot be.
  const bool produced = books_ ? books_->ended(index, expected.step(), expected.point) > 0
                               : distributed_ || ledgers_[index]->marked(expected.step(), expected.point);
  return produced && all_holds(data, graph.output_bytes(), expected);
}

[[gnu::cold]] void Execution::record_input(ThreadContext& context, const Graph& graph, std::int64_t step,
                                           std::int64_t point, std::int64_t input, Cell expected, Cell got) const {
  const ViolationKind kind = kind_of(graphs_, got, expected);
  Violation wrong{kind, graph.index(), step, point};
  wrong.input = input;
  wrong.expected = {expected.step(), expected.point};
  wrong.got = {kind == ViolationKind::wrong_bytes ? got.graph_and_step : got.step(), got.point};
  context.record(wrong);
}

/// Finds out what is wrong with the inputs of a task, once `inputs_hold` has said that something is.
[[gnu::cold]] void Execution::record_inputs(ThreadContext& context, const Graph& graph, std::int64_t step,
                                            std::int64_t point, const std::span<const std::byte* const>& inputs) const {
  std::size_t input = 0;
  for (const Interval deps : graph.deps(step, point)) {
    for (std::int64_t dep = deps.first; dep <= deps.last; ++dep, ++input) {
      if (input >= inputs.size()) {
        const auto number = static_cast<std::int64_t>(input);
        return context.record({ViolationKind::missing_input, graph.index(), step, point, number, {step - 1, dep}});
      }
      const Cell expected = Cell::of(graph.index(), step - 1, dep);
      if (holds(graph, inputs[input], expected)) continue;
      const Cell got = first_wrong(inputs[input], graph.output_bytes(), expected);
      return record_input(context, graph, step, point, static_cast<std::int64_t>(input), expected, got);
    }
  }
  // All hold now: there were too many, or another task changed one while it was being looked at.
  if (input < inputs.size())
    return record_surplus(context, graph, step, point, static_cast<std::int64_t>(input), read_cell(inputs[input]));
  context.record({ViolationKind::early, graph.index(), step, point});
}

[[gnu::cold]] void Execution::record_surplus(ThreadContext& context, const Graph& graph, std::int64_t step,
                                             std::int64_t point, std::int64_t input, Cell got) const {
  const bool of_no_task = kind_of(graphs_, got, Cell::of(graph.index(), step, -1)) == ViolationKind::wrong_bytes;
  Violation wrong{ViolationKind::surplus_input, graph.index(), step, point, input};
  wrong.got = {of_no_task ? got.graph_and_step : got.step(), got.point};
  context.record(wrong);
}

/// A task that has no fresh mark: it ran before, or the run has a fault, which may strike now.
[[gnu::cold]] void Execution::begin_again(ThreadContext& context, const Graph& graph, std::int64_t step,
                                          std::int64_t point) {
  if (!books_) return context.record({ViolationKind::repeated, graph.index(), step, point});
  if (context.violation_) books_->note(*context.violation_);  // this process may end now
  books_->begin(static_cast<std::size_t>(graph.index()), step, point);
}

/// A task that the graph does not have.
[[gnu::cold]] void Execution::refuse(ThreadContext& context, const Graph& graph, std::int64_t step,
                                     std::int64_t point) {
  context.record({ViolationKind::no_such_task, graph.index(), step, point});
  if (books_) books_->note(*context.violation_);
}

/// Once more after the kernel: nobody may overwrite an input while the task runs.
[[gnu::noinline]] void Execution::look_again(ThreadContext& context, const Graph& graph, std::int64_t step,
                                             std::int64_t point, const std::span<const std::byte* const>& inputs) {
  if (!inputs_hold(graph, step, point, inputs)) [[unlikely]]
    record_inputs(context, graph, step, point, inputs);
  if (books_) end_disturbed(context, graph, step, point);
}

/// The end of a task in a run with a fault. What went wrong must be known beyond this process, which may be the next
/// to end.
[[gnu::cold]] void Execution::end_disturbed(ThreadContext& context, const Graph& graph, std::int64_t step,
                                            std::int64_t point) {
  if (context.violation_) books_->note(*context.violation_);
  if (context.failure_) std::rethrow_exception(std::exchange(context.failure_, nullptr));
  books_->end(static_cast<std::size_t>(graph.index()), step, point);
}

void Execution::execute_point(ThreadContext& context, std::size_t index, std::int64_t step, std::int64_t point,
                              std::byte* output, std::span<const std::byte* const> inputs) {
  const Graph& graph = graphs_[index];
  if (!graph.contains(step, point)) [[unlikely]]
    return refuse(context, graph, step, point);
  if (validation_ != Validation::off) {
    if (!inputs_hold(graph, step, point, inputs)) [[unlikely]]
      record_inputs(context, graph, step, point, inputs);
    if (!ledgers_[index]->mark(step, point)) [[unlikely]]
      begin_again(context, graph, step, point);
  }
  fill(output, graph.output_bytes(), Cell::of(graph.index(), step, point));
  try {
    context.kernels_[index].iterations += kernels_[index]({graph.index(), step, point}, context.scratch_);
  } catch (...) {
    if (!context.failure_) context.failure_ = std::current_exception();
  }
  if (validation_ == Validation::full) [[unlikely]]
    look_again(context, graph, step, point, inputs);
  ++context.executed_;
  context.checksum_ += checksum_of(graph.index(), step, point);
  context.dependencies_ += static_cast<std::int64_t>(inputs.size());
}

void Execution::book_point(ThreadContext& context, std::size_t index, std::int64_t step, std::int64_t point) {
  const Graph& graph = graphs_[index];
  if (!graph.contains(step, point)) return refuse(context, graph, step, point);
  if (books_) return books_->count(index, step, point);
  if (validation_ != Validation::off && !ledgers_[index]->mark(step, point))
    context.record({ViolationKind::repeated, graph.index(), step, point});
  context.kernels_[index].iterations += kernels_[index].iterations_of({graph.index(), step, point});
  ++context.executed_;
  context.checksum_ += checksum_of(graph.index(), step, point);
  context.dependencies_ += graph.deps(step, point).count();
}

void Execution::book_wrong_input(ThreadContext& context, std::size_t index, std::int64_t step, std::int64_t point,
                                 std::int64_t input, Cell got) {
  const Graph& graph = graphs_[index];
  std::int64_t at = input;
  for (const Interval deps : graph.deps(step, point)) {
    if (at < deps.size())
      return record_input(context, graph, step, point, input, Cell::of(graph.index(), step - 1, deps.first + at), got);
    at -= deps.size();
  }
  record_surplus(context, graph, step, point, input, got);
}

void Execution::book_failure(ThreadContext& context, std::exception_ptr failure) {
  if (!context.failure_) context.failure_ = std::move(failure);
}

void Execution::clear() {
  for (const auto& ledger : ledgers_) ledger->clear();
  for (ThreadContext& context : contexts_) {
    context.executed_ = context.dependencies_ = 0;
    context.checksum_ = 0;
    context.failure_ = nullptr;
    std::ranges::fill(context.kernels_, ThreadContext::Kernels{});
    context.violation_.reset();
  }
}

std::int64_t Execution::strikes() const noexcept { return books_->strikes(); }

Accounts Execution::disturbed_accounts() const {
  Accounts sum;
  sum.executed = books_->begun();
  for (std::size_t g = 0; g < graphs_.size(); ++g) {
    double iterations = 0;
    for (std::int64_t step = 0; step < graphs_[g].steps(); ++step) {
      const Interval points = graphs_[g].points(step);
      for (std::int64_t point = points.first; point <= points.last; ++point) {
        const std::int64_t ended = books_->ended(g, step, point);
        sum.dependencies += ended * graphs_[g].deps(step, point).count();
        iterations += static_cast<double>(ended * kernels_[g].iterations_of({graphs_[g].index(), step, point}));
      }
    }
    sum.flops += iterations * kernels_[g].flops_per_iteration();
    sum.bytes += iterations * kernels_[g].bytes_per_iteration();
    sum.work += iterations * kernels_[g].work_per_iteration();
  }
  return sum;
}

Accounts Execution::accounts() const {
  if (books_) return disturbed_accounts();
  Accounts sum;
  for (const ThreadContext& context : contexts_) {
    sum.executed += context.executed_;
    sum.dependencies += context.dependencies_;
    for (std::size_t g = 0; g < graphs_.size(); ++g) {
      const auto iterations = static_cast<double>(context.kernels_[g].iterations);
      sum.flops += iterations * kernels_[g].flops_per_iteration();
      sum.bytes += iterations * kernels_[g].bytes_per_iteration();
      sum.work += iterations * kernels_[g].work_per_iteration();
    }
  }
  return sum;
}

std::optional<Violation> Execution::violation() const {
  std::optional<Violation> first;
  for (const ThreadContext& context : contexts_) keep_earlier(first, context.violation_);
  return first || !books_ ? first : books_->violation();
}

std::exception_ptr Execution::failure() const {
  for (const ThreadContext& context : contexts_)
    if (context.failure_) return context.failure_;
  return nullptr;
}

/// Each task must have been executed to its end; it may have been more than once.
std::optional<Violation> Execution::verify_disturbed() const {
  for (std::size_t g = 0; g < graphs_.size(); ++g) {
    for (std::int64_t step = 0; step < graphs_[g].steps(); ++step) {
      const Interval points = graphs_[g].points(step);
      for (std::int64_t point = points.first; point <= points.last; ++point)
        if (books_->ended(g, step, point) == 0)
          return Violation{ViolationKind::skipped, graphs_[g].index(), step, point};
    }
  }
  return std::nullopt;
}

std::optional<Violation> Execution::verify() const {
  if (auto first = violation()) return first;
  if (books_) return verify_disturbed();
  const std::int64_t executed = accounts().executed;
  std::uint64_t sum = 0;
  for (const ThreadContext& context : contexts_) sum += context.checksum_;
  if (validation_ != Validation::off) {
    for (std::size_t k = 0; k < graphs_.size(); ++k) {
      if (executed == tasks_ && sum == checksum_ && ledgers_[k]->exact()) continue;
      if (auto wrong = ledgers_[k]->compare(graphs_[k], ledgers_[k]->counts())) return wrong;
    }
  }
  return verify_number(executed);
}

std::optional<Violation> Execution::verify_number(std::int64_t executed) const {
  if (executed == tasks_) return std::nullopt;
  // Unmarked, or two threads ran one task at the same instant: which one is not known.
  return Violation{executed > tasks_ ? ViolationKind::repeated : ViolationKind::skipped, 0, -1, -1};
}

}  // namespace taskgrain
