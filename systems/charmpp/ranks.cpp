/// The chares of charmpp across processes: Charm++ as a library of an MPI program, with a PE for each rank. All ranks
/// serve messages until PE 0, which starts the chares and counts the ends of their arrays, tells them to leave.

#include <mpi-interoperate.h>

#include <climits>
#include <string>
#include <vector>

#include "column.hpp"
#include "ranks.decl.h"
#include "taskgrain/error.hpp"
#include "taskgrain/process_system.hpp"

namespace {

using namespace taskgrain;

CProxy_Ranks everybody;   // PE 0 alone has it
std::size_t awaited = 0;  // reductions; PE 0 alone counts them

void reduced(void*, void* message) {
  CkFreeMsg(message);
  if (--awaited == 0) everybody.leave();
}

class CharmppRanks final : public ProcessSystem {
 public:
  CharmppRanks() : ProcessSystem(MPI_THREAD_SINGLE) {
    pin_this_thread(own_processors()[0]);
    // The runtime keeps these.
    static char driver[] = "driver", quiet[] = "++quiet";
    static char* arguments[] = {driver, quiet, nullptr};
    CharmLibInit(MPI_COMM_WORLD, 2, arguments);
  }

  std::string name() const override { return "charmpp"; }
  std::string version() const override { return charm_version() + ", " + ProcessSystem::version(); }
  int cores() const override { return CkNumPes(); }
  std::vector<std::vector<int>> binding() override { return gather_binding({binding_of_this_thread()}); }

  void prepare(Execution& run) override {
    if (ranks() > 1) run.distribute();
    shared = {&run, run.contexts(1), {}};
    together([&] {  // before all ranks wait for chares
      for (const Graph& graph : run.graphs()) {
        if (graph.output_bytes() > most_bytes)
          throw Unsupported("charmpp: output_bytes of nearly 2^31, the most that one message counts, or more");
        Columns::check(graph, columns(graph, rank()).size());
        shared.classes.emplace_back(graph);
      }
    });
    awaited = run.graphs().size();
    if (rank() == 0) columns_.create(run.graphs(), reduced);
    StartCharmScheduler();
  }

  void execute(Execution& run) override {
    awaited = run.graphs().size();
    if (rank() == 0) columns_.start();
    StartCharmScheduler();
  }

 private:
  static constexpr std::size_t most_bytes = INT_MAX - 4096;  // and what Charm++ puts before them

  Columns columns_;
};

}  // namespace

/// What a main chare creates is there on all PEs when the runtime has started.
class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* message) {
    delete message;
    everybody = CProxy_Ranks::ckNew();
  }
};

class Ranks : public CBase_Ranks {
 public:
  /// Ends CharmLibInit().
  Ranks() { leave(); }

  void leave() { StopCharmScheduler(); }
};

int main(int argc, char** argv) { return taskgrain::drive<CharmppRanks>(argc, argv); }

#include "ranks.def.h"
