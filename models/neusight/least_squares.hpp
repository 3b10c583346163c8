// The straight line through points, by least squares.
#pragma once

#include <span>
#include <utility>

namespace tessera::neusight {

struct Line {
  double slope = 0, offset = 0;
};

/// y = slope x + offset; one x alone gives slope 0.
inline Line least_squares(std::span<const std::pair<double, double>> points) {
  const auto n = static_cast<double>(points.size());
  double x = 0, y = 0;
  for (const auto& [px, py] : points) {
    x += px / n;
    y += py / n;
  }
  double xx = 0, xy = 0;
  for (const auto& [px, py] : points) {
    xx += (px - x) * (px - x);
    xy += (px - x) * (py - y);
  }
  const double slope = xx > 0 ? xy / xx : 0;
  return {slope, y - slope * x};
}

}  // namespace tessera::neusight
