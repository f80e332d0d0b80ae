#include "graph_compiler.hpp"
#include "program.hpp"

namespace taskgrain::rt::detail {

namespace {

class QueuedCompiler {
 public:
  explicit QueuedCompiler(const Compiler& graph)
      : graph_(graph), place_(graph.size()), first_(graph.size(), 0), second_(graph.size(), 0) {
    programs_.workers.resize(static_cast<std::size_t>(graph.workers));
    programs_.devices = graph.devices();
  }

  QueuedPrograms compile(CompileStatistics& statistics) {
    lay_out();
    connect_preconditions();
    for (std::uint32_t n = 0; n < graph_.size(); ++n)
      if (!graph_.external(n)) connect(n, statistics);
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      if (graph_.external(n)) continue;
      QueuedProgram& program = program_of(n);
      if (first_[n] != 0) program.first.emplace_back(place_[n], first_[n]);
      if (second_[n] != 0) program.second.emplace_back(place_[n], second_[n]);
      if (program.indegree[place_[n]] == 0) program.roots.push_back(place_[n]);
    }
    return std::move(programs_);
  }

 private:
  QueuedProgram& program_of(std::uint32_t n) { return programs_.workers[static_cast<std::size_t>(graph_.worker(n))]; }

  void lay_out() {
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      if (graph_.external(n)) continue;
      QueuedProgram& program = program_of(n);
      place_[n] = static_cast<RecordIndex>(program.records.size());
      program.records.push_back({graph_.step(n)});
      program.indegree.push_back(0);
    }
    for (const DeviceTask& task : programs_.devices.tasks) programs_.device_places.push_back(place_[task.node]);
  }

  void connect_preconditions() {
    for (const std::uint32_t n : graph_.preconditions) {
      auto& after = programs_.after_precondition.emplace_back();
      for (const auto& [to, carried] : graph_.out[n]) {
        ++first_[to];
        ++second_[to];
        after.push_back({place_[to], graph_.worker(to)});
      }
    }
  }

  void connect(std::uint32_t n, CompileStatistics& statistics) {
    QueuedProgram& program = program_of(n);
    for (const auto& [to, carried] : graph_.out[n]) {
      if (carried) --first_[to];
      ++program_of(to).indegree[place_[to]];
      const RecordIndex target = place_[to] | (carried ? next_iteration : 0);
      const bool local = graph_.worker(to) == graph_.worker(n);
      statistics.messages += !local;
      if (graph_.on_device(n, to)) continue;  // it is a device edge
      if (local)
        program.local.push_back(target);
      else
        program.remote.push_back({target, graph_.worker(to)});
    }
    program.records[place_[n]].local_end = static_cast<std::uint32_t>(program.local.size());
    program.records[place_[n]].remote_end = static_cast<std::uint32_t>(program.remote.size());
  }

  const Compiler& graph_;
  std::vector<RecordIndex> place_;            // by node
  std::vector<std::int32_t> first_, second_;  // by node: corrections
  QueuedPrograms programs_;
};

}  // namespace

QueuedPrograms compile_queued(const Compiler& graph, CompileStatistics& statistics) {
  return QueuedCompiler(graph).compile(statistics);
}

}  // namespace taskgrain::rt::detail
