// Grouped bars as an SVG picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tessera {

struct BarSeries {
  std::string name;
  std::vector<std::optional<double>> values;  // parallel to the chart's categories; nothing: no bar
};

struct BarChart {
  std::string title, axis;
  std::vector<std::string> categories;
  std::vector<BarSeries> series;
  double ceiling = 0;  // longer bars are cut there, with their value written on; 0: none is
};

/// A picture of 920 pixels' width with a scale, a legend and the value on every bar. Pure: same chart, same text.
std::string svg(const BarChart& chart);

}  // namespace tessera
