#include "taskgrain/rt/task_graph.hpp"

#include <map>
#include <mutex>

#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

namespace {

/// The names of all graphs that live, for errors.
struct Names {
  std::mutex mutex;  // protects the members below
  std::map<std::uint32_t, std::string> names;
  std::uint32_t last = 0;
};

/// Never destroyed: a graph may be static, and outlive what is.
Names& all() {
  static Names& names = *new Names;
  return names;
}

}  // namespace

GraphIdentity::GraphIdentity(const std::string& name) {
  const std::lock_guard lock(all().mutex);
  all().names.emplace(number_ = ++all().last, name);
}

GraphIdentity::~GraphIdentity() {
  const std::lock_guard lock(all().mutex);
  all().names.erase(number_);
}

void node_of_another_graph(const std::string& graph, std::uint32_t node, std::uint32_t other) {
  const std::lock_guard lock(all().mutex);
  const auto found = all().names.find(other);
  std::string text = graph;
  text += ": an edge names node ";  // GCC 12 warns of the same with +
  text += std::to_string(node);
  text += " of another graph, ";
  text += found == all().names.end() ? "which is gone" : found->second;
  throw UsageError(text);
}

}  // namespace taskgrain::rt::detail
