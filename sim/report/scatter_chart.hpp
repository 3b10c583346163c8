// Points and a front line as an SVG picture.
#pragma once

#include <string>
#include <vector>

namespace tessera {

struct ScatterPoint {
  double x = 0, y = 0;
  std::string label{};  // shown where the pointer rests; beside the point where `named`
  bool named = false;
};

struct ScatterSeries {
  std::string name;
  std::vector<ScatterPoint> points;
  bool joined = false;  // by steps: a Pareto front, ascending x
};

struct ScatterChart {
  std::string title, x_axis, y_axis;
  std::vector<ScatterSeries> series;
};

/// A picture of 920 pixels' width, both scales from 0. Pure: same chart, same text.
std::string svg(const ScatterChart& chart);

}  // namespace tessera
