#include "taskgrain/execution.hpp"

#include <algorithm>
#include <cstring>

#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

/// What an output is filled with, over and over.
struct Cell {
  std::int64_t step, point;
  friend bool operator==(const Cell&, const Cell&) = default;
};
static_assert(sizeof(Cell) == 16);

/// A cell in one register: written as two halves it could not be forwarded to whoever reads it as a whole.
using Register = std::int64_t __attribute__((vector_size(16)));

Cell read_cell(const std::byte* data, std::size_t cell = 0) noexcept {
  Cell value;
  std::memcpy(&value, data + cell * sizeof(Cell), sizeof(Cell));
  return value;
}

void fill(std::byte* output, std::size_t bytes, std::int64_t step, std::int64_t point) noexcept {
  const Register cell{step, point};
  const std::size_t cells = bytes / sizeof(Cell);
  for (std::size_t k = 0; k < cells; ++k) std::memcpy(output + k * sizeof(Cell), &cell, sizeof(Cell));
  if (const std::size_t rest = bytes % sizeof(Cell); rest != 0) std::memcpy(output + cells * sizeof(Cell), &cell, rest);
}

/// Whether head, tail and one cell in between are as expected; `turn` chooses the one.
bool sample_holds(const std::byte* data, std::size_t bytes, Cell expected, std::uint64_t turn) noexcept {
  const std::size_t cells = bytes / sizeof(Cell);
  const auto middle = static_cast<std::size_t>((turn * 0x9e3779b97f4a7c15 >> 32) * cells >> 32);
  return read_cell(data) == expected && read_cell(data, middle) == expected && read_cell(data, cells - 1) == expected;
}

bool all_holds(const std::byte* data, std::size_t bytes, Cell expected) noexcept {
  const std::size_t cells = bytes / sizeof(Cell);
  for (std::size_t k = 0; k < cells; ++k)
    if (read_cell(data, k) != expected) return false;
  return std::memcmp(data + cells * sizeof(Cell), &expected, bytes % sizeof(Cell)) == 0;
}

/// The first cell that is not as expected.
Cell first_wrong(const std::byte* data, std::size_t bytes, Cell expected) noexcept {
  for (std::size_t k = 0; k < bytes / sizeof(Cell); ++k)
    if (const Cell cell = read_cell(data, k); cell != expected) return cell;
  return {-1, -1};  // within the last, incomplete cell
}

}  // namespace

Validation validation_from_name(std::string_view name) {
  if (name == "off") return Validation::off;
  if (name == "sample") return Validation::sample;
  if (name == "full") return Validation::full;
  throw InvalidSpec("validate", std::string(name), "off, sample, full");
}

std::string_view name(ViolationKind kind) noexcept {
  constexpr std::array<std::string_view, 9> names{"wrong_bytes",   "wrong_producer", "early",   "overwritten", "missing_input",
                                                  "surplus_input", "repeated",       "skipped", "no_such_task"};
  return names[static_cast<std::size_t>(kind)];
}

std::string Violation::text() const {
  const auto pair = [](const std::array<std::int64_t, 2>& task) {
    return std::string("(").append(std::to_string(task[0])).append(", ").append(std::to_string(task[1])).append(")");
  };
  std::string text = std::string(name(kind)) + ": graph " + std::to_string(graph) + ", step " +
                     (step < 0 ? "unknown" : std::to_string(step)) + ", point " + std::to_string(point);
  if (input >= 0) text += ", input " + std::to_string(input) + ": expected " + pair(expected) + ", got " + pair(got);
  return text;
}

Execution::Execution(const std::vector<GraphSpec>& specs, Validation validation, Isa isa) : validation_(validation) {
  if (specs.empty()) throw InvalidSpec("graphs", "[]", "at least one graph");
  for (const GraphSpec& spec : specs) {
    const Graph& graph = graphs_.emplace_back(spec, static_cast<std::int64_t>(graphs_.size()));
    kernels_.emplace_back(spec.kernel, isa, spec.seed);
    if (kernels_.back().work_unit() != kernels_.front().work_unit())
      throw InvalidSpec("kernel", std::string(name(spec.kernel.kind)),
                        "kernels of one work unit in one run, here " + std::string(name(kernels_.front().work_unit())));
    ledgers_.push_back(std::make_unique<Ledger>(graph));
    tasks_ += graph.tasks();
  }
}

std::int64_t Execution::most_steps() const noexcept {
  return std::ranges::max(graphs_, {}, &Graph::steps).steps();
}

Worker& Execution::worker(std::size_t k) {
  const std::lock_guard lock(workers_mutex_);
  while (workers_.size() <= k) workers_.emplace_back(graphs_.size());
  return workers_[k];
}

[[gnu::cold]] void Worker::record(const Violation& violation) {
  if (!violation_) violation_ = violation;
}

/// Says what is wrong with an input.
[[gnu::cold]] void Execution::record_input(Worker& worker, const Graph& graph, std::int64_t step, std::int64_t point,
                                           std::size_t input, std::int64_t dep, const std::byte* data) const {
  const Cell expected{step - 1, dep}, got = first_wrong(data, graph.output_bytes(), expected);
  const auto kind = [&] {
    if (got == expected) return ViolationKind::early;  // bytes left over from the repeat before
    if (!graph.contains(got.step, got.point)) return ViolationKind::wrong_bytes;
    if (got.point != dep) return ViolationKind::wrong_producer;
    return got.step < expected.step ? ViolationKind::early : ViolationKind::overwritten;
  };
  worker.record({kind(), graph.index(), step, point, static_cast<std::int64_t>(input), {expected.step, expected.point},
                 {got.step, got.point}});
}

/// Calls `holds(data, expected)` on every input and `wrong(input, dep)` where it is false.
/// \returns how many inputs there had to be
template <typename Holds, typename Wrong>
inline std::size_t for_inputs(const Graph& graph, std::int64_t step, std::int64_t point,
                              std::span<const std::byte* const> inputs, Holds holds, Wrong wrong) {
  std::size_t due = 0;
  for (const Interval deps : graph.deps(step, point)) {
    const std::size_t present = std::min(inputs.size() - std::min(due, inputs.size()), static_cast<std::size_t>(deps.size()));
    const std::byte* const* data = inputs.data() + due;
    for (std::size_t k = 0; k < present; ++k)
      if (const auto dep = deps.first + static_cast<std::int64_t>(k); !holds(data[k], Cell{step - 1, dep})) [[unlikely]]
        wrong(due + k, dep);
    due += static_cast<std::size_t>(deps.size());
  }
  return due;
}

void Execution::check_inputs(Worker& worker, const Graph& graph, std::int64_t step, std::int64_t point,
                             std::span<const std::byte* const> inputs) const {
  const std::size_t bytes = graph.output_bytes();
  const auto wrong = [&](std::size_t input, std::int64_t dep) {
    record_input(worker, graph, step, point, input, dep, inputs[input]);
  };
  const auto check = [&](auto holds) { return for_inputs(graph, step, point, inputs, holds, wrong); };
  std::size_t due = 0;
  if (validation_ == Validation::full) {
    const Ledger& ledger = *ledgers_[static_cast<std::size_t>(graph.index())];
    due = check([&](const std::byte* data, Cell expected) {
      // Right bytes may be left over from the repeat before; a mark cannot be.
      return (distributed_ || ledger.marked(expected.step, expected.point)) && all_holds(data, bytes, expected);
    });
  } else if (bytes < 2 * sizeof(Cell)) {
    due = check([](const std::byte* data, Cell expected) { return read_cell(data) == expected; });
  } else {
    const auto turn = static_cast<std::uint64_t>(step + point);
    due = check([&](const std::byte* data, Cell expected) { return sample_holds(data, bytes, expected, turn); });
  }
  if (due != inputs.size()) [[unlikely]]
    record_count(worker, graph, step, point, due > inputs.size());
}

[[gnu::cold]] void Execution::record_count(Worker& worker, const Graph& graph, std::int64_t step, std::int64_t point,
                                           bool missing) const {
  worker.record({missing ? ViolationKind::missing_input : ViolationKind::surplus_input, graph.index(), step, point});
}

void Execution::execute_point(Worker& worker, std::size_t index, std::int64_t step, std::int64_t point, std::byte* output,
                              std::span<const std::byte* const> inputs) {
  const Graph& graph = graphs_[index];
  if (!graph.contains(step, point)) [[unlikely]]
    return worker.record({ViolationKind::no_such_task, graph.index(), step, point});
  if (validation_ != Validation::off) {
    check_inputs(worker, graph, step, point, inputs);
    if (!ledgers_[index]->mark(step, point)) [[unlikely]]
      worker.record({ViolationKind::repeated, graph.index(), step, point});
  }
  fill(output, graph.output_bytes(), step, point);
  worker.iterations_[index] += kernels_[index]({graph.index(), step, point}, worker.scratch_);
  // Once more after the kernel: nobody may overwrite an input while the task runs.
  if (validation_ == Validation::full) check_inputs(worker, graph, step, point, inputs);
  ++worker.executed_;
  worker.dependencies_ += static_cast<std::int64_t>(inputs.size());
}

void Execution::clear() {
  for (const auto& ledger : ledgers_) ledger->clear();
  for (Worker& worker : workers_) {
    worker.executed_ = worker.dependencies_ = 0;
    std::ranges::fill(worker.iterations_, 0);
    worker.violation_.reset();
  }
}

Accounts Execution::accounts() const {
  Accounts sum;
  for (const Worker& worker : workers_) {
    sum.executed += worker.executed_;
    sum.dependencies += worker.dependencies_;
    for (std::size_t g = 0; g < graphs_.size(); ++g) {
      const auto iterations = static_cast<double>(worker.iterations_[g]);
      sum.flops += iterations * kernels_[g].flops_per_iteration();
      sum.bytes += iterations * kernels_[g].bytes_per_iteration();
      sum.work += iterations * kernels_[g].work_per_iteration();
    }
  }
  return sum;
}

std::optional<Violation> Execution::violation() const {
  for (const Worker& worker : workers_)
    if (worker.violation_) return worker.violation_;
  return std::nullopt;
}

std::optional<Violation> Execution::verify() const {
  if (auto first = violation()) return first;
  const std::int64_t executed = accounts().executed;
  if (validation_ != Validation::off) {
    for (std::size_t k = 0; k < graphs_.size(); ++k) {
      if (executed == tasks_ && ledgers_[k]->exact()) continue;
      if (auto wrong = ledgers_[k]->compare(graphs_[k], ledgers_[k]->counts())) return wrong;
    }
  }
  if (executed == tasks_) return std::nullopt;
  // Unmarked, or two threads ran one task at the same instant: which one is not known.
  return Violation{executed > tasks_ ? ViolationKind::repeated : ViolationKind::skipped, 0, -1, -1};
}

}  // namespace taskgrain
