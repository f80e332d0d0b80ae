#include "taskgrain/pattern.hpp"

#include <bit>

#include "dag.hpp"
#include "fork_tree.hpp"
#include "siphash.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

using I = std::int64_t;

constexpr I ceil_div(I a, I b) noexcept { return a / b + (a % b > 0 ? 1 : 0); }
I period(const Graph& g) noexcept { return g.spec().period; }
Interval all(const Graph& g) noexcept { return {0, g.width() - 1}; }
/// ⌈log2 W⌉
I log2_of_width(const Graph& g) noexcept { return std::bit_width(static_cast<std::uint64_t>(g.width() - 1)); }

/// A pattern whose dependences are one interval.
template <auto interval>
Interval one(const Graph& g, I t, I i, I& cursor) {
  cursor = Points::end_cursor;
  return interval(g, t, i);
}

/// A pattern whose dependences are at most `n` intervals, the k-th given by `interval(g, t, i, k)`.
template <I n, auto interval>
Interval several(const Graph& g, I t, I i, I& cursor) {
  const I k = cursor;
  cursor = k + 1 < n ? k + 1 : Points::end_cursor;
  return interval(g, t, i, k);
}

Interval none(const Graph&, I, I, I& cursor) {
  cursor = Points::end_cursor;
  return no_points;
}

/// A pattern whose dependences are an interval that moves with the point.
template <I first, I last>
Interval window(const Graph&) {
  return {first, last};
}

constexpr auto everyone = [](const Graph& g, I, I) { return all(g); };

// stencil_1d_periodic: in increasing order, the point that is reached by wrapping comes first at the right end, last at
// the left.
constexpr auto periodic = [](const Graph& g, I, I i, I k) -> Interval {
  const I w = g.width();
  if (w <= 3) return k == 0 ? all(g) : no_points;
  if (i == 0) return k == 0 ? Interval{0, 1} : Interval{w - 1, w - 1};
  if (i == w - 1) return k == 0 ? Interval{0, 0} : Interval{w - 2, w - 1};
  return k == 0 ? Interval{i - 1, i + 1} : no_points;
};

// dom: a sweep enters at one corner and leaves at the opposite one. Its end mirrors its ramp.
I dom_ramp(const Graph& g) { return g.width(); }
Interval dom_points(const Graph& g, I t) {
  const I first = std::max<I>(0, t + g.width() - g.steps());
  return {first, first + std::min({g.width(), t + 1, g.steps() - t}) - 1};
}

I tree_ramp(const Graph& g) { return std::max<I>(1, log2_of_width(g)); }
Interval tree_points(const Graph& g, I t) { return {0, (t < 62 ? std::min(g.width(), I{1} << t) : g.width()) - 1}; }
constexpr auto tree = [](const Graph&, I, I i) { return Interval{i / 2, i / 2}; };
constexpr auto tree_reverse = [](const Graph&, I, I i) { return Interval{2 * i, 2 * i + 1}; };

// fft: ⌈log2 W⌉ sets; a width of one has none, and one set {i} stands in for it. D is its own reverse.
I fft_sets(const Graph& g) { return std::max<I>(1, log2_of_width(g)); }
I fft_set(const Graph& g, I t) { return (t + fft_sets(g) - 1) % fft_sets(g); }
constexpr auto fft = [](const Graph& g, I t, I i, I k) -> Interval {
  const I j = i + (k - 1) * (I{1} << fft_set(g, t));
  return {j, j};
};

Interval nearest(const Graph& g) {
  const I r = g.spec().radix;
  return {-(r >> 1), (r - 1) >> 1};  // shifts round down, as ⌊⌋ does
}

// spread: offsets o(k) = ⌊k·W/r⌋ + (k > 0 ? s : 0) grow with k and stay below W, because the period is at most ⌈W/r⌉.
// The points (i + o(k)) mod W are increasing from the first k that wraps to r - 1, and then from 0 on; the reverse runs
// the other way.
I spread_offset(const Graph& g, I s, I k) { return k * g.width() / g.spec().radix + (k > 0 ? s : 0); }
/// The smallest k >= 1 with o(k) >= offset, or r.
I spread_first(const Graph& g, I s, I offset) {
  return std::min(std::max<I>(1, ceil_div((offset - s) * g.spec().radix, g.width())), g.spec().radix);
}
Interval spread_candidate(const Graph& g, I s, I i, I& cursor, bool reverse) {
  const I r = g.spec().radix, w = g.width();
  if (r == 0) {
    cursor = Points::end_cursor;
    return no_points;
  }
  const I n = cursor;
  cursor = n + 1 < r ? n + 1 : Points::end_cursor;
  I k, j;
  if (!reverse) {
    const I wrapped = spread_first(g, s, w - i);
    k = n < r - wrapped ? wrapped + n : n - (r - wrapped);
    j = i + spread_offset(g, s, k);
    if (j >= w) j -= w;
  } else {
    const I wrapped = spread_first(g, s, i + 1);
    k = n < wrapped ? wrapped - 1 - n : r - 1 - (n - wrapped);
    j = i - spread_offset(g, s, k);
    if (j < 0) j += w;
  }
  // More dependences than points: several k share an offset; the first of them counts.
  if (k > 0 && spread_offset(g, s, k) == spread_offset(g, s, k - 1)) return no_points;
  return {j, j};
}
Interval spread(const Graph& g, I t, I i, I& cursor) { return spread_candidate(g, t % period(g), i, cursor, false); }
Interval spread_reverse(const Graph& g, I t, I i, I& cursor) {
  return spread_candidate(g, t % period(g), i, cursor, true);
}

/// Whether a random pattern keeps the candidate: point `i` of step `t` depends on `j`.
bool keeps(const Graph& g, I t, I j, I i) {
  return i == j ||
         uniform(g.spec().seed, std::array<I, 5>{g.index(), g.spec().radix, t % period(g), j, i}) < g.spec().fraction;
}

/// Of consecutive candidates, the next run of those that are kept; the cursor counts candidates.
Interval kept_run(const Graph& g, I t, I point, Interval candidates, I& cursor, bool reverse) {
  const auto keep = [&](I other) { return reverse ? keeps(g, t, point, other) : keeps(g, t, other, point); };
  I first = candidates.first + cursor;
  while (first <= candidates.last && !keep(first)) ++first;
  I last = first;
  while (last < candidates.last && keep(last + 1)) ++last;
  cursor = last < candidates.last ? last + 1 - candidates.first : Points::end_cursor;
  return first <= candidates.last ? Interval{first, last} : no_points;
}
Interval clipped(const Graph& g, Interval interval) {
  return {std::max<I>(interval.first, 0), std::min(interval.last, g.width() - 1)};
}
Interval random_nearest(const Graph& g, I t, I i, I& cursor) {
  const Interval window = nearest(g);
  return kept_run(g, t, i, clipped(g, {i + window.first, i + window.last}), cursor, false);
}
Interval random_nearest_reverse(const Graph& g, I t, I i, I& cursor) {
  const Interval window = nearest(g);
  return kept_run(g, t, i, clipped(g, {i - window.last, i - window.first}), cursor, true);
}
Interval random_all(const Graph& g, I t, I i, I& cursor) { return kept_run(g, t, i, all(g), cursor, false); }
Interval random_all_reverse(const Graph& g, I t, I i, I& cursor) { return kept_run(g, t, i, all(g), cursor, true); }
Interval random_spread(const Graph& g, I t, I i, I& cursor) {
  const Interval j = spread(g, t, i, cursor);
  return j.size() > 0 && keeps(g, t, j.first, i) ? j : no_points;
}
Interval random_spread_reverse(const Graph& g, I t, I i, I& cursor) {
  const Interval j = spread_reverse(g, t, i, cursor);
  return j.size() > 0 && keeps(g, t, i, j.first) ? j : no_points;
}

// Stencils on a folded width: point i = x + X·(y + Y·z). They are their own reverse.
/// The row of three around x, `up` rows (of X points) away; none if it is outside.
Interval row(const Graph& g, I i, I half, bool exists, I distance) {
  if (!exists) return no_points;
  const I x = i % g.fold().x, centre = i + distance;
  return {centre - std::min(half, x), centre + std::min(half, g.fold().x - 1 - x)};
}
template <I half>
constexpr auto stencil_2d = [](const Graph& g, I, I i, I k) -> Interval {
  const I x = g.fold().x, y = i / x;
  if (k == 0) return row(g, i, half, y > 0, -x);
  if (k == 1) return row(g, i, 1, true, 0);
  return row(g, i, half, y + 1 < g.fold().y, x);
};
constexpr auto stencil_3d = [](const Graph& g, I, I i, I k) -> Interval {
  const auto [x, y, z] = g.fold();
  const I at_y = i / x % y, at_z = i / (x * y);
  switch (k) {
    case 0:
      return row(g, i, 0, at_z > 0, -x * y);
    case 1:
      return row(g, i, 0, at_y > 0, -x);
    case 2:
      return row(g, i, 1, true, 0);
    case 3:
      return row(g, i, 0, at_y + 1 < y, x);
    default:
      return row(g, i, 0, at_z + 1 < z, x * y);
  }
};

// v_cycle: level l has ⌈W/2^l⌉ points; the steps go down from level 0 to the level of one point and up again. A coarse
// point needs the three fine points around it (restriction), a fine one the coarse points beside it (prolongation).
// The first cycle is the ramp: its widest step depends on nothing.
I v_sets(const Graph& g) { return std::max<I>(1, 2 * log2_of_width(g)); }
Interval v_points(const Graph& g, I t) {
  const I phase = t % v_sets(g), level = std::min(phase, 2 * log2_of_width(g) - phase);
  return {0, (g.width() - 1) >> level};
}
bool v_goes_down(const Graph& g, I t) {
  const I phase = t % v_sets(g);
  return 0 < phase && phase <= log2_of_width(g);
}
constexpr auto finer = [](I i) { return Interval{2 * i - 1, 2 * i + 1}; };
constexpr auto coarser = [](I i) { return Interval{i / 2, (i + 1) / 2}; };
constexpr auto v_cycle = [](const Graph& g, I t, I i) { return v_goes_down(g, t) ? finer(i) : coarser(i); };
constexpr auto v_cycle_reverse = [](const Graph& g, I t, I i) { return v_goes_down(g, t) ? coarser(i) : finer(i); };

// fork_join: one point at even steps, all of them at odd ones.
I two_sets(const Graph&) { return 2; }
Interval fork_join_points(const Graph& g, I t) { return t % 2 == 0 ? Interval{0, 0} : all(g); }
I one_fork(const Graph&) { return 1; }

// fork_tree: the steps fork from the root to the leaves of a tree, and join up to the root, which is that of the next
// tree. A tree of one point forks nothing.
I tree_depth(const Graph& g) { return g.tree().depth() > 0 ? g.tree().depth() : -1; }
I fork_tree_sets(const Graph& g) { return std::max<I>(1, 2 * g.tree().depth()); }
/// Steps since the last root.
I since_root(const Graph& g, I t) { return t % fork_tree_sets(g); }
Interval fork_tree_points(const Graph& g, I t) {
  const I phase = since_root(g, t);
  return {0, g.tree().points(std::min(phase, 2 * g.tree().depth() - phase)) - 1};
}
/// What the tasks of step t depend on, and what depends on tasks of step t - 1.
constexpr auto fork_tree = [](const Graph& g, I t, I i) {
  const I before = since_root(g, t - 1), depth = g.tree().depth();
  if (before >= depth) return depth == 0 ? Interval{0, 0} : g.tree().children(2 * depth - before - 1, i);
  const I parent = g.tree().parent(before, i);
  return Interval{parent, parent};
};
constexpr auto fork_tree_reverse = [](const Graph& g, I t, I i) {
  const I before = since_root(g, t - 1), depth = g.tree().depth();
  if (before < depth) return g.tree().children(before, i);
  const I parent = depth == 0 ? 0 : g.tree().parent(2 * depth - before - 1, i);
  return Interval{parent, parent};
};

Interval dag_points(const Graph& g, I t) { return g.dag().points(t); }
I dag_sets(const Graph& g) { return g.dag().steps(); }
Interval dag_deps(const Graph& g, I t, I i, I& cursor) {
  return g.dag().deps(t).next(i - g.dag().points(t).first, cursor);
}
Interval dag_reverse_deps(const Graph& g, I t, I i, I& cursor) {
  return g.dag().reverse_deps(t).next(i - g.dag().points(t - 1).first, cursor);
}

constexpr Pattern table[] = {
    {.name = "trivial",
     .also_called = "bag of tasks, parameter study, embarrassingly parallel",
     .deps = none,
     .reverse_deps = none},
    {.name = "no_comm", .also_called = "independent chains, embarrassingly parallel", .window = window<0, 0>},
    {.name = "stencil_1d", .also_called = "halo exchange, ghost cells, Jacobi, heat equation", .window = window<-1, 1>},
    {.name = "stencil_1d_periodic",
     .also_called = "halo exchange, ring, periodic boundary",
     .deps = several<2, periodic>,
     .reverse_deps = several<2, periodic>},
    {.name = "dom",
     .also_called = "wavefront, sweep, pipeline, Gauss-Seidel, dynamic programming",
     .points = dom_points,
     .ramp = dom_ramp,
     .window = window<-1, 0>,
     .whole = true},
    {.name = "tree",
     .also_called = "broadcast, binary tree, divide and conquer",
     .points = tree_points,
     .ramp = tree_ramp,
     .deps = one<tree>,
     .reverse_deps = one<tree_reverse>},
    {.name = "fft",
     .also_called = "butterfly, Fourier transform, recursive doubling, allreduce",
     .sets = fft_sets,
     .set = fft_set,
     .deps = several<3, fft>,
     .reverse_deps = several<3, fft>},
    {.name = "all_to_all",
     .also_called = "map-reduce, shuffle, transpose, alltoall",
     .deps = one<everyone>,
     .reverse_deps = one<everyone>},
    {.name = "nearest", .also_called = "halo exchange, wide stencil, band", .window = nearest},
    {.name = "spread",
     .also_called = "stride, scatter",
     .sets = period,
     .deps = spread,
     .reverse_deps = spread_reverse,
     .has_period = true,
     .spreads = true},
    {.name = "random_nearest",
     .also_called = "particles, unstructured mesh",
     .sets = period,
     .deps = random_nearest,
     .reverse_deps = random_nearest_reverse,
     .has_period = true},
    {.name = "random_spread",
     .also_called = "irregular",
     .sets = period,
     .deps = random_spread,
     .reverse_deps = random_spread_reverse,
     .has_period = true,
     .spreads = true},
    {.name = "random",
     .also_called = "irregular, sparse",
     .sets = period,
     .deps = random_all,
     .reverse_deps = random_all_reverse,
     .has_period = true},
    {.name = "stencil_2d",
     .also_called = "halo exchange, five-point stencil, Jacobi",
     .deps = several<3, stencil_2d<0>>,
     .reverse_deps = several<3, stencil_2d<0>>,
     .dimensions = 2},
    {.name = "stencil_2d_9",
     .also_called = "halo exchange, nine-point stencil, game of life",
     .deps = several<3, stencil_2d<1>>,
     .reverse_deps = several<3, stencil_2d<1>>,
     .dimensions = 2},
    {.name = "stencil_3d",
     .also_called = "halo exchange, seven-point stencil",
     .deps = several<5, stencil_3d>,
     .reverse_deps = several<5, stencil_3d>,
     .dimensions = 3},
    {.name = "v_cycle",
     .also_called = "multigrid, reduction",
     .points = v_points,
     .ramp = v_sets,
     .sets = v_sets,
     .deps = one<v_cycle>,
     .reverse_deps = one<v_cycle_reverse>},
    {.name = "fork_join",
     .also_called = "bulk-synchronous, parallel for, barrier, parameter server, gather",
     .points = fork_join_points,
     .sets = two_sets,
     .deps = one<everyone>,
     .reverse_deps = one<everyone>,
     .fork_depth = one_fork},
    {.name = "fork_tree",
     .also_called = "nested parallelism, recursion, spawn and sync, divide and conquer",
     .points = fork_tree_points,
     .sets = fork_tree_sets,
     .deps = one<fork_tree>,
     .reverse_deps = one<fork_tree_reverse>,
     .fork_depth = tree_depth,
     .tree = Pattern::Tree::even},
    {.name = "random_fork_tree",
     .also_called = "uneven recursion, tree search, quicksort",
     .points = fork_tree_points,
     .sets = fork_tree_sets,
     .deps = one<fork_tree>,
     .reverse_deps = one<fork_tree_reverse>,
     .fork_depth = tree_depth,
     .tree = Pattern::Tree::random},
    {.name = "dag",
     .also_called = "workflow, task graph, file",
     .points = dag_points,
     .ramp = dag_sets,
     .sets = dag_sets,
     .deps = dag_deps,
     .reverse_deps = dag_reverse_deps,
     .whole = true,
     .from_file = true},
};

}  // namespace

std::span<const Pattern> patterns() noexcept { return table; }

const Pattern& pattern_from_name(std::string_view name) {
  std::string names;
  for (const Pattern& pattern : table) {
    if (pattern.name == name) return pattern;
    names += (names.empty() ? "" : ", ") + std::string(pattern.name);
  }
  throw InvalidSpec("pattern", std::string(name), names);
}

std::int64_t longest_spread_period(std::int64_t width, std::int64_t radix) noexcept {
  return radix > 0 ? ceil_div(width, radix) : width;
}

}  // namespace taskgrain
