/// Nested tasks: a call makes a task of each call but the last, and waits for them.

#include <omp.h>

#include <string>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/nested_calls.hpp"
#include "taskgrain/openmp.hpp"

namespace {

using namespace taskgrain;

class OpenmpNested final : public System {
 public:
  std::string name() const override { return "openmp_task"; }
  std::string version() const override { return openmp_version(); }
  int cores() const override { return openmp_team(); }
  std::vector<std::vector<int>> binding() override { return openmp_binding(); }

  void prepare(Execution& run) override {
    contexts_ = run.contexts(cores());
    graphs_.clear();
    graphs_ = NestedCalls::of(run);
  }

  void execute(Execution&) override {
#pragma omp parallel
#pragma omp single
    for (std::size_t g = 0; g < graphs_.size(); ++g) {
#pragma omp task firstprivate(g)
      for (std::int64_t n = 0; n < graphs_[g].periods(); ++n) call(graphs_[g], graphs_[g].root(n));
    }
  }

 private:
  void call(const NestedCalls& calls, NestedCalls::Call one) const {
    calls.begin(context(), one);
    const Interval children = calls.children(one);
    for (std::int64_t k = children.first; k < children.last; ++k) {
#pragma omp task default(shared) firstprivate(one, k)
      call(calls, NestedCalls::child(one, k));
    }
    if (children.size() > 0) {
      call(calls, NestedCalls::child(one, children.last));
#pragma omp taskwait
    }
    calls.end(context(), one);
  }
  ThreadContext& context() const { return *contexts_[static_cast<std::size_t>(omp_get_thread_num())]; }

  std::vector<ThreadContext*> contexts_;
  std::vector<NestedCalls> graphs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<OpenmpNested>(argc, argv); }
