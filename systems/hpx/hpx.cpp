/// A dataflow task for each point, which hands its output on in a future: HPX's way for a grid that goes from step to
/// step.

#include <unistd.h>
#include <hpx/future.hpp>
#include <hpx/init.hpp>
#include <hpx/modules/runtime_local.hpp>
#include <hpx/thread.hpp>
#include <hpx/version.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "taskgrain/driver.hpp"

namespace {

using namespace taskgrain;
using Output = std::unique_ptr<std::byte[]>;
using Future = hpx::shared_future<Output>;

/// Steps of which tasks are made before the first of them has run.
constexpr std::int64_t look_ahead = 16;

/// The tasks of one graph while they are made.
struct Front {
  std::vector<Future> before, now;  ///< of two steps, by point
  std::vector<Future> earlier;      ///< of a step that lies the look-ahead back
  std::vector<Future> ends;         ///< that no other task waits for
};

class Hpx final : public System {
 public:
  Hpx() {
    if (std::set(processors_.begin(), processors_.end()).size() != processors_.size())
      throw std::runtime_error("TASKGRAIN_CORES names a processor twice, which HPX gives one worker only");
    pin_this_process(processors_);
    hpx::register_thread_on_start_func([this](std::size_t worker, std::size_t, const char* pool, const char*) {
      if (std::string_view(pool) == "default") binding_[worker] = binding_of_this_thread();
    });
    hpx::init_params how;
    how.cfg = {"hpx.os_threads!=" + std::to_string(processors_.size()), "hpx.use_process_mask!=1"};
    static char name[] = "driver";
    static char* words[] = {name, nullptr};
    hpx::start(nullptr, 1, words, how);
  }
  ~Hpx() override {
    hpx::post([] { hpx::finalize(); });
    hpx::stop();
  }

  std::string name() const override { return "hpx"; }
  std::string version() const override { return hpx::full_version_as_string(); }
  int cores() const override { return static_cast<int>(hpx::get_num_worker_threads()); }
  std::vector<std::vector<int>> binding() override { return binding_; }

  void prepare(Execution& run) override {
    contexts_ = run.contexts(cores());
    double bytes = 0;  // of two steps, which are there at once at least
    for (const Graph& graph : run.graphs())
      bytes += 2.0 * static_cast<double>(graph.width()) * static_cast<double>(graph.output_bytes());
    if (bytes > static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)))
      throw std::bad_alloc();
  }
  void execute(Execution& run) override {
    hpx::run_as_hpx_thread([&] { make_tasks(run); });
  }

 private:
  void make_tasks(Execution& run) {
    std::vector<Front> fronts(run.graphs().size());
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step) {
      for (std::size_t g = 0; g < fronts.size(); ++g) {
        if (step < run.graphs()[g].steps()) make_step(run, g, step, fronts[g]);
        if (step % look_ahead == 0) wait_for_earlier(fronts[g]);
      }
    }
    for (const Front& front : fronts) hpx::wait_all_nothrow(front.ends);
    for (const Front& front : fronts)
      for (const Future& end : front.ends) end.get();  // throws what its task has thrown
  }

  void make_step(Execution& run, std::size_t g, std::int64_t step, Front& front) {
    const Graph& graph = run.graphs()[g];
    front.before.swap(front.now);
    front.now.assign(static_cast<std::size_t>(graph.width()), {});
    const Interval points = graph.points(step);
    for (std::int64_t point = points.first; point <= points.last; ++point) {
      std::vector<Future> inputs;
      for (const Interval deps : graph.deps(step, point))
        for (std::int64_t dep = deps.first; dep <= deps.last; ++dep)
          inputs.push_back(front.before[static_cast<std::size_t>(dep)]);
      const Future made = hpx::dataflow(
          hpx::launch::async,
          [this, &run, g, step, point](const std::vector<Future>& from) {
            return execute_task(run, g, step, point, from);
          },
          std::move(inputs));
      front.now[static_cast<std::size_t>(point)] = made;
      const Points readers = graph.reverse_deps(step, point);
      if (readers.begin() == readers.end()) front.ends.push_back(made);
    }
  }

  static void wait_for_earlier(Front& front) {
    hpx::wait_all_nothrow(front.earlier);
    front.earlier.clear();
    for (const Future& made : front.now)
      if (made.valid()) front.earlier.push_back(made);
    std::erase_if(front.ends, [](const Future& end) { return end.is_ready() && !end.has_exception(); });
  }

  Output execute_task(Execution& run, std::size_t g, std::int64_t step, std::int64_t point,
                      const std::vector<Future>& from) {
    thread_local std::vector<const std::byte*> inputs;
    inputs.clear();
    for (const Future& input : from) inputs.push_back(input.get().get());  // throws what made it fail
    Output output = std::make_unique_for_overwrite<std::byte[]>(run.graphs()[g].output_bytes());
    run.execute_point(*contexts_[hpx::get_worker_thread_num()], g, step, point, output.get(), inputs);
    return output;
  }

  const std::vector<int> processors_ = taskgrain::cores();
  std::vector<std::vector<int>> binding_ = std::vector<std::vector<int>>(processors_.size());  // [k] by worker k
  std::vector<ThreadContext*> contexts_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Hpx>(argc, argv); }
