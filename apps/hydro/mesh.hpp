#pragma once

/// A mesh of polygons in the plane: which corners a zone has, which points these are, and where the points lie.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace apps::hydro {

struct Vec {
  double x = 0.0, y = 0.0;
};
inline Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y}; }
inline Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y}; }
inline Vec operator*(double s, Vec a) { return {s * a.x, s * a.y}; }
inline double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y; }
inline double cross(Vec a, Vec b) { return a.x * b.y - a.y * b.x; }

struct Mesh {
  std::vector<int> first;         ///< of each zone its first corner; then how many corners there are
  std::vector<int> point;         ///< of each corner; those of a zone go round counter-clockwise
  std::vector<Vec> x;             ///< of each point, its place
  std::vector<Vec> free;          ///< of each point, 0 in the directions in which a wall holds it, and else 1
  std::vector<int> at_first, at;  ///< of each point the corners there in ascending order; `connect` finds them

  void connect() {
    at_first.assign(x.size() + 1, 0);
    for (const int p : point) ++at_first[p + 1];
    for (std::size_t p = 1; p < at_first.size(); ++p) at_first[p] += at_first[p - 1];
    std::vector<int> next = at_first;
    at.resize(point.size());
    for (std::size_t c = 0; c < at.size(); ++c) at[next[point[c]]++] = static_cast<int>(c);
  }
  std::span<const int> corners_at(int p) const { return {at.data() + at_first[p], at.data() + at_first[p + 1]}; }
  int zone_of(int corner) const {
    return static_cast<int>(std::ranges::upper_bound(first, corner) - first.begin()) - 1;
  }
  /// Where the points of a zone are on average.
  Vec centre(int zone) const {
    Vec sum;
    for (int c = first[zone]; c < first[zone + 1]; ++c) sum = sum + x[point[c]];
    return 1.0 / (first[zone + 1] - first[zone]) * sum;
  }
  /// The part of a zone at a corner: lines from the middles of its sides to the centre bound it.
  double corner_volume(int corner) const {
    const int zone = zone_of(corner), begin = first[zone], end = first[zone + 1];
    const int before = corner > begin ? corner - 1 : end - 1, after = corner + 1 < end ? corner + 1 : begin;
    return 0.25 * cross(centre(zone) - x[point[corner]], x[point[before]] - x[point[after]]);
  }
};

/// Gives each block zones with neighbouring numbers.
struct Partition {
  std::int64_t zones, blocks;

  int begin(std::int64_t block) const { return static_cast<int>(zones * block / blocks); }
  int owner(std::int64_t zone) const { return static_cast<int>(((zone + 1) * blocks - 1) / zones); }
};

}  // namespace apps::hydro
