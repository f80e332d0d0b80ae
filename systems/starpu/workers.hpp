#pragma once

/// StarPU's workers on the processors that a driver is given.
///
/// The thread that submits tasks drives the first worker itself, by StarPU's driver interface: a thread of its own
/// would compete with the workers, which poll for tasks, for the cores that they have.

#include <hwloc.h>
#include <sched.h>
#include <starpu.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "taskgrain/binding.hpp"

inline std::string starpu_version() {
  int major = 0, minor = 0, release = 0;
  starpu_get_version(&major, &minor, &release);
  return "StarPU " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

class StarpuWorkers {
 public:
  /// \param processors  that of each worker
  explicit StarpuWorkers(const std::vector<int>& processors) : number_(static_cast<int>(processors.size())) {
    if (number_ > STARPU_MAXCPUS)
      throw std::runtime_error(std::to_string(number_) + " workers: this StarPU was built for " +
                               std::to_string(STARPU_MAXCPUS) + " (--enable-maxcpus)");
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = number_;
#if STARPU_MAJOR_VERSION == 1 && STARPU_MINOR_VERSION < 4
    conf.nmic = 0;
#else
    conf.nhip = conf.nmax_fpga = conf.ntcpip_ms = 0;
#endif
    conf.ncuda = conf.nopencl = conf.nmpi_ms = 0;
    conf.catch_signals = 0;
    conf.not_launched_drivers = &first_;
    conf.n_not_launched_drivers = 1;
    conf.use_explicit_workers_bindid = 1;
    place(processors, conf.workers_bindid);
    // StarPU keeps what it measures of the machine in files, which nothing here reads: no performance model is used.
    std::error_code none;  // TMPDIR may lead nowhere
    const std::filesystem::path folder = std::filesystem::temp_directory_path(none);
    std::string home = (none ? "/tmp" : folder) / "taskgrain-starpu-XXXXXX";
    if (mkdtemp(home.data()) == nullptr) throw std::runtime_error("cannot make the folder " + home + " for StarPU");
    setenv("STARPU_HOME", home.c_str(), 1);
    const int failed = starpu_init(&conf);
    std::filesystem::remove_all(home);
    if (failed != 0 || starpu_driver_init(&first_) != 0) throw std::runtime_error("StarPU does not start");
    number_ = static_cast<int>(starpu_cpu_worker_get_count());  // its own variables may have asked for others
    rest();
  }
  ~StarpuWorkers() {
    wake();
    starpu_driver_deinit(&first_);
    starpu_shutdown();
  }
  StarpuWorkers(const StarpuWorkers&) = delete;
  StarpuWorkers& operator=(const StarpuWorkers&) = delete;

  int number() const { return number_; }
  /// Tasks that are submitted ahead of those that run.
  int ahead() const { return 256 * number_; }

  /// Lets the workers poll for tasks.
  void wake() {
    if (resting_) starpu_resume();
    resting_ = false;
  }
  /// Stops them from polling: between runs they must not take cores from whatever else is measured.
  void rest() {
    if (!resting_) starpu_pause();
    resting_ = true;
  }

  /// Submits a task, and works as the first worker whenever more are submitted than keep all workers at work.
  void submit(starpu_task* task) {
    if (starpu_task_submit(task) != 0) throw std::runtime_error("StarPU refuses a task");
    if (++submitted_ % 32 == 0 && starpu_task_nsubmitted() > ahead()) work_until(ahead() / 2);
  }
  /// Works as the first worker until at most so many submitted tasks are left.
  void work_until(int left) {
    for (int before = starpu_task_nsubmitted(), now = 0; before > left; before = now) {
      starpu_driver_run_once(&first_);
      now = starpu_task_nsubmitted();
      if (now == before) sched_yield();  // a thread that others wait for may have to share this core
    }
  }

  /// The processors that each worker may run on, observed by itself.
  std::vector<std::vector<int>> binding() {
    wake();
    std::vector<std::vector<int>> binding(static_cast<std::size_t>(number_));
    starpu_codelet observe{};
    observe.cpu_funcs[0] = [](void**, void* at) {
      *static_cast<std::vector<int>*>(at) = taskgrain::binding_of_this_thread();
    };
    for (int k = 0; k < number_; ++k) {
      starpu_task* task = starpu_task_create();
      task->cl = &observe;
      task->cl_arg = &binding[static_cast<std::size_t>(k)];
      task->execute_on_a_specific_worker = 1;
      task->workerid = static_cast<unsigned>(k);
      submit(task);
    }
    work_until(0);
    rest();
    return binding;
  }

 private:
  /// StarPU counts processors as hwloc does, not as the operating system does.
  static void place(const std::vector<int>& processors, unsigned* places) {
    hwloc_topology_t topology = nullptr;
    hwloc_topology_init(&topology);
    hwloc_topology_load(topology);
    const std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)> guard(topology, hwloc_topology_destroy);
    for (const int processor : processors) {
      const hwloc_obj_t unit = hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(processor));
      if (unit == nullptr)
        throw std::runtime_error("TASKGRAIN_CORES: there is no processor " + std::to_string(processor));
      *places++ = unit->logical_index;
    }
  }

  int number_;
  starpu_driver first_{STARPU_CPU_WORKER, {0}};
  bool resting_ = false;
  std::size_t submitted_ = 0;
};
