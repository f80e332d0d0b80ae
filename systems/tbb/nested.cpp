/// Nested task groups: a call runs each call but the last in a group, and waits for it.

#include <tbb/task_group.h>

#include <string>
#include <vector>

#include "arena.hpp"
#include "taskgrain/driver.hpp"
#include "taskgrain/nested_calls.hpp"

namespace {

using namespace taskgrain;

class TbbNested final : public System {
 public:
  std::string name() const override { return "tbb"; }
  std::string version() const override { return TBB_runtime_version(); }
  int cores() const override { return static_cast<int>(threads_.pin.seen()); }
  std::vector<std::vector<int>> binding() override { return threads_.pin.binding(); }

  void prepare(Execution& run) override {
    contexts_ = run.contexts(static_cast<int>(threads_.processors.size()));
    graphs_.clear();
    graphs_ = NestedCalls::of(run);
  }

  void execute(Execution&) override {
    threads_.arena.execute([&] {
      tbb::task_group group;
      for (const NestedCalls& calls : graphs_)
        group.run([this, &calls] {
          for (std::int64_t n = 0; n < calls.periods(); ++n) call(calls, calls.root(n));
        });
      group.wait();
    });
  }

 private:
  void call(const NestedCalls& calls, NestedCalls::Call one) const {
    calls.begin(*contexts_[slot()], one);
    const Interval children = calls.children(one);
    if (children.size() > 0) {
      tbb::task_group group;
      for (std::int64_t k = children.first; k < children.last; ++k)
        group.run([this, &calls, one, k] { call(calls, NestedCalls::child(one, k)); });
      call(calls, NestedCalls::child(one, children.last));
      group.wait();
    }
    calls.end(*contexts_[slot()], one);
  }

  Arena threads_;
  std::vector<ThreadContext*> contexts_;
  std::vector<NestedCalls> graphs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TbbNested>(argc, argv); }
