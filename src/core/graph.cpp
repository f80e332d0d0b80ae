#include "taskgrain/graph.hpp"

#include <cmath>
#include <limits>

#include "dag.hpp"
#include "fork_tree.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/fields.hpp"
#include "taskgrain/pattern.hpp"

namespace taskgrain {
namespace {

/// The largest divisor of `n` that is at most its root of the given order.
std::int64_t largest_divisor(std::int64_t n, double order) {
  auto divisor = static_cast<std::int64_t>(std::floor(std::pow(static_cast<double>(n), 1.0 / order) + 1e-9));
  while (n % divisor != 0) --divisor;
  return divisor;
}

/// The box of least surface whose volume is `width`.
Graph::Fold folded(int dimensions, std::int64_t width) {
  Graph::Fold best{width, 1, 1};
  if (dimensions == 1) return best;
  const std::int64_t most = dimensions == 3 ? largest_divisor(width, 3) : 1;
  for (std::int64_t z = 1; z <= most; ++z) {
    if (width % z != 0) continue;
    const std::int64_t y = largest_divisor(width / z, 2);
    const Graph::Fold box{width / z / y, y, z};
    if (y >= z && box.x + box.y + box.z < best.x + best.y + best.z) best = box;
  }
  return best;
}

void require(bool holds, const std::string& field, const std::string& value, const std::string& allowed) {
  if (!holds) throw InvalidSpec(field, value, allowed);
}

}  // namespace

Graph::Graph(const GraphSpec& spec, std::int64_t index)
    : spec_(spec), index_(index), pattern_(&pattern_from_name(spec.pattern)), points_(pattern_->points),
      deps_(pattern_->deps), reverse_deps_(pattern_->reverse_deps) {
  dag_ = dag_of(*pattern_, spec_);
  if (dag_ != nullptr) {
    spec_.steps = dag_->steps();
    spec_.width = dag_->width();
    spec_.dag_hash = dag_->hash();
  }
  check();
  if (pattern_->has_period && spec_.period == 0) {
    const std::int64_t longest = pattern_->spreads ? longest_spread_period(spec_.width, spec_.radix) : 3;
    spec_.period = std::min<std::int64_t>(3, longest);
  }
  if (pattern_->window != nullptr) window_ = pattern_->window(*this);
  fold_ = folded(pattern_->dimensions, spec_.width);
  if (pattern_->tree != Pattern::Tree::none)
    tree_ = std::make_shared<const ForkTree>(spec_, index, pattern_->tree == Pattern::Tree::random);
}

void Graph::check() const {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  check_fields(spec_);
  require(spec_.steps <= largest / spec_.width, "steps", std::to_string(spec_.steps),
          "at most 2^63 - 1 tasks, " + std::to_string(largest / spec_.width) + " steps at this width");
  require(uniform() || spec_.steps <= std::int64_t{1} << 31, "steps", std::to_string(spec_.steps),
          "at most 2^31 for pattern " + spec_.pattern + ", whose tasks are counted step by step");
  require(pattern_->dimensions == 1 || spec_.width <= std::int64_t{1} << 40, "width", std::to_string(spec_.width),
          "at most 2^40 for pattern " + spec_.pattern + ", whose width is folded");
  require(spec_.radix <= largest / spec_.width, "radix", std::to_string(spec_.radix),
          "0 to " + std::to_string(largest / spec_.width) + " at this width");
  require(pattern_->tree == Pattern::Tree::none || spec_.radix >= 2, "radix", std::to_string(spec_.radix),
          "2 or more for pattern " + spec_.pattern + ", a tree that branches");
  require(pattern_->tree != Pattern::Tree::random || spec_.width <= ForkTree::most_random_leaves, "width",
          std::to_string(spec_.width),
          "at most " + std::to_string(ForkTree::most_random_leaves) + " for pattern " + spec_.pattern +
              ", whose calls are counted one by one");
  const std::int64_t most = std::max(spec_.width, std::int64_t{1} << 20);
  require(!pattern_->spreads || spec_.radix <= most, "radix", std::to_string(spec_.radix),
          "0 to " + std::to_string(most) + " for pattern " + spec_.pattern + ", which goes through all of them");
  if (spec_.period > 0) {
    require(pattern_->has_period, "period", std::to_string(spec_.period),
            "0: pattern " + spec_.pattern + " has no period");
    const std::int64_t longest = longest_spread_period(spec_.width, spec_.radix);
    require(!pattern_->spreads || spec_.period <= longest, "period", std::to_string(spec_.period),
            "at most " + std::to_string(longest) + ", the width " + std::to_string(spec_.width) + " over the radix " +
                std::to_string(spec_.radix));
  }
}

std::int64_t Graph::dependence_sets() const noexcept { return pattern_->sets == nullptr ? 1 : pattern_->sets(*this); }

std::int64_t Graph::dependence_set(std::int64_t step) const noexcept {
  if (pattern_->sets == nullptr) return 0;
  return pattern_->set == nullptr ? step % pattern_->sets(*this) : pattern_->set(*this, step);
}

std::int64_t Graph::ramp() const noexcept { return pattern_->ramp == nullptr ? 1 : pattern_->ramp(*this); }

bool Graph::whole() const noexcept { return pattern_->whole; }

std::int64_t Graph::fork_depth() const noexcept {
  return pattern_->fork_depth == nullptr ? -1 : pattern_->fork_depth(*this);
}

std::shared_ptr<const Dag> Graph::weights() const { return dag_ != nullptr && dag_->weighted() ? dag_ : nullptr; }

std::int64_t Graph::tasks() const noexcept {
  if (points_ == nullptr) return spec_.steps * spec_.width;
  std::int64_t sum = 0;
  for (std::int64_t step = 0; step < spec_.steps; ++step) sum += points(step).size();
  return sum;
}

}  // namespace taskgrain
