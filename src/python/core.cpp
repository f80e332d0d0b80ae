/// The core for Python: graph queries for the command line, and what `taskgrain.driver` stands on.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "../core/byte_count.hpp"
#include "../core/dag.hpp"
#include "../core/fault_books.hpp"
#include "../core/process_books.hpp"
#include "../core/request.hpp"
#include "../driver/protocol.hpp"
#include "../driver/waiting.hpp"
#include "../graphs/dependences.hpp"
#include "../record/fold.hpp"
#include "../supervisor/processes.hpp"
#include "taskgrain/binding.hpp"
#include "taskgrain/bound.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/fields.hpp"
#include "taskgrain/kernel_entry.hpp"
#include "taskgrain/pattern.hpp"

namespace nb = nanobind;

namespace {

using namespace taskgrain;

/// A view of any object with Python's buffer interface, contiguous and of at least `bytes`.
class Buffer {
 public:
  Buffer(nb::handle object, std::size_t bytes, bool writable, const char* field) {
    const int flags = PyBUF_SIMPLE | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
    if (static_cast<std::size_t>(view_.len) < bytes) {
      const auto length = std::to_string(view_.len);
      PyBuffer_Release(&view_);
      throw InvalidSpec(field, length + " bytes", "at least " + std::to_string(bytes) + " bytes");
    }
  }
  ~Buffer() {
    if (view_.obj != nullptr) PyBuffer_Release(&view_);
  }
  Buffer(Buffer&& other) noexcept : view_(other.view_) { other.view_.obj = nullptr; }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const noexcept { return static_cast<std::byte*>(view_.buf); }

 private:
  Py_buffer view_{};
};

std::vector<std::int64_t> list(const Points& points) {
  std::vector<std::int64_t> all;
  for (const Interval interval : points)
    for (std::int64_t point = interval.first; point <= interval.last; ++point) all.push_back(point);
  return all;
}

/// The graphs of a `run` request, and one execution of them.
class Run {
 public:
  explicit Run(const std::string& request_json)
      : text_(request_json), request_(parse(request_json)),
        execution_(request_.graphs, request_.validation, request_.isa, request_.fault) {}

  std::size_t graphs() const { return execution_.graphs().size(); }
  const Graph& graph(std::size_t g) const {
    if (g >= graphs()) throw InvalidSpec("graph", std::to_string(g), "0 to " + std::to_string(graphs() - 1));
    return execution_.graphs()[g];
  }

  void execute_point(std::size_t worker, std::size_t g, std::int64_t step, std::int64_t point, nb::handle output,
                     nb::sequence inputs) {
    const Buffer out(output, graph(g).output_bytes(), true, "output");
    execute_into(out.data(), worker, g, step, point, inputs);
  }

  nb::bytes execute(std::size_t worker, std::size_t g, std::int64_t step, std::int64_t point, nb::sequence inputs) {
    PyObject* const output = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(graph(g).output_bytes()));
    if (output == nullptr) throw nb::python_error();
    auto bytes = nb::steal<nb::bytes>(output);
    execute_into(reinterpret_cast<std::byte*>(PyBytes_AS_STRING(output)), worker, g, step, point, inputs);
    return bytes;
  }

  nb::dict accounts() const {
    const Accounts sum = others_ ? all_books().accounts : execution_.accounts();
    nb::dict dict;
    dict["executed"] = sum.executed;
    dict["dependencies"] = sum.dependencies;
    dict["flops"] = sum.flops;
    dict["bytes"] = sum.bytes;
    dict["work"] = sum.work;
    dict["work_unit"] = std::string(name(execution_.kernel(0).work_unit()));
    return dict;
  }

  nb::object verify() const {
    if (auto failure = execution_.failure()) std::rethrow_exception(failure);
    return as_dict(others_ ? all_books().verify(execution_) : execution_.verify());
  }

  /// What was executed here, for the process that adds up what all did.
  nb::bytes books() const {
    const std::vector<std::uint8_t> bytes = ProcessBooks::of(execution_).bytes();
    return nb::bytes(bytes.data(), bytes.size());
  }

  /// Adds what another process executed of the same request.
  void add(const nb::bytes& books) {
    const ProcessBooks theirs = ProcessBooks::from({static_cast<const std::uint8_t*>(books.data()), books.size()});
    if (others_) return others_->add(theirs);
    ProcessBooks::of(execution_).add(theirs);  // which refuses those of another request
    others_ = theirs;
  }

  /// Tasks, dependences, and how many of these stay within a node when the width is cut into `nodes` blocks.
  nb::dict stats(std::size_t g, std::int64_t nodes) const {
    const Graph& of = graph(g);
    if (nodes < 1) throw InvalidSpec("nodes", std::to_string(nodes), "1 or more");
    const auto node = [&](std::int64_t point) {
      return (point + 1) * nodes / of.width() - ((point + 1) * nodes % of.width() == 0 ? 1 : 0);
    };
    std::int64_t tasks = 0, dependences = 0, local = 0, most = 0;
    for (std::int64_t step = 0; step < of.steps(); ++step) {
      const Interval points = of.points(step);
      tasks += points.size();
      for (std::int64_t i = points.first; i <= points.last; ++i) {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();  // Ctrl-C
        std::int64_t own = 0;
        for (const Interval deps : of.deps(step, i)) {
          own += deps.size();
          for (std::int64_t j = deps.first; j <= deps.last; ++j) local += node(j) == node(i) ? 1 : 0;
        }
        dependences += own;
        most = std::max(most, own);
      }
    }
    nb::dict dict;
    dict["tasks"] = tasks;
    dict["dependences"] = dependences;
    dict["local"] = local;
    dict["remote"] = dependences - local;
    dict["most_dependences"] = most;
    return dict;
  }

  /// How the shape of a graph depends on its steps.
  nb::dict shape(std::size_t g) const {
    const Graph& of = graph(g);
    nb::dict dict;
    dict["ramp"] = of.ramp();
    dict["period"] = of.dependence_sets();
    dict["whole"] = of.whole();
    dict["nested"] = of.fork_depth() >= 0;
    return dict;
  }

  nb::dict bound(std::int64_t cores) const {
    if (cores < 1) throw InvalidSpec("cores", std::to_string(cores), "1 or more");
    const Bound found = bound_of(execution_.graphs(), cores);
    nb::dict dict;
    dict["tasks"] = found.tasks;
    dict["critical_path"] = found.critical_path;
    dict["narrowest"] = found.narrowest;
    dict["widest"] = found.widest;
    dict["narrow_steps"] = found.narrow_steps;
    dict["time"] = found.time;
    return dict;
  }

  void clear() {
    execution_.clear();
    others_.reset();
  }
  void distribute() { execution_.distribute(); }
  const std::string& request() const { return text_; }
  std::int64_t tasks() const { return execution_.tasks(); }
  std::int64_t id() const { return request_.id; }
  std::int64_t repeats() const { return request_.repeats; }
  std::int64_t warmup() const { return request_.warmup; }
  std::optional<std::int64_t> strikes() const {
    return execution_.disturbed() ? std::optional(execution_.strikes()) : std::nullopt;
  }
  std::uintptr_t address() noexcept { return reinterpret_cast<std::uintptr_t>(&execution_); }

 private:
  void execute_into(std::byte* output, std::size_t worker, std::size_t g, std::int64_t step, std::int64_t point,
                    const nb::sequence& inputs) {
    const std::size_t bytes = graph(g).output_bytes();
    std::vector<Buffer> views;
    std::vector<const std::byte*> data;
    for (const nb::handle input : inputs) data.push_back(views.emplace_back(input, bytes, false, "input").data());
    const nb::gil_scoped_release release;
    execution_.execute_point(execution_.context(worker), g, step, point, output, data);
  }

  static RunRequest parse(const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded()) throw InvalidSpec("request", text.substr(0, 200), "JSON");
    return run_request(json);
  }

  static nb::object as_dict(const std::optional<Violation>& violation) {
    if (!violation) return nb::none();
    nb::dict dict;
    dict["kind"] = std::string(name(violation->kind));
    dict["graph"] = violation->graph;
    dict["step"] = violation->step;
    dict["point"] = violation->point;
    dict["input"] = violation->input;
    dict["expected"] = nb::make_tuple(violation->expected[0], violation->expected[1]);
    dict["got"] = nb::make_tuple(violation->got[0], violation->got[1]);
    dict["message"] = violation->text();
    return dict;
  }

  ProcessBooks all_books() const {
    ProcessBooks books = ProcessBooks::of(execution_);
    books.add(*others_);
    return books;
  }

  std::string text_;
  RunRequest request_;
  Execution execution_;
  std::optional<ProcessBooks> others_;  ///< what other processes executed
};

nb::object as_python(const FieldValue& value) {
  return std::visit([](const auto& held) { return nb::cast(held); }, value);
}

/// An end of the range of a field; None: no bound, or a type that has no range.
nb::object bound(const Field& field, double end) {
  if (std::isinf(end)) return nb::none();
  if (field.type == FieldType::number) return nb::cast(end);
  const bool whole = field.type == FieldType::integer || field.type == FieldType::bytes;
  return whole ? nb::cast(static_cast<std::int64_t>(end)) : nb::none();
}

nb::dict as_dict(const Field& field) {
  nb::dict dict;
  dict["name"] = field.name;
  dict["type"] = name(field.type);
  dict["unit"] = field.unit;
  dict["default"] = as_python(default_of(field));
  dict["low"] = bound(field, field.low);
  dict["high"] = bound(field, field.high);
  dict["help"] = field.help;
  dict["of_kernel"] = field.of_kernel;
  dict["choices"] = nb::none();
  if (field.choices != nullptr) {
    nb::list names;
    for (const auto each : field.choices()) names.append(each);
    dict["choices"] = names;
  }
  return dict;
}

}  // namespace

NB_MODULE(_core, m) {
  nb::exception<InvalidSpec>(m, "InvalidSpec", PyExc_ValueError);
  const nb::exception<Unsupported> unsupported(m, "Unsupported", PyExc_RuntimeError);
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* type) {
        try {
          std::rethrow_exception(thrown);
        } catch (const std::bad_alloc&) {
          PyErr_SetString(static_cast<PyObject*>(type), "not enough memory for these graphs");
        } catch (const std::length_error&) {  // of a vector
          PyErr_SetString(static_cast<PyObject*>(type), "not enough memory for these graphs");
        }
      },
      unsupported.ptr());

  nb::class_<Waiting>(m, "Waiting")
      .def(nb::init<>())
      .def(
          "seconds", [](Waiting& waiting, int cores, double of) { return waiting.seconds(cores, of); },
          nb::arg("cores"), nb::arg("of"));
  nb::class_<graphs::Dependences>(m, "Dependences")
      .def(nb::init<const std::vector<graphs::Dependences::Numbers>&>(), nb::arg("before"))
      .def("order", &graphs::Dependences::order)
      .def("ends", &graphs::Dependences::ends, nb::arg("durations"))
      .def("late", &graphs::Dependences::late);

  nb::class_<Run>(m, "Run")
      .def(nb::init<const std::string&>(), nb::arg("request_json"))
      .def_prop_ro("graphs", &Run::graphs)
      .def_prop_ro("tasks", &Run::tasks)
      .def_prop_ro("id", &Run::id)
      .def_prop_ro("repeats", &Run::repeats)
      .def_prop_ro("warmup", &Run::warmup)
      .def_prop_ro("strikes", &Run::strikes)
      .def_prop_ro("address", &Run::address)
      .def(
          "steps", [](const Run& r, std::size_t g) { return r.graph(g).steps(); }, nb::arg("graph") = 0)
      .def(
          "width", [](const Run& r, std::size_t g) { return r.graph(g).width(); }, nb::arg("graph") = 0)
      .def(
          "output_bytes", [](const Run& r, std::size_t g) { return r.graph(g).output_bytes(); }, nb::arg("graph") = 0)
      .def("dependence_set", [](const Run& r, std::size_t g, std::int64_t t) { return r.graph(g).dependence_set(t); })
      .def("points",
           [](const Run& r, std::size_t g, std::int64_t t) {
             const Interval points = r.graph(g).points(t);
             return std::pair(points.first, points.last);
           })
      .def("deps",
           [](const Run& r, std::size_t g, std::int64_t t, std::int64_t i) { return list(r.graph(g).deps(t, i)); })
      .def("weights",
           [](const Run& r, std::size_t g, std::int64_t t) {
             std::vector<double> found;
             const Interval points = r.graph(g).points(t);
             if (const auto weights = r.graph(g).weights())
               for (std::int64_t i = points.first; i <= points.last; ++i) found.push_back(weights->weight(t, i));
             return found;
           })
      .def("reverse_deps", [](const Run& r, std::size_t g, std::int64_t t,
                              std::int64_t i) { return list(r.graph(g).reverse_deps(t, i)); })
      .def("stats", &Run::stats, nb::arg("graph") = 0, nb::arg("nodes") = 1)
      .def("shape", &Run::shape, nb::arg("graph") = 0)
      .def("bound", &Run::bound, nb::arg("cores"))
      .def("execute_point", &Run::execute_point, nb::arg("worker"), nb::arg("graph"), nb::arg("step"), nb::arg("point"),
           nb::arg("output"), nb::arg("inputs"))
      .def("execute", &Run::execute, nb::arg("worker"), nb::arg("graph"), nb::arg("step"), nb::arg("point"),
           nb::arg("inputs"))
      .def("clear", &Run::clear)
      .def_prop_ro("request", &Run::request)
      .def("distribute", &Run::distribute)
      .def("books", &Run::books)
      .def("add", &Run::add, nb::arg("books"))
      .def("accounts", &Run::accounts)
      .def("verify", &Run::verify);

  m.def("patterns", [] {
    std::vector<std::string> names;
    for (const Pattern& pattern : patterns()) names.emplace_back(pattern.name);
    return names;
  });
  m.def("also_called", [] {
    nb::dict words;
    for (const Pattern& pattern : patterns()) words[nb::cast(pattern.name)] = pattern.also_called;
    return words;
  });
  m.def("kernels", [] {
    std::vector<std::string> names;
    for (const KernelEntry& kernel : kernels()) names.emplace_back(kernel.name);
    return names;
  });
  m.def("fields", [] {
    nb::list all;
    for (const Field& field : fields()) all.append(as_dict(field));
    return all;
  });
  m.def("dag_hash", &dag_hash, nb::arg("path"));
  m.def("byte_count", &byte_count, nb::arg("text"));
  m.def(
      "fold_recording",
      [](const std::string& events, double seconds_per_tick) {
        const auto found = record::fold(events, seconds_per_tick);
        return nb::make_tuple(found.names, found.named, found.seconds, found.before);
      },
      nb::arg("events"), nb::arg("seconds_per_tick"));
  m.attr("MOST_TASKS_WITH_FAULT") = FaultBooks::most_tasks;
  m.def("cores", &cores);
  m.def("pin_this_thread", &pin_this_thread, nb::arg("processor"));
  m.def("binding_of_this_thread", &binding_of_this_thread);
  m.def("descendants", &descendants, nb::arg("roots"), nb::arg("listed") = true);
  m.def(
      "shared_memory",
      [](const std::vector<pid_t>& pids, double since) {
        nb::list found;
        for (const std::string& path : shared_memory(pids, since)) found.append(nb::bytes(path.data(), path.size()));
        return found;
      },
      nb::arg("pids"), nb::arg("since"));
  m.def("build_facts_json", [] { return build_facts().dump(); });
}
