/// Chares, one for each column of each graph, that send each other their outputs; an array of chares for each graph.

#include <mpi-interoperate.h>

#include <algorithm>
#include <climits>
#include <future>
#include <new>
#include <string>
#include <vector>

#include "column.hpp"
#include "taskgrain/driver.hpp"
#include "taskgrain/error.hpp"

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
  std::string version() const override {
    return std::to_string(CHARM_VERSION / 10000) + "." + std::to_string(CHARM_VERSION / 100 % 100) + "." +
           std::to_string(CHARM_VERSION % 100);
  }
  int cores() const override { return CkNumPes(); }
  std::vector<std::vector<int>> binding() override { return observed; }

  void prepare(Execution& run) override {
    for (CProxy_Column& columns : arrays_) CProxy_CkArray(columns.ckGetArrayID()).ckDestroy();
    arrays_.clear();
    shared = {&run, run.contexts(cores()), {}};
    for (const Graph& graph : run.graphs()) {
      check(graph);
      shared.classes.emplace_back(graph);
    }
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      arrays_.push_back(CProxy_Column::ckNew(g, static_cast<int>(run.graphs()[g].width())));
      CkCallback done(reduced, nullptr);
      arrays_.back().ckSetReductionClient(&done);
    }
    await(arrays_.size());
  }

  void execute(Execution&) override {
    for (CProxy_Column& columns : arrays_) columns.start();
    await(arrays_.size());
  }

 private:
  static void check(const Graph& graph) {
    if (graph.width() > INT_MAX) throw Unsupported("charmpp: a width above 2^31 - 1, the most that an array counts");
    // Asks for all outputs at once, because chares cannot say that theirs do not fit.
    const auto width = static_cast<std::size_t>(graph.width());
    if (graph.output_bytes() > SIZE_MAX / 2 / width) throw std::bad_alloc();
    ::operator delete(::operator new(2 * width * graph.output_bytes()));
  }

  const std::vector<int> processors_ = taskgrain::cores();
  std::vector<CProxy_Column> arrays_;
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
