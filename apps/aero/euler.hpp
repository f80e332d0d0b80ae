#pragma once

/// A gas without friction in a periodic box: finite volumes on an unstructured mesh and explicit Runge-Kutta steps of
/// four stages, as in MiniAero without viscosity and gradients (Franko, Fisher, Lin, Bova, "CFD for Next Generation
/// Hardware: Experiences with Proxy Applications", AIAA 2015-3053). Fluxes are of first order, by Roe ("Approximate
/// Riemann Solvers, Parameter Vectors, and Difference Schemes", Journal of Computational Physics 43, 1981).
///
/// The mesh is a list of faces; only `box` knows that it is a box. A block has cells of its own, ghosts, which are
/// cells of others beside them, and all faces of its own cells. Both blocks compute a face between them, and each cell
/// adds its faces in the order of the mesh: any partition gives the same bits.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../steps/program.hpp"

namespace apps::euler {

/// The size is the number of cells along a side.
inline constexpr StepsProblem problem{"aero", 12, 4, 128, 40};
inline constexpr double gamma = 1.4;
/// Of the time step, for each stage.
inline constexpr std::array<double, 4> stages{1.0 / 4.0, 1.0 / 3.0, 1.0 / 2.0, 1.0};

using Vector = std::array<double, 3>;
using Cell = std::array<double, 5>;  ///< mass, momentum and energy, each for a unit of volume

inline double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// What a face sees of a cell.
struct Side {
  double density, pressure, enthalpy, across;  // the velocity through the face
  Vector velocity;

  Side(const Cell& cell, const Vector& normal) : density(cell[0]) {
    const double volume = 1.0 / density;
    velocity = {cell[1] * volume, cell[2] * volume, cell[3] * volume};
    pressure = (gamma - 1.0) * (cell[4] - 0.5 * density * dot(velocity, velocity));
    enthalpy = (cell[4] + pressure) * volume;
    across = dot(velocity, normal);
  }
};

/// Through a unit of area, from left to right.
inline Cell flux(const Cell& left, const Cell& right, const Vector& normal) {
  const Side l(left, normal), r(right, normal);
  const double ratio = std::sqrt(r.density / l.density), of_right = ratio / (1.0 + ratio), of_left = 1.0 - of_right;
  // Roe's mean state, and the waves that carry the difference.
  Vector velocity, change;
  for (std::size_t k = 0; k < 3; ++k) {
    velocity[k] = of_left * l.velocity[k] + of_right * r.velocity[k];
    change[k] = r.velocity[k] - l.velocity[k];
  }
  const double density = ratio * l.density, enthalpy = of_left * l.enthalpy + of_right * r.enthalpy;
  const double kinetic = 0.5 * dot(velocity, velocity), across = dot(velocity, normal);
  const double squared = (gamma - 1.0) * (enthalpy - kinetic), sound = std::sqrt(squared), inverse = 1.0 / squared;
  const double pressure = r.pressure - l.pressure, jump = r.across - l.across, push = density * sound * jump;
  const double slower = std::abs(across - sound) * (pressure - push) * 0.5 * inverse;
  const double faster = std::abs(across + sound) * (pressure + push) * 0.5 * inverse;
  const double entropy = std::abs(across) * (r.density - l.density - pressure * inverse);
  const double shear = std::abs(across) * density, mass = slower + faster + entropy, sounds = (faster - slower) * sound;
  const double from_left = l.density * l.across, from_right = r.density * r.across;

  Cell found;
  found[0] = 0.5 * (from_left + from_right - mass);
  for (std::size_t k = 0; k < 3; ++k)
    found[k + 1] =
        0.5 * (from_left * l.velocity[k] + from_right * r.velocity[k] + (l.pressure + r.pressure) * normal[k] -
               mass * velocity[k] - sounds * normal[k] - shear * (change[k] - jump * normal[k]));
  found[4] = 0.5 * (from_left * l.enthalpy + from_right * r.enthalpy - (slower + faster) * enthalpy - sounds * across -
                    entropy * kinetic - shear * (dot(velocity, change) - across * jump));
  return found;
}

struct Face {
  int left, right;
  double area;
  Vector normal;  ///< from left to right, of length 1
};

struct Mesh {
  std::vector<Face> faces;
  std::vector<double> volumes;
  std::vector<Vector> centres;
};

/// `size`³ cells in the unit cube, whose opposite sides are one.
inline Mesh box(std::int64_t size) {
  const int n = static_cast<int>(size);
  const double h = 1.0 / n;
  const auto index = [n](int x, int y, int z) { return (z % n * n + y % n) * n + x % n; };
  Mesh mesh;
  for (int z = 0; z < n; ++z)
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x) {
        const int here = index(x, y, z);
        mesh.volumes.push_back(h * h * h);
        mesh.centres.push_back({(x + 0.5) * h, (y + 0.5) * h, (z + 0.5) * h});
        mesh.faces.push_back({here, index(x + 1, y, z), h * h, {1.0, 0.0, 0.0}});
        mesh.faces.push_back({here, index(x, y + 1, z), h * h, {0.0, 1.0, 0.0}});
        mesh.faces.push_back({here, index(x, y, z + 1), h * h, {0.0, 0.0, 1.0}});
      }
  return mesh;
}

/// Which block has which cell. Here ranges of cells; nothing else depends on that.
struct Partition {
  std::vector<int> owner, local;  ///< of each cell: its block, and its number there
  std::vector<int> begins;        ///< of each block: the cells of those before it

  Partition(const Mesh& mesh, std::int64_t blocks) : begins(static_cast<std::size_t>(blocks) + 1) {
    const auto cells = static_cast<std::int64_t>(mesh.volumes.size());
    std::vector<int> counts(static_cast<std::size_t>(blocks));
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      owner.push_back(static_cast<int>(cell * blocks / cells));
      local.push_back(counts[static_cast<std::size_t>(owner.back())]++);
    }
    for (std::size_t b = 0; b < counts.size(); ++b) begins[b + 1] = begins[b] + counts[b];
  }
};

inline constexpr double sound = 1.0, amplitude = 0.02, most_time = 0.25, wave_number = 2.0 * std::numbers::pi;
inline constexpr Vector wind{0.2, -0.1, 0.3};
/// Of all waves along the three axes, added: the speed of sound, that of the gas in the wave, and the wind.
inline constexpr double speeds = 4.0;

/// In a simple wave along the diagonal, where it moves the gas at this speed.
inline Cell gas(double speed) {
  const double here = sound + 0.5 * (gamma - 1.0) * speed, density = here * here * here * here * here;
  const double pressure = density * here * here / gamma;  // gamma is 7/5
  Vector velocity = wind;
  for (double& one : velocity) one += speed / std::numbers::sqrt3;
  return {density, density * velocity[0], density * velocity[1], density * velocity[2],
          pressure / (gamma - 1.0) + 0.5 * density * dot(velocity, velocity)};
}

/// Each part of the wave runs at its own speed, the same way, so that the wave gets steeper. It breaks at time 3.8.
inline Cell exact(const Vector& at, double time) {
  const double along = at[0] + at[1] + at[2] - (wind[0] + wind[1] + wind[2]) * time;
  double speed = 0.0;
  for (int k = 0; k < 15; ++k)  // each comes 15 times nearer
    speed = amplitude *
            std::sin(wave_number * (along - std::numbers::sqrt3 * (sound + 0.5 * (gamma + 1.0) * speed) * time));
  return gas(speed);
}

/// What upwind differences of first order leave of the wave: along each axis they diffuse by half a cell times the
/// speed of what runs there, which is sound in both directions, and velocity across the axis, which goes with the wind.
inline double left_over(std::int64_t size, double time) {
  double speed = 0.0;
  for (const double one : wind) speed += 2.0 / 3.0 * sound + one / std::numbers::sqrt3 + std::abs(one) / 3.0;
  return std::exp(-0.5 / static_cast<double>(size) * speed * wave_number * wave_number * time);
}

/// Stable, and not beyond `most_time` after all steps.
inline double time_step(std::int64_t size, int steps) {
  return std::min(0.5 / (speeds * static_cast<double>(size)), most_time / steps);
}

class Block {
 public:
  /// Whose cells lie beside own ones.
  struct Neighbour {
    int block;
    std::vector<int> sends;     ///< own cells that are ghosts there, in the order of the ghosts
    std::vector<int> theirs{};  ///< ghosts, as numbers in that block
    std::size_t begin = 0;      ///< of its ghosts, which are in one piece
  };

  Block(const Mesh& mesh, const Partition& partition, int me) {
    std::map<int, std::set<int>> ghosts, sends;
    const auto owner = [&](int cell) { return partition.owner[static_cast<std::size_t>(cell)]; };
    const auto local = [&](int cell) { return partition.local[static_cast<std::size_t>(cell)]; };
    for (const Face& face : mesh.faces)
      for (const auto& [own, other] : {std::pair(face.left, face.right), std::pair(face.right, face.left)})
        if (owner(own) == me && owner(other) != me) {
          ghosts[owner(other)].insert(other);
          sends[owner(other)].insert(own);
        }
    for (std::size_t cell = 0; cell < mesh.volumes.size(); ++cell)
      if (partition.owner[cell] == me) {
        volumes_.push_back(mesh.volumes[cell]);
        initial_.push_back(exact(mesh.centres[cell], 0.0));
      }
    std::map<int, int> place;  // of ghosts
    std::size_t end = own() + gap;
    for (const auto& [block, cells] : ghosts) {
      Neighbour& one = neighbours_.emplace_back(Neighbour{block, {}});
      for (const int cell : sends[block]) one.sends.push_back(local(cell));
      one.begin = end;
      for (const int cell : cells) {
        one.theirs.push_back(local(cell));
        place[cell] = static_cast<int>(end++);
      }
    }
    for (Face face : mesh.faces)
      if (owner(face.left) == me || owner(face.right) == me) {
        face.left = owner(face.left) == me ? local(face.left) : place[face.left];
        face.right = owner(face.right) == me ? local(face.right) : place[face.right];
        faces_.push_back(face);
      }
    initial_.resize(end + gap);
    rates_.resize(initial_.size());
  }

  std::size_t own() const { return volumes_.size(); }
  const std::vector<Neighbour>& neighbours() const { return neighbours_; }
  /// Own cells, and room for the ghosts.
  const std::vector<Cell>& initial() const { return initial_; }

  /// A stage: next = old + step × the rate of change of `now`, whose ghosts are there. `next` may be one of the others.
  void advance(const std::vector<Cell>& now, const std::vector<Cell>& old, std::vector<Cell>& next, double step) {
    std::fill(rates_.begin(), rates_.end(), Cell{});
    for (const Face& face : faces_) {
      const auto left = static_cast<std::size_t>(face.left), right = static_cast<std::size_t>(face.right);
      const Cell through = flux(now[left], now[right], face.normal);
      for (std::size_t k = 0; k < through.size(); ++k) {
        rates_[left][k] -= face.area * through[k];
        rates_[right][k] += face.area * through[k];  // also of ghosts, where nobody uses it
      }
    }
    for (std::size_t cell = 0; cell < own(); ++cell) {
      const double factor = step / volumes_[cell];
      for (std::size_t k = 0; k < rates_[cell].size(); ++k) next[cell][k] = old[cell][k] + factor * rates_[cell][k];
    }
  }

 private:
  /// Cells that nobody uses, so that no cache line has what this block writes and what others read meanwhile.
  static constexpr std::size_t gap = 4;

  std::vector<Face> faces_;
  std::vector<double> volumes_;
  std::vector<Neighbour> neighbours_;
  std::vector<Cell> initial_, rates_;
};

/// The values of so many cells.
inline std::span<const double> values(const std::vector<Cell>& cells, std::size_t count) {
  return {cells.data()->data(), count * std::tuple_size_v<Cell>};
}

/// The error is that of the wave, over the wave.
/// \param all  own cells of all blocks, one block after the other
/// \throws std::runtime_error  mass, momentum or energy is not what it was
inline Verified verify(const Mesh& mesh, const Partition& partition, std::span<const double> all, std::int64_t size,
                       int steps) {
  const double time = steps * time_step(size, steps), left = left_over(size, time);
  const Cell rest = gas(0.0);
  double wrong = 0.0, wave = 0.0;
  Cell drift{};
  std::vector<double> ordered;
  for (std::size_t cell = 0; cell < mesh.volumes.size(); ++cell) {
    const auto place = partition.begins[static_cast<std::size_t>(partition.owner[cell])] + partition.local[cell];
    const std::span found = all.subspan(static_cast<std::size_t>(place) * rest.size(), rest.size());
    const Cell before = exact(mesh.centres[cell], 0.0), right = exact(mesh.centres[cell], time);
    for (std::size_t k = 0; k < rest.size(); ++k) {
      drift[k] += mesh.volumes[cell] * (found[k] - before[k]);
      wrong += mesh.volumes[cell] * std::abs(found[k] - rest[k] - left * (right[k] - rest[k]));
      wave += mesh.volumes[cell] * std::abs(right[k] - rest[k]);
    }
    ordered.insert(ordered.end(), found.begin(), found.end());
  }
  // Each stage and each term of the sum rounds.
  const double rounding = std::numeric_limits<double>::epsilon() * (4.0 * steps + static_cast<double>(size * size));
  for (const double one : drift)
    if (!(std::abs(one) <= rounding))
      throw std::runtime_error("mass, momentum or energy has changed by " + std::to_string(one / rounding) +
                               " times what rounding explains");
  // A small part turns into waves that run elsewhere: with 4 to 64 cells up to 0.16 of the phase between two cells.
  return {wrong / wave, 0.2 * wave_number / static_cast<double>(size), digest(ordered)};
}

}  // namespace apps::euler
