#include "dag.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <sstream>
#include <string_view>

#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

using Json = nlohmann::json;

/// What a file may have, so that a process that reads it holds less than about 2 GB: in JSON a list of no points takes
/// three bytes, in memory fifty.
constexpr std::uintmax_t most_bytes = std::uintmax_t{1} << 26;
constexpr std::int64_t most_points = std::int64_t{1} << 24;
constexpr std::array<std::string_view, 7> keys{"step",        "first_point",         "width",  "dependence_set",
                                               "dependences", "reverse_dependences", "weights"};
/// Times in any unit, whose sum is finite.
constexpr double most_weight = 1e18;

/// The bytes of a file that each process of a system can open by its name. \throws InvalidSpec
std::string read_bytes(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw InvalidSpec("dag", path, "a readable file");
  // A pipe could be read once, and what is below these folders is another file for each process.
  const bool own = path.starts_with("/dev/") || path.starts_with("/proc/");
  if (own || !std::filesystem::is_regular_file(status))
    throw InvalidSpec("dag", path,
                      "a regular file, which each process of a system opens by its name; no pipe, no folder");
  if (std::filesystem::file_size(path, error) > most_bytes && !error)
    throw InvalidSpec("dag", path, "a file of at most " + std::to_string(most_bytes >> 20) + " MiB");
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (!file || !(text << file.rdbuf() || file.peek() == std::ifstream::traits_type::eof()))
    throw InvalidSpec("dag", path, "a readable file");
  return std::move(text).str();
}

/// FNV-1a (Fowler, Noll and Vo), folded to 48 bits: every reader of JSON has such integers. Never 0.
std::int64_t hash_of(const std::string& bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>((hash ^ hash >> 48) & ((std::uint64_t{1} << 48) - 1)));
}

/// A key in quotes, of which a terminal can show every letter.
std::string shown(const std::string& key) {
  return Json(key.substr(0, 80)).dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// \throws InvalidSpec  naming line and column where `text`, which begins at `line`, is no JSON, or the key that an
///                      object of it has twice
Json parsed(const std::string& path, std::string_view text, std::int64_t line) {
  std::size_t at = 0;
  const auto bad = [&](const std::string& why) {
    const std::string_view before = text.substr(0, at);
    line += std::ranges::count(before, '\n');
    const std::size_t column = at - (before.rfind('\n') + 1) + 1;
    return InvalidSpec("dag", path + ", line " + std::to_string(line) + ", column " + std::to_string(column),
                       "a layered DAG in JSON; " + why);
  };
  std::vector<std::vector<std::string>> open;  // the keys of each object
  const auto once = [&](int, Json::parse_event_t event, const Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      std::string key = value.get<std::string>();
      if (std::ranges::find(open.back(), key) != open.back().end())
        throw InvalidSpec("dag", path + ", key " + shown(key), "each key once in an object");
      if (open.back().size() <= keys.size()) open.back().push_back(std::move(key));  // others are refused by their name
    }
    return true;
  };
  try {
    return Json::parse(text, once);
  } catch (const Json::parse_error& error) {
    at = std::min(text.size(), std::max<std::size_t>(1, error.byte) - 1);
    throw bad("what is there is no JSON");
  } catch (const Json::out_of_range&) {
    throw bad("a number after this is too large");
  }
}

/// The steps of a file in either of the two forms. \throws InvalidSpec
std::vector<Json> read_steps(const std::string& path, std::string_view text) {
  const auto bad = [&](const std::string& where, const std::string& why) {
    return InvalidSpec("dag", path + where, "a layered DAG in JSON; " + why);
  };
  std::vector<Json> steps;
  for (std::int64_t line = 1; !text.empty(); ++line) {
    const std::string_view here = text.substr(0, text.find('\n'));
    if (here.find_first_not_of(" \t\r") != std::string_view::npos) {
      // Unless the first line is an object, the file is one.
      const bool lines = !steps.empty() || Json::accept(here);
      Json value = parsed(path, lines ? here : text, line);
      const std::string where = ", line " + std::to_string(line);
      if (!value.is_object()) throw bad(where, "it is not an object");
      if (steps.empty() && value.contains("steps")) {
        if (!value["steps"].is_array()) throw bad(where, "'steps' is not a list");
        if (lines && text.find_first_not_of(" \t\r\n", here.size()) != std::string_view::npos)
          throw bad(where, "nothing may follow the object with 'steps'");
        return std::move(value["steps"].get_ref<Json::array_t&>());
      }
      if (steps.empty() && !value.contains("width")) {
        std::string found;
        for (const auto& [key, unused] : value.items())
          if (found.size() < 200) found += (found.empty() ? "" : ", ") + shown(key);
        throw bad(where, std::string("an object with 'steps', or one with a 'width' on each line") +
                             (value.contains("workflow") ? "; this is a WfCommons workflow, write its levels as steps"
                                                         : "; found the keys: " + found));
      }
      steps.push_back(std::move(value));
      if (!lines) break;
    }
    text.remove_prefix(std::min(text.size(), here.size() + 1));
  }
  return steps;
}

/// Lists of points, one for each row: `points[first[k]]` to before `points[first[k + 1]]`.
struct Rows {
  std::vector<std::int64_t> first{0}, points{};

  std::span<std::int64_t> row(std::size_t k) {
    return std::span(points).subspan(static_cast<std::size_t>(first[k]),
                                     static_cast<std::size_t>(first[k + 1] - first[k]));
  }
};

/// Of each point of the step before: the points of this one, which begin at `point`, that have it in their row.
Rows reversed(const Rows& rows, std::int64_t point, Interval before) {
  Rows found{std::vector<std::int64_t>(static_cast<std::size_t>(before.size()) + 1),
             std::vector<std::int64_t>(rows.points.size())};
  const auto of = [&](std::int64_t dep) { return static_cast<std::size_t>(dep - before.first); };
  for (const std::int64_t dep : rows.points) ++found.first[of(dep) + 1];
  std::partial_sum(found.first.begin(), found.first.end(), found.first.begin());
  std::vector<std::int64_t> next(found.first);
  for (std::size_t k = 0; k + 1 < rows.first.size(); ++k, ++point)
    for (std::int64_t n = rows.first[k]; n < rows.first[k + 1]; ++n)
      found.points[static_cast<std::size_t>(next[of(rows.points[static_cast<std::size_t>(n)])]++)] = point;
  return found;
}

/// \pre each row is in increasing order
Dag::Layer layer_of(Rows rows) {
  Dag::Layer layer{{0}, {}};
  for (std::size_t k = 0; k + 1 < rows.first.size(); ++k) {
    for (const std::int64_t point : rows.row(k)) {
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

bool is_integer(const Json& value, std::int64_t low, std::int64_t high) {
  return value.is_number_integer() && value >= low && value <= high;
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
  const std::string text = read_bytes(path);
  hash_ = hash_of(text);
  const std::vector<Json> steps = read_steps(path, text);
  if (steps.empty()) throw InvalidSpec("dag", path, "at least one step");
  bool weighted = false;
  for (std::size_t t = 0; t < steps.size(); ++t) {
    const Json& step = steps[t];
    const auto bad = [&](const std::string& why, const std::string& where = "") {
      return InvalidSpec("dag", path + ", step " + std::to_string(t) + where, why);
    };
    if (!step.is_object()) throw bad("an object with a 'width'");
    for (const auto& [key, unused] : step.items())
      if (std::ranges::find(keys, key) == keys.end())
        throw bad("step, first_point, width, dependence_set, dependences, reverse_dependences, weights",
                  ", key " + shown(key));
    const Json width = step.value("width", Json()), offset = step.value("first_point", Json(0));
    if (!is_integer(width, 1, most_points)) throw bad("a 'width' of 1 to " + std::to_string(most_points));
    const std::int64_t points = width.get<std::int64_t>();
    if (!is_integer(offset, 0, most_points - points))
      throw bad("a 'first_point' of 0 to " + std::to_string(most_points - points) + " at this width");
    const auto first = offset.get<std::int64_t>();
    points_.push_back({first, first + points - 1});
    width_ = std::max(width_, first + points);

    const Interval before = t == 0 ? no_points : points_[t - 1];
    static const Json none = Json::array();
    const Json& lists = step.contains("dependences") ? step["dependences"] : none;
    if (!lists.is_array() || (std::ssize(lists) != points && !(t == 0 && lists.empty())))
      throw bad("'dependences' with one list for each of its " + std::to_string(points) + " points");
    Rows rows;
    rows.first.reserve(lists.size() + 1);
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const std::string where = ", point " + std::to_string(first + static_cast<std::int64_t>(i));
      if (!lists[i].is_array()) throw bad("a list of points for each point", where);
      for (const Json& dep : lists[i]) {
        if (!is_integer(dep, before.first, before.last))
          throw bad("dependences among the points of the step before", where);
        rows.points.push_back(dep.get<std::int64_t>());
      }
      rows.first.push_back(std::ssize(rows.points));
      const auto row = rows.row(i);
      std::ranges::sort(row);
      if (std::ranges::adjacent_find(row) != row.end()) throw bad("each dependence once", where);
    }
    rows.first.resize(static_cast<std::size_t>(points) + 1);  // of the first step, whose lists may be left out
    reverse_deps_.push_back(layer_of(reversed(rows, first, before)));
    deps_.push_back(layer_of(std::move(rows)));

    std::vector<double>& weights = weights_.emplace_back(static_cast<std::size_t>(points), 1.0);
    if (!step.contains("weights")) continue;
    weighted = true;
    const Json& numbers = step["weights"];
    if (!numbers.is_array() || std::ssize(numbers) != points)
      throw bad("'weights' with one number for each of its " + std::to_string(points) + " points");
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!numbers[i].is_number() || !(numbers[i] >= 0 && numbers[i] <= most_weight))
        throw bad("a weight from 0 to 1e18", ", point " + std::to_string(first + static_cast<std::int64_t>(i)));
      weights[i] = numbers[i].get<double>();
    }
  }
  if (!weighted) {
    weights_.clear();
    return;
  }
  double sum = 0, points = 0;
  for (const auto& weights : weights_) {
    sum = std::accumulate(weights.begin(), weights.end(), sum);
    points += static_cast<double>(weights.size());
  }
  if (!(sum > 0)) throw InvalidSpec("dag", path, "a weight above 0, where there are weights");
  for (auto& weights : weights_)
    for (double& weight : weights) weight = weight / sum * points;
}

std::int64_t dag_hash(const std::string& path) { return hash_of(read_bytes(path)); }

std::shared_ptr<const Dag> dag_of(const Pattern& pattern, const GraphSpec& spec) {
  if (pattern.from_file) {
    if (spec.dag.empty()) throw InvalidSpec("dag", "", "a file for the " + spec.pattern + " pattern");
    auto dag = std::make_shared<const Dag>(spec.dag);
    if (spec.dag_hash != 0 && spec.dag_hash != dag->hash())
      throw InvalidSpec("dag", spec.dag,
                        "the file as it was, of hash " + std::to_string(spec.dag_hash) +
                            "; it has changed, or is another one here: its hash is " + std::to_string(dag->hash()));
    return dag;
  }
  if (spec.dag.empty()) return nullptr;
  std::string names;
  for (const Pattern& other : patterns())
    if (other.from_file) names += (names.empty() ? "" : " or ") + std::string(other.name);
  throw InvalidSpec("dag", spec.dag, "nothing, unless the pattern is " + names);
}

}  // namespace taskgrain
