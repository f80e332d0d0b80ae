/// Nested forks of coroutines: a call forks each call but the last, and joins.

#include <string>
#include <vector>

#include "pool.hpp"
#include "taskgrain/driver.hpp"
#include "taskgrain/nested_calls.hpp"

namespace {

using namespace taskgrain;
using Contexts = std::vector<ThreadContext*>;

inline constexpr auto call = [](auto self, const Contexts& contexts, const NestedCalls& calls,
                                NestedCalls::Call one) -> lf::task<> {
  calls.begin(*contexts[this_worker()], one);
  const Interval children = calls.children(one);
  for (std::int64_t k = children.first; k < children.last; ++k)
    co_await lf::fork(self)(contexts, calls, NestedCalls::child(one, k));
  if (children.size() > 0) co_await lf::call(self)(contexts, calls, NestedCalls::child(one, children.last));
  co_await lf::join;
  calls.end(*contexts[this_worker()], one);
};

inline constexpr auto execute_graph = [](auto, const Contexts& contexts, const NestedCalls& calls) -> lf::task<> {
  for (std::int64_t n = 0; n < calls.periods(); ++n) {
    co_await lf::call(call)(contexts, calls, calls.root(n));
    co_await lf::join;
  }
};

inline constexpr auto execute_graphs = [](auto, const Contexts& contexts,
                                          const std::vector<NestedCalls>& graphs) -> lf::task<> {
  for (const NestedCalls& calls : graphs) co_await lf::fork(execute_graph)(contexts, calls);
  co_await lf::join;
};

class LibforkNested final : public System {
 public:
  std::string name() const override { return "libfork"; }
  std::string version() const override { return Pool::version(); }
  int cores() const override { return static_cast<int>(workers_.processors.size()); }
  std::vector<std::vector<int>> binding() override { return workers_.binding; }

  void prepare(Execution& run) override {
    contexts_ = run.contexts(cores());
    graphs_.clear();
    graphs_ = NestedCalls::of(run);
  }

  void execute(Execution&) override { lf::sync_wait(workers_.pool, execute_graphs, contexts_, graphs_); }

 private:
  Pool workers_;
  Contexts contexts_;
  std::vector<NestedCalls> graphs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<LibforkNested>(argc, argv); }
