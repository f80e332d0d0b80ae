/// The overhead of StarPU: tasks with dependences on tasks (task), and a sequential program whose dependences StarPU
/// finds by the data of each task (stf).

#include <starpu.h>

#include <cstdlib>
#include <vector>

#include "../../systems/starpu/workers.hpp"
#include "program.hpp"

namespace {

class Starpu {
 public:
  explicit Starpu(const apps::OverheadOptions& options)
      : options_(options), workers_([&] {
          setenv("STARPU_SCHED", "lws", 0);
          if (options.threads > STARPU_MAXCPUS)
            throw taskgrain::InvalidSpec("threads", std::to_string(options.threads),
                                         "1 to " + std::to_string(STARPU_MAXCPUS) + " with this StarPU");
          std::vector<int> processors;
          const std::vector<int> all = taskgrain::cores();
          for (int k = 0; k < options.threads; ++k) processors.push_back(all[static_cast<std::size_t>(k) % all.size()]);
          return processors;
        }()) {
    taskgrain::pin_this_thread(taskgrain::cores().front());
    codelet_.cpu_funcs[0] = [](void**, void* argument) { apps::spin(*static_cast<const double*>(argument)); };
    codelet_.nbuffers = STARPU_VARIABLE_NBUFFERS;
    if (!stf()) return;
    handles_.resize(static_cast<std::size_t>(options.tasks()));
    for (starpu_data_handle_t& handle : handles_)
      starpu_variable_data_register(&handle, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(&datum_), sizeof datum_);
    workers_.wake();
  }
  ~Starpu() {
    workers_.wake();
    for (const starpu_data_handle_t handle : handles_) starpu_data_unregister_no_coherency(handle);
  }
  Starpu(const Starpu&) = delete;
  Starpu& operator=(const Starpu&) = delete;

  template <typename Start>
  void run(const Start& start) {
    if (options_.apart())
      workers_.rest();
    else
      workers_.wake();
    std::vector<starpu_task*> tasks;  // that are kept: others depend on them
    for (std::int64_t k = 0; k < options_.tasks(); ++k) {
      starpu_task* const task = starpu_task_create();
      task->cl = &codelet_;
      task->cl_arg = const_cast<double*>(&options_.spin);
      const auto before = options_.grid() ? predecessors(k) : std::vector<std::int64_t>();
      if (stf()) {
        set_data(*task, k, before);
      } else if (options_.grid()) {
        task->destroy = 0;
        std::vector<starpu_task*> of;
        for (const std::int64_t one : before) of.push_back(tasks[static_cast<std::size_t>(one)]);
        if (!of.empty()) starpu_task_declare_deps_array(task, static_cast<unsigned>(of.size()), of.data());
        tasks.push_back(task);
      }
      if (!options_.apart())
        workers_.submit(task);
      else if (starpu_task_submit(task) != 0)
        throw std::runtime_error("StarPU refuses a task");
    }
    if (options_.apart()) start();
    workers_.wake();
    workers_.work_until(0);
    for (starpu_task* const task : tasks) starpu_task_destroy(task);
  }

 private:
  bool stf() const { return options_.interface == "stf"; }
  /// Task j·rows + i is (i, j).
  std::vector<std::int64_t> predecessors(std::int64_t task) const {
    const std::int64_t rows = options_.rows, i = task % rows, j = task / rows;
    std::vector<std::int64_t> found;
    for (int k = 0; j > 0 && k < options_.dependences; ++k) found.push_back((j - 1) * rows + (i - k + rows) % rows);
    return found;
  }
  void set_data(starpu_task& task, std::int64_t own, const std::vector<std::int64_t>& before) const {
    task.nbuffers = static_cast<int>(before.size()) + 1;
    if (task.nbuffers > STARPU_NMAXBUFS) {  // StarPU frees these
      const auto number = static_cast<std::size_t>(task.nbuffers);
      task.dyn_handles = static_cast<starpu_data_handle_t*>(std::malloc(number * sizeof(starpu_data_handle_t)));
      task.dyn_modes = static_cast<starpu_data_access_mode*>(std::malloc(number * sizeof(starpu_data_access_mode)));
    }
    const auto access = [&](int buffer, std::int64_t of, starpu_data_access_mode mode) {
      STARPU_TASK_SET_HANDLE(&task, handles_[static_cast<std::size_t>(of)], buffer);
      STARPU_TASK_SET_MODE(&task, mode, buffer);
    };
    access(0, own, STARPU_RW);
    for (std::size_t k = 0; k < before.size(); ++k) access(static_cast<int>(k) + 1, before[k], STARPU_R);
  }

  const apps::OverheadOptions options_;
  StarpuWorkers workers_;
  starpu_codelet codelet_{};
  int datum_ = 0;
  std::vector<starpu_data_handle_t> handles_;
};

}  // namespace

int main(int argc, char** argv) {
  return apps::drive_overhead<Starpu>(argc, argv, "starpu", {.grid = true, .apart = true, .interface = true});
}
