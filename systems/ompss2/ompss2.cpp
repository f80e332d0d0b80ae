/// One task creates a task for each point, in program order; Nanos6 infers their dependences from what they read and
/// write. Written to the interface that compilers of OmpSs-2 use, because no registry has one of them.

#include <nanos6.h>
#include <nanos6/bootstrap.h>
#include <nanos6/debug.h>
#include <nanos6/library-mode.h>

#include <functional>
#include <future>
#include <latch>
#include <stdexcept>
#include <string>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/outputs.hpp"

namespace {

using namespace taskgrain;

/// A graph of the run, and what its tasks need.
struct Part {
  Part(Execution& run_, std::size_t g_, int cores)
      : run(run_), g(g_), graph(run.graphs()[g]), workers(run.contexts(cores)), outputs(graph) {}

  Execution& run;
  const std::size_t g;
  const Graph& graph;
  std::vector<ThreadContext*> workers;
  Outputs outputs;
};

/// A task, as `#pragma oss task in(...) out(...)` would make it.
struct Point {
  const Part* part;
  std::int64_t step, point;

  std::int64_t dependences() const {
    std::int64_t sum = 1;
    for (const Interval deps : part->graph.deps(step, point)) sum += deps.size();
    return sum;
  }
  void name_data(void* task) const {
    const auto bytes = static_cast<long>(part->graph.output_bytes());
    for (const Interval deps : part->graph.deps(step, point))
      for (std::int64_t dep = deps.first; dep <= deps.last; ++dep)
        nanos6_register_region_read_depinfo1(task, 0, "input", part->outputs.at(step - 1, dep), bytes, 0, bytes);
    nanos6_register_region_write_depinfo1(task, 1, "output", part->outputs.at(step, point), bytes, 0, bytes);
  }
  void execute() const {
    ThreadContext& context = *part->workers[nanos6_get_current_virtual_cpu()];
    thread_local std::vector<const std::byte*> space;
    try {
      part->run.execute_point(context, part->g, step, point, part->outputs.at(step, point),
                              part->outputs.inputs(step, point, space));
    } catch (...) {
      part->run.book_failure(context, std::current_exception());
    }
  }
};

/// A task that holds a core until all cores have one, and looks which it is.
struct Look {
  std::vector<std::vector<int>>* binding;
  std::latch* all;

  std::int64_t dependences() const { return 0; }
  void name_data(void*) const {}
  void execute() const {
    (*binding)[nanos6_get_current_virtual_cpu()] = binding_of_this_thread();
    all->arrive_and_wait();
  }
};

/// What Nanos6 wants to know of a kind of task.
template <typename Task>
nanos6_task_info_t* kind() {
  static nanos6_task_implementation_info_t implementation{
      .device_type_id = nanos6_host_device,
      .run = [](void* task, void*, nanos6_address_translation_entry_t*) { static_cast<Task*>(task)->execute(); },
      .get_constraints = nullptr,
      .task_type_label = "task",
      .declaration_source = __FILE__,
      .device_function_name = nullptr,
  };
  static nanos6_task_info_t info = [] {
    nanos6_task_info_t made{};
    made.num_symbols = 2;
    made.register_depinfo = [](void* task, void*, void* handler) { static_cast<Task*>(task)->name_data(handler); };
    made.implementation_count = 1;
    made.implementations = &implementation;
    return made;
  }();
  return &info;
}

template <typename Task>
void spawn(const Task& what) {
  static nanos6_task_invocation_info_t invocation{.invocation_source = __FILE__};
  void *arguments = nullptr, *task = nullptr;
  nanos6_create_task(kind<Task>(), &invocation, "task", sizeof(Task), &arguments, &task, 0,
                     static_cast<std::size_t>(what.dependences()));
  *static_cast<Task*>(arguments) = what;
  nanos6_submit_task(task);
}

class Ompss2 final : public System {
 public:
  Ompss2() {
    // Nanos6 has a worker for each processor that the process may run on.
    pin_this_process(processors_);
    if (const char* const error = nanos6_library_mode_init(); error != nullptr) throw std::runtime_error(error);
    if (nanos6_get_num_cpus() != processors_.size())
      throw std::runtime_error("Nanos6 uses " + std::to_string(nanos6_get_num_cpus()) + " processors of " +
                               std::to_string(processors_.size()));
    std::latch all(cores());
    run([&] {
      for (int k = 0; k < cores(); ++k) spawn(Look{&binding_, &all});
    });
  }
  ~Ompss2() override { nanos6_shutdown(); }

  std::string name() const override { return "ompss2"; }
  std::string version() const override { return "Nanos6 " + std::string(nanos6_get_runtime_version()); }
  int cores() const override { return static_cast<int>(processors_.size()); }
  std::vector<std::vector<int>> binding() override { return binding_; }

  void prepare(Execution& run) override {
    parts_.clear();
    parts_.reserve(run.graphs().size());  // tasks point at them
    for (std::size_t g = 0; g < run.graphs().size(); ++g) parts_.emplace_back(run, g, cores());
  }

  void execute(Execution& execution) override {
    run([&] {
      for (std::int64_t step = 0, steps = execution.most_steps(); step < steps; ++step)
        for (const Part& part : parts_) {
          const Interval points = part.graph.points(step);
          for (std::int64_t point = points.first; point <= points.last; ++point) spawn(Point{&part, step, point});
        }
    });
  }

 private:
  /// Runs a function as a task, and waits for it and all tasks that it makes.
  static void run(const std::function<void()>& create) {
    struct Root {
      const std::function<void()>& create;
      std::promise<void> ended;
    } root{create, {}};
    const auto call = [](void* of) {
      static_cast<Root*>(of)->create();
      nanos6_taskwait(__FILE__);
    };
    nanos6_spawn_function(call, &root, [](void* of) { static_cast<Root*>(of)->ended.set_value(); }, &root, "root");
    root.ended.get_future().wait();
  }

  const std::vector<int> processors_ = taskgrain::cores();
  std::vector<std::vector<int>> binding_ = std::vector<std::vector<int>>(processors_.size());
  std::vector<Part> parts_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Ompss2>(argc, argv); }
