#pragma once

/// Lagrangian hydrodynamics of an ideal gas on a staggered mesh, as in PENNANT (Ferenbaugh, "PENNANT: an unstructured
/// mesh mini-app for advanced architecture research", 2015): points move and have velocities, zones have mass, volume
/// and internal energy. The discretisation conserves total energy up to round-off (Caramana, Burton, Shashkov, Whalen,
/// "The construction of compatible hydrodynamics algorithms utilizing conservation of total energy", J. Comput. Phys.
/// 146, 1998): a zone pushes the points at its corners, and loses as energy what these forces do as work. In shocks,
/// the viscosity of von Neumann and Richtmyer (1950), with a linear term, adds to the pressure.
///
/// A block has all points of its zones. Other blocks have those on its border, too. Each moves them alike: it adds the
/// forces of all corners there in the order of the mesh. So blocks exchange these forces, and the least time step.

#include <cmath>
#include <map>
#include <set>

#include "../steps/program.hpp"
#include "mesh.hpp"

namespace apps::hydro {

inline constexpr double gamma = 1.4;
inline constexpr double linear = 0.3, quadratic = 1.2;  ///< terms of the viscosity
inline constexpr double courant = 0.4;                  ///< how much of a zone sound may cross in a step

struct Gas {
  double density, pressure;
};

/// When a step begins, and how long it takes.
struct Clock {
  double time = 0.0, dt = 0.0;
};
/// The shorter step. One that begins later replaces what is left of the step before.
inline Clock shorter(Clock a, Clock b) { return a.time < b.time || (a.time == b.time && b.dt < a.dt) ? b : a; }

/// With a neighbour.
struct Border {
  int block;
  std::vector<int> corners;  ///< own corners at points that the neighbour has, too
  std::vector<Vec> sent;     ///< their forces
  std::span<Vec> received;   ///< and those of its corners
};

class alignas(64) Block {
 public:
  /// \param gas      of a place, at the start
  /// \param most_dt  a step is at most so long
  template <typename Start>
  Block(const Mesh& mesh, const Partition& parts, int own, const Start& gas, double most_dt) : most_dt_(most_dt) {
    const std::vector<int> points = connect(mesh, parts, own);
    const auto mass = [&](int c) { return gas(mesh.centre(mesh.zone_of(c))).density * mesh.corner_volume(c); };
    for (const int p : points) {
      x_.push_back(mesh.x[p]), free_.push_back(mesh.free[p]), point_mass_.push_back(0.0);
      for (const int c : mesh.corners_at(p)) point_mass_.back() += mass(c);
    }
    v_.resize(points.size()), moved_.resize(points.size());
    for (int z = parts.begin(own); z < parts.begin(own + 1); ++z) {
      for (int c = mesh.first[z]; c < mesh.first[z + 1]; ++c) corner_mass_.push_back(mass(c));
      const Gas start = gas(mesh.centre(z));
      Zone& zone = zones_.emplace_back();
      measure(zones_.size() - 1);
      zone.mass = start.density * zone.volume;
      zone.energy = start.pressure / (gamma - 1.0) * zone.volume / zone.mass;
    }
    clock_.dt = settle();
  }
  Block(Block&&) = default;  // and no copy, as borders point into it

  std::span<Border> borders() { return borders_; }
  const Clock& clock() const { return clock_; }

  /// The forces of its corners, in the middle of the step.
  void push(double dt) {
    clock_.dt = dt;
    for (std::size_t p = 0; p < x_.size(); ++p) moved_[p] = x_[p] + 0.5 * dt * v_[p];
    for (std::size_t z = 0; z < zones_.size(); ++z) {
      Zone& zone = zones_[z];
      const int begin = first_[z], end = first_[z + 1];
      double volume = 0.0, rate = 0.0;  // and how fast it grows
      Vec before = moved_[point_[end - 1]], here = moved_[point_[begin]];
      for (int c = begin; c < end; ++c) {
        const Vec after = moved_[point_[c + 1 < end ? c + 1 : begin]];
        // So much volume the zone gains where the corner moves by 1.
        forces_[c] = {0.5 * (after.y - before.y), 0.5 * (before.x - after.x)};
        volume += 0.5 * cross(here, after);
        rate += dot(forces_[c], v_[point_[c]]);
        before = here, here = after;
      }
      const double energy = zone.energy - zone.pressure * (volume - zone.volume) / zone.mass;
      const double density = zone.mass / volume, jump = std::max(0.0, -rate / volume * zone.width);
      zone.viscous = jump > 0.0 ? linear * zone.sound + quadratic * jump : 0.0;
      const double pressure = density * ((gamma - 1.0) * energy + zone.viscous * jump);
      for (int c = begin; c < end; ++c) forces_[c] = pressure * forces_[c];
    }
    for (Border& border : borders_)
      for (std::size_t k = 0; k < border.corners.size(); ++k) border.sent[k] = forces_[border.corners[k]];
  }

  /// Moves the points, when it has received all forces at its borders. \returns the next step that it can take
  Clock move() {
    const double dt = clock_.dt;
    for (std::size_t p = 0; p < x_.size(); ++p) {
      Vec force;
      for (int k = at_first_[p]; k < at_first_[p + 1]; ++k) force = force + forces_[at_[k]];
      const Vec gained = dt / point_mass_[p] * Vec{force.x * free_[p].x, force.y * free_[p].y};
      moved_[p] = dt * (v_[p] + 0.5 * gained);
      v_[p] = v_[p] + gained;
      x_[p] = x_[p] + moved_[p];
    }
    for (std::size_t z = 0; z < zones_.size(); ++z) {
      double work = 0.0;
      for (int c = first_[z]; c < first_[z + 1]; ++c) work += dot(forces_[c], moved_[point_[c]]);
      zones_[z].energy -= work / zones_[z].mass;
      measure(z);
    }
    return clock_ = {clock_.time + dt, settle()};
  }

  /// Of each zone: mass, volume, energy with that of its motion, x.
  std::vector<double> values() const {
    std::vector<double> found;
    for (std::size_t z = 0; z < zones_.size(); ++z) {
      double energy = zones_[z].mass * zones_[z].energy, x = 0.0;
      for (int c = first_[z]; c < first_[z + 1]; ++c) {
        energy += 0.5 * corner_mass_[c] * dot(v_[point_[c]], v_[point_[c]]);
        x += x_[point_[c]].x / (first_[z + 1] - first_[z]);
      }
      found.insert(found.end(), {zones_[z].mass, zones_[z].volume, energy, x});
    }
    return found;
  }

 private:
  struct Zone {
    double mass, energy;  // of a unit of mass, without motion
    double volume, width, pressure, sound;
    double viscous;  // a speed
  };

  /// Zones, corners and points, and what they share with other blocks. \returns the numbers of the points in the mesh
  std::vector<int> connect(const Mesh& mesh, const Partition& parts, int own) {
    const int zone = parts.begin(own), end = parts.begin(own + 1), corner = mesh.first[zone], last = mesh.first[end];
    const auto is_own = [&](int c) { return corner <= c && c < last; };
    const auto place = [](const std::vector<int>& sorted, int value) {
      return static_cast<int>(std::ranges::lower_bound(sorted, value) - sorted.begin());
    };
    std::vector<int> points(mesh.point.begin() + corner, mesh.point.begin() + last), others;
    std::ranges::sort(points);
    points.erase(std::ranges::unique(points).begin(), points.end());
    for (int z = zone; z <= end; ++z) first_.push_back(mesh.first[z] - corner);
    for (int c = corner; c < last; ++c) point_.push_back(place(points, mesh.point[c]));

    std::map<int, std::set<int>> shared;  // own corners, by neighbour
    for (const int p : points)
      for (const int c : mesh.corners_at(p)) {
        if (is_own(c)) continue;
        others.push_back(c);
        for (const int mine : mesh.corners_at(p))
          if (is_own(mine)) shared[parts.owner(mesh.zone_of(c))].insert(mine - corner);
      }
    std::ranges::sort(others);  // and thus by neighbour
    forces_.resize(static_cast<std::size_t>(last - corner) + others.size());
    auto received = forces_.begin() + (last - corner);
    for (const auto& [block, corners] : shared) {
      const auto count = std::ranges::count_if(others, [&](int c) { return parts.owner(mesh.zone_of(c)) == block; });
      borders_.push_back(
          {block, {corners.begin(), corners.end()}, std::vector<Vec>(corners.size()), {received, received + count}});
      received += count;
    }
    for (const int p : points) {
      at_first_.push_back(static_cast<int>(at_.size()));
      for (const int c : mesh.corners_at(p)) at_.push_back(is_own(c) ? c - corner : last - corner + place(others, c));
    }
    at_first_.push_back(static_cast<int>(at_.size()));
    return points;
  }
  /// Volume, and width across the longest side.
  void measure(std::size_t z) {
    double volume = 0.0, longest = 0.0;
    Vec here = x_[point_[first_[z + 1] - 1]];
    for (int c = first_[z]; c < first_[z + 1]; ++c) {
      const Vec after = x_[point_[c]], side = after - here;
      volume += 0.5 * cross(here, after);
      longest = std::max(longest, dot(side, side));
      here = after;
    }
    zones_[z].volume = volume;
    zones_[z].width = volume / std::sqrt(longest);
  }
  /// Pressure and sound. \returns the longest step that is stable
  double settle() {
    double dt = most_dt_;
    for (Zone& zone : zones_) {
      zone.pressure = (gamma - 1.0) * zone.energy * zone.mass / zone.volume;
      zone.sound = std::sqrt(gamma * (gamma - 1.0) * zone.energy);
      dt = std::min(dt, courant * zone.width / (zone.sound + 2.0 * zone.viscous));
    }
    return dt;
  }

  const double most_dt_;
  Clock clock_;
  std::vector<int> first_, point_, at_first_, at_;  // as in a Mesh, of own zones, corners, points; at_: in forces_
  std::vector<Vec> x_, v_, free_, moved_;           // of points; moved_: to the middle of a step, or in it
  std::vector<double> point_mass_, corner_mass_;
  std::vector<Vec> forces_;  // of own corners, then of others at the border
  std::vector<Zone> zones_;
  std::vector<Border> borders_;
};

}  // namespace apps::hydro
