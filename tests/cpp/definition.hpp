#pragma once

/// What a graph is by definition: docs/reference/patterns.md word for word, over sets, with no regard to cost. It
/// shares no line with src/core.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <stdexcept>

#include "siphash_reference.hpp"
#include "taskgrain/graph.hpp"

namespace definition {

using Int = std::int64_t;
using Set = std::set<Int>;

inline Int floor_of(Int a, Int b) {
  return static_cast<Int>(std::floor(static_cast<long double>(a) / static_cast<long double>(b)));
}
inline Int ceil_of(Int a, Int b) {
  return static_cast<Int>(std::ceil(static_cast<long double>(a) / static_cast<long double>(b)));
}

/// ⌈log2 n⌉
inline Int ceil_log2(Int n) {
  Int log = 0;
  for (Int power = 1; power < n; power *= 2) ++log;
  return log;
}

inline Set range(Int first, Int last) {
  Set set;
  for (Int k = first; k <= last; ++k) set.insert(k);
  return set;
}

/// A graph whose period is given, or is the default that the definition names.
class Graph {
 public:
  Graph(const taskgrain::GraphSpec& spec, Int index)
      : name_(spec.pattern), T_(spec.steps), W_(spec.width), r_(spec.radix), f_(spec.fraction), seed_(spec.seed),
        index_(index) {
    p_ = spec.period != 0                          ? spec.period
         : is("spread", "random_spread") && r_ > 0 ? std::min<Int>(3, ceil_of(W_, r_))
                                                   : 3;
    if (spec.period == 0 && is("spread", "random_spread") && r_ == 0) p_ = std::min<Int>(3, W_);
  }

  /// The points that exist at step t.
  Set points(Int t) const {
    if (t < 0 || t >= T_) return {};
    if (is("dom")) {
      const Int first = std::max<Int>(0, t + W_ - T_);
      return range(first, first + std::min({W_, t + 1, T_ - t}) - 1);
    }
    if (is("tree")) return range(0, (t >= 40 ? W_ : std::min(W_, Int{1} << t)) - 1);
    if (is("v_cycle")) return range(0, ceil_of(W_, Int{1} << level(t)) - 1);
    if (is("fork_join")) return range(0, t % 2 == 0 ? 0 : W_ - 1);
    if (is("fork_tree", "random_fork_tree")) return range(0, in_level(tree_level(t)) - 1);
    return range(0, W_ - 1);
  }

  /// D(t, i), clipped to the points that exist.
  Set deps(Int t, Int i) const {
    Set clipped;
    std::ranges::set_intersection(raw(t, i), points(t - 1), std::inserter(clipped, clipped.end()));
    return clipped;
  }

  Int sets() const {
    if (is("fft")) return std::max<Int>(1, ceil_log2(W_));
    if (is("spread", "random_spread") || is("random", "random_nearest")) return p_;
    if (is("fork_join")) return 2;
    if (is("v_cycle")) return std::max<Int>(1, 2 * ceil_log2(W_));
    if (is("fork_tree", "random_fork_tree")) return std::max<Int>(1, 2 * tree_depth());
    return 1;
  }
  Int set(Int t) const { return is("fft") ? (t + sets() - 1) % sets() : t % sets(); }

 private:
  bool is(const char* one, const char* other = "") const { return name_ == one || name_ == other; }

  Set raw(Int t, Int i) const {
    if (is("trivial")) return {};
    if (is("no_comm")) return {i};
    if (is("stencil_1d")) return {i - 1, i, i + 1};
    if (is("stencil_1d_periodic")) return {(i - 1 + W_) % W_, i, (i + 1) % W_};
    if (is("dom")) return {i - 1, i};
    if (is("tree")) return {i / 2};
    if (is("fft")) return {i - (Int{1} << set(t)), i, i + (Int{1} << set(t))};
    if (is("all_to_all", "fork_join")) return range(0, W_ - 1);
    if (is("nearest")) return near(i);
    if (is("spread")) return spread(t, i);
    if (is("random_nearest")) return kept(t, i, near(i));
    if (is("random_spread")) return kept(t, i, spread(t, i));
    if (is("random")) return kept(t, i, range(0, W_ - 1));
    if (is("stencil_2d")) return box(i, 1, false);
    if (is("stencil_2d_9")) return box(i, 2, false);
    if (is("stencil_3d")) return box(i, 1, true);
    if (is("v_cycle")) return v_cycle(t, i);
    if (is("fork_tree", "random_fork_tree")) return fork_tree(t, i);
    throw std::logic_error("no definition of " + name_);
  }

  Set near(Int i) const { return range(i - floor_of(r_, 2), i + floor_of(r_ - 1, 2)); }
  Set spread(Int t, Int i) const {
    Set set;
    for (Int k = 0; k < r_; ++k) set.insert((i + floor_of(k * W_, r_) + (k > 0 ? t % p_ : 0)) % W_);
    return set;
  }
  Set kept(Int t, Int i, const Set& candidates) const {
    Set set;
    for (const Int j : candidates)
      if (j == i || reference::uniform(seed_, {index_, r_, t % p_, j, i}) < f_) set.insert(j);
    return set;
  }

  /// Points of the folded width that are at most one away in each direction and `distance` in all.
  Set box(Int i, Int distance, bool cube) const {
    // Of all boxes X >= Y >= Z, the one of least X + Y + Z.
    Int X = W_, Y = 1, Z = 1;
    for (Int z = 1; z <= (cube ? W_ : 1); ++z)
      for (Int y = z; z * y * y <= W_; ++y)
        if (W_ % (z * y) == 0 && W_ / (z * y) + y + z < X + Y + Z) X = W_ / (z * y), Y = y, Z = z;
    Set set;
    for (Int j = 0; j < W_; ++j) {
      const Int x = std::abs(i % X - j % X), y = std::abs(i / X % Y - j / X % Y), z = std::abs(i / X / Y - j / X / Y);
      if (std::max({x, y, z}) <= 1 && x + y + z <= distance) set.insert(j);
    }
    return set;
  }

  /// The steps go down from level 0 to the level of one point, and up again.
  Int level(Int t) const {
    Int at = 0, direction = 1;
    for (Int n = 0; n < t; ++n) {
      if (at == ceil_log2(W_)) direction = -1;
      if (at == 0) direction = 1;
      if (ceil_log2(W_) > 0) at += direction;
    }
    return at;
  }
  /// Restriction from the three fine points around, prolongation from the coarse points beside.
  Set v_cycle(Int t, Int i) const {
    if (t > 0 && level(t) > level(t - 1)) return {2 * i - 1, 2 * i, 2 * i + 1};
    return {floor_of(i, 2), ceil_of(i, 2)};
  }

  /// The leaves are grouped by r until one group is left.
  Int tree_depth() const {
    Int depth = 0;
    while (in_level(0, depth) > 1) ++depth;
    return depth;
  }
  Int in_level(Int level) const { return in_level(level, tree_depth()); }
  Int in_level(Int level, Int depth) const {
    Int nodes = W_;
    for (Int n = level; n < depth; ++n) nodes = ceil_of(nodes, r_);
    return nodes;
  }
  Int tree_level(Int t) const {
    const Int turn = t % sets();
    return turn <= tree_depth() ? turn : sets() - turn;
  }
  /// The node of a level whose child a node of the level below is: the last whose first child is not later.
  Int parent(Int level, Int child) const {
    Int node = 0;
    for (Int n = 1; n < in_level(level); ++n) {
      const double u = reference::uniform(seed_, {index_, r_, level, n, n});
      const Int later = is("fork_tree") ? 0 : std::min<Int>(r_ - 1, static_cast<Int>(u * static_cast<double>(r_)));
      if (std::min(n * r_ + later, in_level(level + 1) - 1) <= child) node = n;
    }
    return node;
  }
  Set fork_tree(Int t, Int i) const {
    if (tree_depth() == 0) return {0};
    const Int own = tree_level(t), before = tree_level(t - 1);
    if (own > before) return {parent(before, i)};
    Set children;
    for (Int n = 0; n < in_level(before); ++n)
      if (parent(own, n) == i) children.insert(n);
    return children;
  }

  std::string name_;
  Int T_, W_, r_, p_ = 0;
  double f_;
  std::uint64_t seed_;
  Int index_;
};

}  // namespace definition
