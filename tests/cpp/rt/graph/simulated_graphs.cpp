#include "rt/graph/simulated_graphs.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "comm/messenger.hpp"
#include "graph/graph_compiler.hpp"
#include "graph/program.hpp"
#include "graph/rank_compiler.hpp"
#include "graph/rank_edges.hpp"
#include "rt/comm/fiber.hpp"
#include "rt/comm/simulated_transport.hpp"
#include "rt/graph/random_ranks.hpp"
#include "rt/stress.hpp"

namespace taskgrain::rt {

namespace {

using detail::InOrderRecord;
using detail::Instruction;
using detail::Messenger;
using detail::RankEdges;

/// A body that all ranks compile, and launch so often.
struct Plan {
  Body body;
  std::vector<std::int64_t> launches;  ///< iterations
};

/// One rank's share of a plan, and how far its workers are.
class SimulatedGraph {
 public:
  /// By all ranks. It may give way.
  SimulatedGraph(const Plan& plan, int workers, Communicator& comm)
      : plan_(plan), share_(plan.body, comm.rank(), [this](TaskGraph::Node node, const Turn& turn, int back) {
          if (auto* const own = outline_->self_edge(node.index))
            return std::span<const std::byte>(own->at(turn.overall - back));
          const auto k = std::ranges::lower_bound(outline_->receives, node.index) - outline_->receives.begin();
          return edges_->received(static_cast<std::size_t>(k), turn.overall - back);
        }) {
    CompileStatistics statistics;
    detail::Compiler compiler(share_.graph(comm), workers, statistics);
    programs_ = detail::compile_in_order(compiler, statistics);
    check_groups(compiler);
    edges_ = std::make_unique<RankEdges>(detail::ranks_of(compiler), compiler, programs_);
    outline_.emplace(std::move(compiler).outline(false));
    workers_.resize(static_cast<std::size_t>(workers));
    channels_.resize(programs_.channels.size());
    edges_->on_resume([this](int worker) { workers_[static_cast<std::size_t>(worker)].parked = false; });
  }
  ~SimulatedGraph() { edges_->on_resume(nullptr); }

  bool is_through() const { return std::ranges::none_of(workers_, &Worker::running); }
  bool has_launches() const { return launched_ < plan_.launches.size(); }
  /// \pre it is through the one before, and there is one more
  void launch() {
    begin_ = end_;
    end_ += plan_.launches[launched_++];
    edges_->launch(end_);
    for (Worker& worker : workers_) worker = {.running = end_ > begin_, .iteration = begin_};
  }
  /// A worker goes on, if it can. \returns what is wrong
  std::string go_on(Dice& dice, int w) {
    Worker& me = workers_[static_cast<std::size_t>(w)];
    if (!me.running || me.parked) return {};
    auto& [records, waits, signals] = programs_.workers[static_cast<std::size_t>(w)];
    if (me.record == records.size()) {
      edges_->finish(w, me.iteration);
      me = {.running = me.iteration + 1 < end_, .iteration = me.iteration + 1};
      ++progress_;
      return {};
    }
    InOrderRecord& record = records[me.record];
    const Turn turn{me.iteration - begin_, w, me.iteration};
    if (me.sum) return run(me, record, turn);
    for (; me.wait < record.waits_end; ++me.wait)
      if (!passed(waits[me.wait], me.iteration)) {
        if (!waits[me.wait].by_rank || dice.below(2) == 0) return {};
        me.parked = true;
        me.parked = edges_->park(waits[me.wait], me.iteration, begin_);
        return {};
      }
    if (record.instruction == Instruction::send) {
      edges_->send(record.operand, me.iteration);
      end_record(me, record);
    } else if (const auto task = share_.task_of(record.node); task && dice.below(2) == 0) {
      me.sum = share_.sum(*task, turn);  // it takes its time
    } else {
      return run(me, record, turn);
    }
    return {};
  }
  /// After a launch. \returns what is wrong
  std::string check() {
    const auto expected = plan_.body.expected(end_ - begin_);
    for (std::size_t k = 0; k < expected.size(); ++k)
      if (end_ > begin_ && share_.own(k) && share_.output(k, end_ - begin_ - 1)[0] != expected[k])
        return "task " + std::to_string(k) + " has computed something else";
    return {};
  }
  std::uint64_t progress() const { return progress_; }
  std::string where() const {
    std::string text;
    for (const Worker& worker : workers_)
      if (worker.running)
        text += " iteration " + std::to_string(worker.iteration) + " record " + std::to_string(worker.record) +
                (worker.parked ? " parked" : "");
    return text;
  }

 private:
  /// What a worker sends to one rank in one level is one group.
  void check_groups(const detail::Compiler& compiler) const {
    for (const auto& program : programs_.workers) {
      std::set<std::pair<int, std::uint32_t>> groups;
      for (const InOrderRecord& record : program.records)
        if (record.instruction == Instruction::send &&
            !groups.emplace(programs_.groups[record.operand].rank, std::max(compiler.level[record.node], 1U)).second)
          throw std::logic_error("a worker sends one rank two groups in one level");
    }
  }

  struct Worker {
    bool running = false, parked = false;
    std::int64_t iteration = 0;
    std::size_t record = 0, wait = 0, signal = 0;
    std::optional<std::uint64_t> sum{};  ///< of what its task has read
  };

  bool passed(const detail::Wait& wait, std::int64_t iteration) const {
    if (wait.by_rank) return edges_->passed(wait, iteration, begin_);
    return channels_[wait.channel] >= iteration * wait.stride + wait.offset;
  }
  std::string run(Worker& me, InOrderRecord& record, const Turn& turn) {
    if (me.sum && *std::exchange(me.sum, {}) != share_.sum(*share_.task_of(record.node), turn))
      return "what a task reads changes while it runs";
    record.action(turn);
    end_record(me, record);
    return {};
  }
  void end_record(Worker& me, const InOrderRecord& record) {
    const auto& signals = programs_.workers[static_cast<std::size_t>(&me - workers_.data())].signals;
    for (; me.signal < record.signals_end; ++me.signal) {
      const detail::Signal& signal = signals[me.signal];
      channels_[signal.channel] = me.iteration * signal.stride + signal.offset;
    }
    ++me.record;
    ++progress_;
  }

  const Plan& plan_;
  Share share_;
  std::optional<detail::Outline> outline_;
  detail::InOrderPrograms programs_;
  std::unique_ptr<RankEdges> edges_;
  std::vector<Worker> workers_;
  std::vector<std::int64_t> channels_;
  std::size_t launched_ = 0;
  std::int64_t begin_ = 0, end_ = 0;  ///< of the launch, over all of them
  std::uint64_t progress_ = 0;        ///< records
};

class GraphWorld {
 public:
  explicit GraphWorld(std::uint64_t seed) : dice_(seed), network_(2 + below(3), dice_, violation_) {
    network_.meanwhile = [](int) {};
    workers_ = 1 + below(3);
    for (int k = 1 + below(2); k > 0; --k) {
      Plan& plan = plans_.emplace_back(Body(dice_.below(UINT64_MAX), network_.ranks(), workers_));
      const int longest = chance(2) ? 3 : 12;
      for (int launches = 1 + below(chance(2) ? 3 : 12); launches > 0; --launches)
        plan.launches.push_back(below(longest));
    }
    for (int r = 0; r < network_.ranks(); ++r) {
      Rank& me = ranks_.emplace_back();
      me.comm = std::make_unique<SimulatedCommunicator>(network_, r);
      me.messenger = &me.comm->messenger();
      me.progress = &me.messenger->progress_engine();
      me.progress->open();
    }
  }

  std::string run() {
    std::uint64_t before = 0;
    for (int idle = 0; !all_gone() && violation_.empty();) {
      try {
        step(ranks_[dice_.below(ranks_.size())]);
      } catch (const std::exception& error) {
        violated(error.what());
      }
      const std::uint64_t now = progress();
      idle = now == std::exchange(before, now) ? idle + 1 : 0;
      if (idle > 20000) violated("nothing goes on:" + where());
    }
    for (int r = 0; r < network_.ranks() && violation_.empty(); ++r)
      if (!network_.memory_is_untouched(r)) violated("shared memory is written after its release");
    if (!violation_.empty()) abandon();
    return violation_;
  }

 private:
  struct Rank {
    std::unique_ptr<SimulatedCommunicator> comm;
    Messenger* messenger = nullptr;
    detail::ProgressEngine* progress = nullptr;          // of the messenger
    std::size_t compiled = 0;                            ///< plans
    std::deque<std::unique_ptr<SimulatedGraph>> graphs;  ///< the last one runs
    std::unique_ptr<Fiber> fiber;
    std::uint64_t steps = 0;
  };

  int below(int end) { return static_cast<int>(dice_.below(static_cast<std::uint64_t>(end))); }
  bool chance(int n) { return below(n) == 0; }
  void violated(std::string what) {
    if (violation_.empty()) violation_ = std::move(what);
  }
  bool all_gone() const {
    return std::ranges::all_of(ranks_, [](const Rank& me) { return me.comm == nullptr && me.fiber == nullptr; });
  }
  std::uint64_t progress() const {
    std::uint64_t sum = 0;
    for (const Rank& me : ranks_) sum += me.steps;
    return sum;
  }
  std::string where() const {
    std::string text;
    for (const Rank& me : ranks_) {
      text += " [" + std::to_string(me.compiled) + " compiled";
      if (!me.graphs.empty()) text += me.graphs.back()->where();
      text += me.fiber != nullptr ? " blocked]" : "]";
    }
    return text;
  }

  void step(Rank& me) {
    if (me.fiber != nullptr) {
      if (me.fiber->resume()) me.fiber.reset(), ++me.steps;
      return;
    }
    if (me.comm == nullptr) return;
    if (chance(3)) return me.messenger->progress();
    if (me.graphs.size() > 1 && chance(20)) return destroy(me);  // while the other one runs
    if (!me.graphs.empty() && !me.graphs.back()->is_through()) return work(me);
    if (!me.graphs.empty() && me.graphs.back()->has_launches()) {
      ++me.steps;
      return me.graphs.back()->launch();
    }
    if (me.compiled < plans_.size()) {
      if (!me.graphs.empty() && chance(2)) return destroy(me);
      return block(me, [this, &me] {
        const Plan& plan = plans_[me.compiled++];
        me.graphs.push_back(std::make_unique<SimulatedGraph>(plan, workers_, *me.comm));
      });
    }
    if (!me.graphs.empty()) return destroy(me);
    if (!quiet_ && !(quiet_ = is_quiet())) return;  // what is counted can be compared only now
    block(me, [&me] { me.comm.reset(); });
  }
  void work(Rank& me) {
    SimulatedGraph& graph = *me.graphs.back();
    const std::uint64_t before = graph.progress();
    if (std::string wrong = graph.go_on(dice_, below(workers_)); !wrong.empty()) violated(std::move(wrong));
    me.steps += graph.progress() - before;
    if (!graph.is_through()) return;
    if (std::string wrong = graph.check(); !wrong.empty()) violated(std::move(wrong));
  }
  void destroy(Rank& me) {
    me.graphs.pop_front();
    ++me.steps;
  }
  void block(Rank& me, std::function<void()> call) {
    me.fiber = std::make_unique<Fiber>([this, call = std::move(call)] {
      try {
        call();
      } catch (const std::exception& error) {
        violated(error.what());
      }
    });
    if (me.fiber->resume()) me.fiber.reset(), ++me.steps;
  }
  /// Whether all ranks have ended their graphs, and nothing is on its way: then all that was queued is processed.
  bool is_quiet() {
    for (const Rank& me : ranks_)
      if (me.fiber != nullptr || me.compiled < plans_.size() || !me.graphs.empty()) return false;
    if (!network_.is_quiet()) return false;
    std::uint64_t queued = 0, processed = 0;
    for (const Rank& me : ranks_) queued += me.progress->counts().queued, processed += me.progress->counts().processed;
    for (int r = 0; r < network_.ranks(); ++r)
      if (!network_.memory_is_free(r)) violated("the memory of graphs is not released");
    if (queued != processed)
      violated(std::to_string(queued) + " messages are queued and " + std::to_string(processed) + " processed");
    return true;
  }
  /// After a violation: what blocks must end, because its stack is in use.
  void abandon() {
    for (Rank& me : ranks_)
      if (me.comm != nullptr) me.progress->fail("a violation");
    for (bool any = true; any;) {
      any = false;
      for (Rank& me : ranks_)
        if (me.fiber != nullptr && (any = true) && me.fiber->resume()) me.fiber.reset();
    }
    for (Rank& me : ranks_) me.graphs.clear();
    for (Rank& me : ranks_) me.comm.reset();
  }

  Dice dice_;
  std::string violation_;
  SimulatedNetwork network_;
  int workers_ = 1;
  std::deque<Plan> plans_;
  std::deque<Rank> ranks_;
  bool quiet_ = false;
};

}  // namespace

std::string run_graphs(std::uint64_t seed) { return GraphWorld(seed).run(); }

}  // namespace taskgrain::rt
