/// Nested forks: a call forks half of what it calls, half by half, and joins.

#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/nested_calls.hpp"
#include "taskgrain/rt.hpp"

namespace {

using namespace taskgrain;

class TaskgrainNested final : public System {
 public:
  std::string name() const override { return "taskgrain_fork"; }
  std::string version() const override { return rt::version; }
  int cores() const override { return runtime_.workers(); }

  std::vector<std::vector<int>> binding() override {
    return runtime_.on_each_worker([](int) { return binding_of_this_thread(); });
  }

  void prepare(Execution& run) override {
    contexts_ = run.contexts(cores());
    graphs_.clear();
    graphs_ = NestedCalls::of(run);
  }

  void execute(Execution&) override {
    rt::fork_join(runtime_, [&] { execute_graphs({0, static_cast<std::int64_t>(graphs_.size()) - 1}); });
  }

 private:
  void execute_graphs(Interval some) const {
    if (some.size() == 1) {
      const NestedCalls& calls = graphs_[static_cast<std::size_t>(some.first)];
      for (std::int64_t n = 0; n < calls.periods(); ++n) call(calls, calls.root(n));
    } else {
      halves(some, [&](Interval half) { execute_graphs(half); });
    }
  }

  void call(const NestedCalls& calls, NestedCalls::Call one) const {
    calls.begin(context(), one);
    call_children(calls, one, calls.children(one));
    calls.end(context(), one);
  }
  void call_children(const NestedCalls& calls, NestedCalls::Call one, Interval children) const {
    if (children.size() == 1) return call(calls, NestedCalls::child(one, children.first));
    if (children.size() > 1) halves(children, [&](Interval half) { call_children(calls, one, half); });
  }

  /// Forks the second half of some calls, and makes those of the first.
  template <typename Calls>
  static void halves(Interval all, const Calls& calls) {
    const std::int64_t middle = all.first + all.size() / 2;
    rt::Fork second([&] { calls({middle, all.last}); });
    calls({all.first, middle - 1});
    second.join();
  }

  ThreadContext& context() const { return *contexts_[static_cast<std::size_t>(rt::this_worker())]; }

  rt::Runtime runtime_{{.cores = taskgrain::cores()}};
  rt::Pinned pinned_{runtime_.cores()[0]};  // else `fork_join` does and undoes it each time
  std::vector<ThreadContext*> contexts_;
  std::vector<NestedCalls> graphs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TaskgrainNested>(argc, argv); }
