#include "dag.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

using Json = nlohmann::json;
using Rows = std::vector<std::vector<std::int64_t>>;

/// The steps of a file in either of the two forms. \throws InvalidSpec
std::vector<Json> read_steps(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw InvalidSpec("dag", path, "a readable file");
  std::stringstream text;
  text << file.rdbuf();
  const auto bad = [&](const std::string& why) { return InvalidSpec("dag", path, "a layered DAG in JSON; " + why); };
  if (Json whole = Json::parse(text.str(), nullptr, false); whole.is_object() && whole.contains("steps")) {
    if (!whole["steps"].is_array()) throw bad("'steps' is not a list");
    return whole["steps"].get<std::vector<Json>>();
  }
  std::vector<Json> steps;
  for (std::string line; std::getline(text, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    steps.push_back(Json::parse(line, nullptr, false));
    if (!steps.back().is_object()) throw bad("line " + std::to_string(steps.size()) + " is not an object");
  }
  return steps;
}

Dag::Layer layer_of(Rows& rows) {
  Dag::Layer layer{{0}, {}};
  for (auto& row : rows) {
    std::ranges::sort(row);
    for (const std::int64_t point : row) {
      const bool extends = static_cast<std::int64_t>(layer.intervals.size()) > layer.first_interval.back() &&
                           layer.intervals.back().last >= point - 1;
      if (extends) {
        layer.intervals.back().last = point;
      } else {
        layer.intervals.push_back({point, point});
      }
    }
    layer.first_interval.push_back(static_cast<std::int64_t>(layer.intervals.size()));
  }
  return layer;
}

}  // namespace

Interval Dag::Layer::next(std::int64_t row, std::int64_t& cursor) const noexcept {
  const std::int64_t first = first_interval[static_cast<std::size_t>(row)];
  const std::int64_t last = first_interval[static_cast<std::size_t>(row) + 1] - 1;
  const std::int64_t at = first + cursor;
  cursor = at < last ? cursor + 1 : Points::end_cursor;
  return at <= last ? intervals[static_cast<std::size_t>(at)] : no_points;
}

Dag::Dag(const std::string& path) {
  const std::vector<Json> steps = read_steps(path);
  if (steps.empty()) throw InvalidSpec("dag", path, "at least one step");
  for (std::size_t t = 0; t < steps.size(); ++t) {
    const Json& step = steps[t];
    const auto bad = [&](const std::string& why) {
      return InvalidSpec("dag", path + ", step " + std::to_string(t), why);
    };
    if (!step.contains("width") || !step["width"].is_number_integer() || step["width"] < 1)
      throw bad("a 'width' of 1 or more");
    const auto width = step["width"].get<std::int64_t>();
    const Json offset = step.value("first_point", Json(0));
    if (!offset.is_number_integer() || offset < 0 || offset > std::numeric_limits<std::int64_t>::max() - width)
      throw bad("a 'first_point' of 0 or more, an integer");
    const auto first = offset.get<std::int64_t>();
    points_.push_back({first, first + width - 1});
    width_ = std::max(width_, first + width);

    const Interval before = t == 0 ? no_points : points_[t - 1];
    Rows rows(static_cast<std::size_t>(width)), reverse(static_cast<std::size_t>(before.size()));
    const Json lists = step.value("dependences", Json::array());
    if (!lists.is_array() || (lists.size() != rows.size() && !(t == 0 && lists.empty())))
      throw bad("'dependences' with one list for each of its " + std::to_string(width) + " points");
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (!lists[i].is_array()) throw bad("a list of points for each point");
      for (const Json& dep : lists[i]) {
        if (!dep.is_number_integer() || !before.contains(dep.get<std::int64_t>()))
          throw bad("dependences of point " + std::to_string(first + static_cast<std::int64_t>(i)) +
                    " among the points of the step before");
        const auto point = dep.get<std::int64_t>();
        if (std::ranges::find(rows[i], point) != rows[i].end()) throw bad("each dependence once");
        rows[i].push_back(point);
        reverse[static_cast<std::size_t>(point - before.first)].push_back(first + static_cast<std::int64_t>(i));
      }
    }
    deps_.push_back(layer_of(rows));
    reverse_deps_.push_back(layer_of(reverse));
  }
}

std::shared_ptr<const Dag> dag_of(const Pattern& pattern, const GraphSpec& spec) {
  if (pattern.from_file) {
    if (spec.dag.empty()) throw InvalidSpec("dag", "", "a file for the " + spec.pattern + " pattern");
    return std::make_shared<const Dag>(spec.dag);
  }
  if (spec.dag.empty()) return nullptr;
  std::string names;
  for (const Pattern& other : patterns())
    if (other.from_file) names += (names.empty() ? "" : " or ") + std::string(other.name);
  throw InvalidSpec("dag", spec.dag, "nothing, unless the pattern is " + names);
}

}  // namespace taskgrain
