#pragma once

/// Legion in one process: one CPU processor for each core of TASKGRAIN_CORES, bound to it, and a mapper that gives each
/// processor columns of its own.

#include <legion.h>
#include <mappers/default_mapper.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "taskgrain/binding.hpp"

/// Outputs stay where they are: each task gets the one instance of its graph's region.
class ColumnMapper final : public Legion::Mapping::DefaultMapper {
 public:
  /// Of all tasks.
  static constexpr Legion::VariantID variant = 1;
  /// Of tasks that are launched for a certain processor, whose place this tag is.
  static constexpr Legion::MappingTagID first_place = 1;

  ColumnMapper(Legion::Mapping::MapperRuntime* mappers, const std::vector<Legion::Processor>& processors)
      : DefaultMapper(mappers, Legion::Machine::get_machine(), processors.front(), "columns"), processors_(processors) {
  }

  void select_task_options(Legion::Mapping::MapperContext, const Legion::Task& task, TaskOptions& options) override {
    options.initial_proc = processors_[task.tag < first_place ? 0 : task.tag - first_place];
    options.map_locally = true;
    options.valid_instances = false;
    options.memoize = true;
  }
  void memoize_operation(Legion::Mapping::MapperContext, const Legion::Mappable&, const MemoizeInput&,
                         MemoizeOutput& output) override {
    output.memoize = true;
  }
  /// A graph's columns in equal blocks, the same at all steps.
  void slice_task(Legion::Mapping::MapperContext ctx, const Legion::Task& task, const SliceTaskInput& input,
                  SliceTaskOutput& output) override {
    const Legion::Rect<1> points = input.domain;
    const Legion::Rect<1> columns = runtime->get_index_space_domain(ctx, task.regions[0].parent.get_index_space());
    const auto width = static_cast<Legion::coord_t>(columns.volume()),
               number = static_cast<Legion::coord_t>(processors_.size());
    for (Legion::coord_t k = 0; k < number; ++k) {
      const Legion::Rect<1> own((k * width + number - 1) / number, ((k + 1) * width + number - 1) / number - 1);
      const Legion::Rect<1> slice = own.intersection(points);
      if (!slice.empty()) output.slices.emplace_back(slice, processors_[static_cast<std::size_t>(k)], false, false);
    }
  }
  void map_task(Legion::Mapping::MapperContext ctx, const Legion::Task& task, const MapTaskInput&,
                MapTaskOutput& output) override {
    output.chosen_variant = variant;
    output.target_procs.assign(1, task.target_proc);
    for (std::size_t k = 0; k < task.regions.size(); ++k)
      output.chosen_instances[k].assign(1, instance(ctx, task.regions[k].parent));
  }
  void configure_context(Legion::Mapping::MapperContext, const Legion::Task&, ContextConfigOutput& output) override {
    output.auto_tracing_enabled = false;
  }

 private:
  const Legion::Mapping::PhysicalInstance& instance(Legion::Mapping::MapperContext ctx,
                                                    const Legion::LogicalRegion& region) {
    Legion::Mapping::PhysicalInstance& instance = instances_[region.get_tree_id()];
    if (!instance.exists()) {
      Legion::Machine::MemoryQuery memories(machine);
      for (const Legion::Memory memory : memories)
        if (runtime->find_physical_instance(ctx, memory, Legion::LayoutConstraintSet(), {region}, instance)) break;
    }
    return instance;
  }

  const std::vector<Legion::Processor>& processors_;
  std::unordered_map<Legion::RegionTreeID, Legion::Mapping::PhysicalInstance> instances_;
};

class LegionMachine {
 public:
  enum : Legion::TaskID { top_task, bind_task, first_free_task };

  /// To be called before a machine is made.
  template <void (*Function)(const Legion::Task*, const std::vector<Legion::PhysicalRegion>&, Legion::Context,
                             Legion::Runtime*)>
  static void add_task(Legion::TaskID id, const char* name) {
    Legion::TaskVariantRegistrar registrar(id, name);
    registrar.add_constraint(Legion::ProcessorConstraint(Legion::Processor::LOC_PROC));
    registrar.set_leaf();
    Legion::Runtime::preregister_task_variant<Function>(registrar, name, ColumnMapper::variant);
  }

  LegionMachine() {
    add_task<bind>(bind_task, "bind");
    LegionMachine* self = this;
    Legion::Runtime::add_registration_callback(add_mapper, {&self, sizeof self}, false);
    // Legion's own work is done by the processors of tasks, between these. Threads for it on the same cores would keep
    // taking them from tasks, and what waits for it would wait for their turn: with them, the smallest tasks took twice
    // as long. Outputs are attached in the memory of tasks, which has no instances but these; in Realm's own memory for
    // what is attached, tasks could not see them. Realm's allocations of cores may fail, for it wants cores of its own
    // for threads that sleep; so each processor is bound by a task, and all other threads stay on the cores that the
    // driver is given. What cannot be bound is said here: a task of Legion must not throw.
    taskgrain::pin_this_process(cores_);
    const std::string number = std::to_string(cores_.size());
    std::vector<std::string> words = {"legion",    "-ll:cpu", number,           "-ll:util", "0",
                                      "-ll:csize", "1",       "-ll:ext_sysmem", "0",        "-ll:ib_rsize",
                                      "0",         "-level",  "5,gpu=6"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    Legion::Runtime::start(static_cast<int>(words.size()), arguments.data(), true);
    begin();
    binding();
  }
  ~LegionMachine() {
    runtime().finish_implicit_task(context_);
    Legion::Runtime::wait_for_shutdown();
  }
  LegionMachine(const LegionMachine&) = delete;
  LegionMachine& operator=(const LegionMachine&) = delete;

  int size() const { return static_cast<int>(processors_.size()); }
  static std::string version() { return "Legion " + std::string(LEGION_VERSION).substr(std::string("legion-").size()); }

  static Legion::Runtime& runtime() { return *Legion::Runtime::get_runtime(); }
  /// Of the task that launches all others: the calling thread.
  Legion::Context context() const { return context_; }
  /// Ends that task and all that Legion keeps for it, traces among them, and begins another one.
  void renew_context() {
    runtime().finish_implicit_task(context_);
    begin();
  }

  /// The place of the processor that executes the calling task.
  std::size_t place() const {
    return static_cast<std::size_t>(std::ranges::find(processors_, Legion::Processor::get_executing_processor()) -
                                    processors_.begin());
  }

  /// The processors of the operating system that each of Legion's may run on, observed by itself.
  std::vector<std::vector<int>> binding() {
    std::vector<std::vector<int>> found(processors_.size());
    for (std::size_t k = 0; k < processors_.size(); ++k) {
      Bind bind{cores_[k % cores_.size()], &found[k]};
      Legion::TaskLauncher launcher(bind_task, {&bind, sizeof bind});
      launcher.tag = ColumnMapper::first_place + k;
      runtime().execute_task(context_, launcher).get_void_result(true);
    }
    return found;
  }

 private:
  struct Bind {
    int core;
    std::vector<int>* found;
  };
  static void bind(const Legion::Task* task, const std::vector<Legion::PhysicalRegion>&, Legion::Context,
                   Legion::Runtime*) {
    const auto& [core, found] = *static_cast<const Bind*>(task->args);
    taskgrain::pin_this_thread(core);
    *found = taskgrain::binding_of_this_thread();
  }

  static void add_mapper(const Legion::RegistrationCallbackArgs& arguments) {
    LegionMachine& self = **static_cast<LegionMachine* const*>(arguments.buffer.get_ptr());
    self.processors_.assign(arguments.local_procs.begin(), arguments.local_procs.end());
    std::erase_if(self.processors_, [](Legion::Processor one) { return one.kind() != Legion::Processor::LOC_PROC; });
    Legion::Runtime& runtime = *arguments.runtime;
    runtime.replace_default_mapper(new ColumnMapper(runtime.get_mapper_runtime(), self.processors_));
  }

  void begin() { context_ = runtime().begin_implicit_task(top_task, 0, Legion::Processor::LOC_PROC, "top"); }

  const std::vector<int> cores_ = taskgrain::cores();
  std::vector<Legion::Processor> processors_;
  Legion::Context context_{};
};
