#pragma once

/// The shock tube of Sod ("A survey of several finite difference methods for systems of nonlinear hyperbolic
/// conservation laws", J. Comput. Phys. 27, 1978) on the unit square. The columns of zones are bent, so that the shock
/// is not parallel to them.

#include <numbers>
#include <stdexcept>

#include "block.hpp"

namespace apps::hydro::sod {

inline constexpr StepsProblem problem{"hydro", 256, 8, 2048, 100};  // size: zones along a side
inline constexpr Gas left{1.0, 1.0}, right{0.125, 0.1};
/// The end, before the shock reaches the wall. A step is at most the time until then, divided by the number of steps.
inline constexpr double end = 0.2;

/// Where the gases meet, at the start: between two columns.
inline double middle(std::int64_t size) { return static_cast<double>(size / 2) / static_cast<double>(size); }

inline Mesh mesh(std::int64_t size) {
  Mesh found;
  const int n = static_cast<int>(size), points = n + 1;
  const double half = middle(size);
  for (int j = 0; j < points; ++j)
    for (int i = 0; i < points; ++i) {
      const double x = static_cast<double>(i) / n, y = static_cast<double>(j) / n;
      const double across = std::sin(std::numbers::pi * (x < half ? x / half : (x - half) / (1.0 - half)));
      // The walls and the line between the gases are straight, to the last bit.
      const double bent = i % n == 0 || i == n / 2 ? 0.0 : 0.02 * across * std::cos(2.0 * std::numbers::pi * y);
      found.x.push_back({x + bent, y});
      found.free.push_back({i % n == 0 ? 0.0 : 1.0, j % n == 0 ? 0.0 : 1.0});
    }
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const int at = j * points + i;
      found.first.push_back(static_cast<int>(found.point.size()));
      found.point.insert(found.point.end(), {at, at + 1, at + 1 + points, at + points});
    }
  found.first.push_back(static_cast<int>(found.point.size()));
  found.connect();
  return found;
}

inline Block block(const Mesh& mesh, const StepsOptions& options, int blocks, int own) {
  const auto gas = [half = middle(options.size)](Vec x) { return x.x < half ? left : right; };
  return {mesh, {std::ssize(mesh.first) - 1, blocks}, own, gas, end / options.steps};
}

/// The density where a wave of this speed is, in the exact solution (Toro, "Riemann Solvers and Numerical Methods for
/// Fluid Dynamics", chapter 4): a rarefaction goes to the left and a shock to the right.
inline double density_at(double speed) {
  constexpr double up = gamma + 1.0, down = gamma - 1.0;
  static const double sound = std::sqrt(gamma * left.pressure / left.density);
  const auto behind = [](double p) {  // the speeds of the gas behind the shock, and behind the rarefaction
    return std::pair{(p - right.pressure) * std::sqrt(2.0 / right.density / (up * p + down * right.pressure)),
                     2.0 * sound / down * (1.0 - std::pow(p / left.pressure, down / (2.0 * gamma)))};
  };
  static const double pressure = [&] {
    double low = right.pressure, high = left.pressure;
    for (int k = 0; k < 100; ++k) {
      const double p = 0.5 * (low + high);
      (behind(p).first < behind(p).second ? low : high) = p;
    }
    return low;
  }();
  static const double contact = behind(pressure).first;
  static const double ratio = pressure / right.pressure;
  static const double shock = std::sqrt(right.pressure / right.density * (up * ratio + down) / 2.0);
  static const double tail = contact - (sound - down / 2.0 * contact);
  if (speed < -sound) return left.density;
  if (speed < tail) return left.density * std::pow((2.0 - down * speed / sound) / up, 2.0 / down);
  if (speed < contact) return left.density * std::pow(pressure / left.pressure, 1.0 / gamma);
  if (speed < shock) return right.density * (up * ratio + down) / (down * ratio + up);
  return right.density;
}

/// The error is the integral of the density's. A scheme of first order loses part of a zone at each wave.
/// \param all  Block::values, of all blocks
/// \throws std::runtime_error  mass, volume, or energy has changed
inline Verified verify(std::span<const double> all, std::int64_t size, double time) {
  const double half = middle(size);
  long double sums[3] = {}, error = 0.0L;
  for (std::size_t k = 0; k < all.size(); k += 4) {
    for (std::size_t s = 0; s < 3; ++s) sums[s] += all[k + s];
    error += all[k + 1] * std::abs(all[k] / all[k + 1] - density_at((all[k + 3] - half) / time));
  }
  const auto at_start = [&](double a, double b) { return half * a + (1.0 - half) * b; };
  const std::pair<const char*, double> kept[] = {{"mass", at_start(left.density, right.density)},
                                                 {"volume", 1.0},
                                                 {"energy", at_start(left.pressure, right.pressure) / (gamma - 1.0)}};
  for (std::size_t s = 0; s < 3; ++s)
    if (const double off = std::abs(static_cast<double>(sums[s] / kept[s].second) - 1.0); !(off < 1e-12))
      throw std::runtime_error(std::string(kept[s].first) + " has changed by " + std::to_string(off * 1e12) + "e-12");
  return {static_cast<double>(error), 0.7 / static_cast<double>(size), digest(all)};
}

}  // namespace apps::hydro::sod
