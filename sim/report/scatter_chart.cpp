#include "sim/report/scatter_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

#include "sim/report/svg.hpp"

namespace tessera {
namespace {

constexpr double kWidth = 920, kHeight = 460, kLeft = 72, kRight = 24, kTop = 64, kBottom = 56;
constexpr std::array<std::string_view, 6> kColours{"#1b6ca8", "#e07a1f", "#5b8c5a", "#a05195", "#8a8f98", "#c9a227"};

/// 1, 2 or 5 times a power of ten, so that about five lines fit.
double step_of(double top) {
  const double rough = top / 5, power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

class Drawing {
 public:
  explicit Drawing(const ScatterChart& chart) : chart_(chart) {
    for (const ScatterSeries& series : chart.series)
      for (const ScatterPoint& p : series.points) {
        most_x_ = std::max(most_x_, p.x);
        most_y_ = std::max(most_y_, p.y);
      }
    if (most_x_ <= 0) most_x_ = 1;
    if (most_y_ <= 0) most_y_ = 1;
  }

  std::string text() {
    put(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" )"
        R"(font-family="sans-serif" font-size="12">)",
        kWidth, kHeight);
    put("\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    put(R"(<text x="{}" y="24" font-size="16" font-weight="bold">{}</text>)", kLeft, escaped(chart_.title));
    scales();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) draw(chart_.series[i], kColours[i % kColours.size()], i);
    put("\n</svg>\n");
    return std::move(out_);
  }

 private:
  template <class... T>
  void put(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(values)...);
  }
  [[nodiscard]] double x_of(double x) const { return kLeft + x / (1.05 * most_x_) * (kWidth - kLeft - kRight); }
  [[nodiscard]] double y_of(double y) const {
    return kHeight - kBottom - y / (1.05 * most_y_) * (kHeight - kTop - kBottom);
  }

  void scales() {
    for (double x = 0, step = step_of(most_x_); x <= 1.05 * most_x_; x += step)
      put("\n<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:g}</text>", x_of(x), kHeight - kBottom + 18, x);
    for (double y = 0, step = step_of(most_y_); y <= 1.05 * most_y_; y += step)
      put("\n<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#e3e5e8\"/>"
          "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>",
          kLeft, kWidth - kRight, y_of(y), y_of(y), kLeft - 6, y_of(y) + 4, y);
    put("\n<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", (kLeft + kWidth - kRight) / 2, kHeight - 14,
        escaped(chart_.x_axis));
    put("\n<text x=\"16\" y=\"{0}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {0})\">{1}</text>",
        (kTop + kHeight - kBottom) / 2, escaped(chart_.y_axis));
  }

  void draw(const ScatterSeries& series, std::string_view colour, std::size_t index) {
    const double legend = kLeft + static_cast<double>(index) * 190;
    put("\n<circle cx=\"{}\" cy=\"44\" r=\"5\" fill=\"{}\"/><text x=\"{}\" y=\"48\">{}</text>", legend, colour,
        legend + 10, escaped(series.name));
    if (series.joined && !series.points.empty()) {
      put("\n<path fill=\"none\" stroke=\"{}\" d=\"M{:.1f} {:.1f}", colour, x_of(series.points.front().x),
          y_of(series.points.front().y));
      for (const ScatterPoint& p : series.points) put(" H{:.1f} V{:.1f}", x_of(p.x), y_of(p.y));
      put("\"/>");
    }
    for (const ScatterPoint& p : series.points) {
      put("\n<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"><title>{}</title></circle>", x_of(p.x), y_of(p.y),
          colour, escaped(p.label));
      if (p.named) put("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x_of(p.x) + 7, y_of(p.y) - 5, escaped(p.label));
    }
  }

  const ScatterChart& chart_;
  double most_x_ = 0, most_y_ = 0;
  std::string out_;
};

}  // namespace

std::string svg(const ScatterChart& chart) {
  return Drawing(chart).text();
}

}  // namespace tessera
