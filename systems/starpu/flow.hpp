#pragma once

/// One graph as StarPU sees it: data handles for the outputs of a ring of steps, and tasks that read and write them.

#include <starpu.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "taskgrain/error.hpp"
#include "taskgrain/execution.hpp"
#include "workers.hpp"

class Flow {
 public:
  using Graph = taskgrain::Graph;
  using Interval = taskgrain::Interval;

  /// \param own    the points whose tasks this process executes
  /// \param ahead  tasks that are submitted ahead of those that run
  Flow(taskgrain::Execution& run, std::size_t g, Interval own, StarpuWorkers& workers, int ahead)
      : run_(run), g_(g), graph_(run.graphs()[g]), own_(own), starpu_(workers),
        contexts_(run.contexts(workers.number())) {
    const std::size_t line = 64, stride = (graph_.output_bytes() + line - 1) / line * line;
    const auto width = static_cast<std::size_t>(graph_.width()), columns = static_cast<std::size_t>(own_.size());
    depth_ = depth(width, stride, static_cast<std::size_t>(ahead));
    if (stride > SIZE_MAX / width / depth_) throw std::bad_alloc();
    if (depth_ * columns > most_handles())
      throw taskgrain::Unsupported("starpu: " + std::to_string(depth_ * columns) +
                                   " data handles do not fit into memory");
    const std::size_t bytes = depth_ * columns * stride;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(line, std::max(line, bytes))));
    if (!memory_) throw std::bad_alloc();
    std::fill_n(memory_.get(), bytes, std::byte{0xff});  // no task's output: what runs early is caught
    handles_.resize(depth_ * width);
    auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
    for (std::size_t row = 0; row < depth_; ++row)
      for (std::int64_t point = own_.first; point <= own_.last; ++point, address += stride)
        starpu_variable_data_register(&handles_[place(row, point)], STARPU_MAIN_RAM, address, graph_.output_bytes());
  }
  ~Flow() {
    for (const starpu_data_handle_t handle : handles_)
      if (handle != nullptr) starpu_data_unregister_no_coherency(handle);
  }
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  /// Handles for what another process computes; StarPU allocates their memory when it is first needed.
  void add_remote(std::int64_t point) {
    for (std::size_t row = 0; row < depth_; ++row)
      if (starpu_data_handle_t& handle = handles_[place(row, point)]; handle == nullptr)
        starpu_variable_data_register(&handle, -1, 0, graph_.output_bytes());
  }

  /// Of an output, below `places`: those of one place write over one another.
  std::size_t place(std::int64_t step, std::int64_t point) const {
    return place(static_cast<std::size_t>(step) % depth_, point);
  }
  std::size_t places() const { return handles_.size(); }
  starpu_data_handle_t handle(std::int64_t step, std::int64_t point) const { return handles_[place(step, point)]; }

  /// Submits the own tasks of a step, whose order StarPU infers from their data.
  void submit(std::int64_t step) {
    const Interval points = graph_.points(step);
    for (std::int64_t point = std::max(points.first, own_.first); point <= std::min(points.last, own_.last); ++point) {
      const taskgrain::Points deps = graph_.deps(step, point);
      starpu_task* task = starpu_task_create();
      task->cl = &codelet();
      task->nbuffers = static_cast<int>(deps.count()) + 1;
      if (task->nbuffers > STARPU_NMAXBUFS) {  // StarPU frees these
        task->dyn_handles = allocate<starpu_data_handle_t>(task->nbuffers);
        task->dyn_modes = allocate<starpu_data_access_mode>(task->nbuffers);
      }
      int buffer = 0;
      const auto access = [&](starpu_data_handle_t data, starpu_data_access_mode mode) {
        STARPU_TASK_SET_HANDLE(task, data, buffer);
        STARPU_TASK_SET_MODE(task, mode, buffer);
        ++buffer;
      };
      access(handle(step, point), STARPU_W);
      deps.for_each([&](Interval interval) {
        for (std::int64_t dep = interval.first; dep <= interval.last; ++dep) access(handle(step - 1, dep), STARPU_R);
      });
      task->cl_arg = new (allocate<Call>(1)) Call{this, step, point, task->nbuffers};
      task->cl_arg_size = sizeof(Call);
      task->cl_arg_free = 1;
      starpu_.submit(task);
    }
  }

 private:
  /// What a task is told beside its data.
  struct Call {
    Flow* flow;
    std::int64_t step, point;
    int buffers;
  };

  static starpu_codelet& codelet() {
    static starpu_codelet codelet = [] {
      starpu_codelet made{};
      made.cpu_funcs[0] = execute;
      made.nbuffers = STARPU_VARIABLE_NBUFFERS;
      made.name = "point";
      return made;
    }();
    return codelet;
  }

  static void execute(void** buffers, void* argument) {
    const auto& [flow, step, point, number] = *static_cast<const Call*>(argument);
    thread_local std::vector<const std::byte*> inputs;
    inputs.clear();
    for (int k = 1; k < number; ++k) inputs.push_back(memory_of(buffers[k]));
    flow->run_.execute_point(*flow->contexts_[static_cast<std::size_t>(starpu_worker_get_id())], flow->g_, step, point,
                             memory_of(buffers[0]), inputs);
  }
  static std::byte* memory_of(void* buffer) { return reinterpret_cast<std::byte*>(STARPU_VARIABLE_GET_PTR(buffer)); }

  template <typename T>
  static T* allocate(int number) {
    void* memory = std::malloc(static_cast<std::size_t>(number) * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }

  /// Steps to keep: so many that a task never waits for those that read what it writes over, but not more than fit into
  /// memory that is not missed.
  std::size_t depth(std::size_t width, std::size_t stride, std::size_t ahead) const {
    const auto steps = static_cast<std::size_t>(graph_.steps());
    return std::max<std::size_t>(2, std::min({ahead / width + 2, most_bytes / width / stride, steps}));
  }
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  /// A handle takes nearly 4 KiB, and without memory StarPU ends the process.
  static std::size_t most_handles() {
    return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 4096;
  }

  std::size_t place(std::size_t row, std::int64_t point) const {
    return row * static_cast<std::size_t>(graph_.width()) + static_cast<std::size_t>(point);
  }

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  taskgrain::Execution& run_;
  const std::size_t g_;
  const Graph& graph_;
  const Interval own_;
  StarpuWorkers& starpu_;
  const std::vector<taskgrain::ThreadContext*> contexts_;
  std::size_t depth_;
  std::unique_ptr<std::byte, Free> memory_;
  std::vector<starpu_data_handle_t> handles_;  ///< [row, point]; none for what this process has nothing to do with
};
