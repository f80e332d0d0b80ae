/// Chares, one for each column of each graph, that send each other their outputs; an array of chares for each graph.
/// Here the PEs are threads of one process, and messages carry outputs by reference.

#include <mpi-interoperate.h>

#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "charmpp.decl.h"
#include "column.hpp"
#include "taskgrain/driver.hpp"

namespace {

using namespace taskgrain;

std::vector<std::vector<int>> observed;  // [pe]
std::ptrdiff_t awaited = 0;              // reductions; PE 0 alone counts them

void reduced(void*, void* message) {
  CkFreeMsg(message);
  if (--awaited == 0) CsdExitScheduler();
}

/// Serves PE 0's messages until so many reductions have come in. Where there is no other PE, they may be in already.
void await(std::size_t reductions) {
  awaited += static_cast<std::ptrdiff_t>(reductions);
  if (awaited > 0) CsdScheduler(-1);
}

/// User-driven mode: the driver's thread is PE 0, and serves messages only while it waits for something. The other PEs
/// are never stopped: it would then be part of each run to wake them.
class Charmpp final : public System {
 public:
  Charmpp() {
    // What cannot be bound is said here: Charm++ would abort.
    std::async(std::launch::async, [this] { std::ranges::for_each(processors_, pin_this_thread); }).get();
    std::string map;
    for (const int processor : processors_) map.append(map.empty() ? "" : ",").append(std::to_string(processor));
    // The runtime keeps these. PEs that have a processor each spin, whatever the runtime thinks of hardware threads.
    static std::vector<std::string> words{
        "driver", "+p", std::to_string(processors_.size()), "+pemap", map, "++quiet", "+CmiSpinOnIdle"};
    static std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    CharmInit(static_cast<int>(words.size()), arguments.data());
    CmiNodeAllBarrier();  // where the other PEs wait for StartCharmScheduler()
    observed.resize(static_cast<std::size_t>(CkNumPes()));
    CProxy_Pes::ckNew();
    await(1);
  }

  std::string name() const override { return "charmpp"; }
  std::string version() const override { return charm_version(); }
  int cores() const override { return CkNumPes(); }
  std::vector<std::vector<int>> binding() override { return observed; }

  void prepare(Execution& run) override {
    shared = {&run, run.contexts(cores()), {}};
    for (const Graph& graph : run.graphs()) {
      Columns::check(graph, graph.width());
      shared.classes.emplace_back(graph);
    }
    columns_.create(run.graphs(), reduced);
    await(run.graphs().size());
  }

  void execute(Execution& run) override {
    columns_.start();
    await(run.graphs().size());
  }

 private:
  const std::vector<int> processors_ = taskgrain::cores();
  Columns columns_;
};

}  // namespace

/// Tells where the PEs run.
class Pes : public CBase_Pes {
 public:
  Pes() {
    observed[static_cast<std::size_t>(CkMyPe())] = binding_of_this_thread();
    contribute(CkCallback(reduced, nullptr));
  }
};

int main(int argc, char** argv) {
  const int code = taskgrain::drive<Charmpp>(argc, argv);
  // The other PEs still look for messages: nothing that they use may be destroyed.
  std::fflush(nullptr);
  std::_Exit(code);
}

#include "charmpp.def.h"
