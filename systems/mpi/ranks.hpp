#pragma once

/// What the systems of communicating ranks have in common: an exchange for each graph, over which its columns are
/// spread.

#include <memory>
#include <memory_resource>
#include <vector>

#include "exchange.hpp"
#include "taskgrain/process_system.hpp"

class ExchangingRanks : public taskgrain::ProcessSystem {
 public:
  using ProcessSystem::ProcessSystem;

  void prepare(taskgrain::Execution& run) override {
    check_tags(run.graphs().size());
    if (ranks() > 1) run.distribute();
    exchanges_.clear();
    for (const taskgrain::Graph& graph : run.graphs())
      exchanges_.push_back(
          std::make_unique<Exchange>(graph, rank(), ranks(), [&](int r) { return columns(graph, r); }, memory()));
  }

 protected:
  /// Where outputs and arrivals lie.
  virtual std::pmr::memory_resource* memory() { return std::pmr::get_default_resource(); }

  /// Calls `body(g, exchange)` for each graph that has this step.
  template <typename Body>
  void for_graphs(std::int64_t step, Body body) {
    for (std::size_t g = 0; g < exchanges_.size(); ++g)
      if (step < exchanges_[g]->steps()) body(g, *exchanges_[g]);
  }
  Exchange& exchange(std::size_t g) { return *exchanges_[g]; }
  void finish() {
    for (auto& exchange : exchanges_) exchange->finish();
  }

 private:
  std::vector<std::unique_ptr<Exchange>> exchanges_;
};

/// A rank of one thread on each core.
class RankForEachCore : public ExchangingRanks {
 public:
  RankForEachCore() : ExchangingRanks(MPI_THREAD_SINGLE) { taskgrain::pin_this_thread(own_processors()[0]); }

  int cores() const override { return ranks(); }
  std::vector<std::vector<int>> binding() override { return gather_binding({taskgrain::binding_of_this_thread()}); }
};
