#include "sim/report/bar_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

#include "sim/report/svg.hpp"

namespace tessera {
namespace {

constexpr double kWidth = 920, kHeight = 380, kLeft = 56, kRight = 16, kTop = 76, kBottom = 48, kGap = 0.25;
constexpr std::array<std::string_view, 6> kColours{"#1b6ca8", "#e07a1f", "#8a8f98", "#5b8c5a", "#a05195", "#c9a227"};

/// 1, 2 or 5 times a power of ten, so that about five lines fit.
double step_of(double top) {
  const double rough = top / 5, power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

class Drawing {
 public:
  explicit Drawing(const BarChart& chart) : chart_(chart) {
    double most = 0;
    for (const BarSeries& series : chart.series) {
      for (const auto& value : series.values) most = std::max(most, value.value_or(0));
    }
    if (chart.ceiling > 0) most = std::min(most, chart.ceiling);
    step_ = step_of(most > 0 ? most : 1);
    top_ = step_ * std::ceil((most > 0 ? most : 1) / step_);
  }

  std::string text() {
    put(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" )"
        R"(font-family="sans-serif" font-size="12">)",
        kWidth, kHeight);
    put("\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    put(R"(<text x="{}" y="24" font-size="16" font-weight="bold">{}</text>)", kLeft, escaped(chart_.title));
    legend();
    scale();
    for (std::size_t i = 0; i < chart_.categories.size(); ++i) category(i);
    put("\n</svg>\n");
    return std::move(out_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  [[nodiscard]] double height_of(double value) const {
    return (kHeight - kTop - kBottom) * std::min(value, top_) / top_;
  }

  void legend() {
    double x = kLeft;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      put("\n<rect x=\"{:.0f}\" y=\"40\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{}\"/>", x,
          kColours[i % kColours.size()]);
      put("<text x=\"{:.0f}\" y=\"51\">{}</text>", x + 17, escaped(chart_.series[i].name));
      x += 34 + 6.6 * static_cast<double>(chart_.series[i].name.size());
    }
  }

  void scale() {
    for (double value = 0; value < top_ + step_ / 2; value += step_) {
      const double y = kHeight - kBottom - height_of(value);
      put("\n<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#dde1e6\"/>", kLeft, kWidth - kRight,
          y);
      put("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#555\">{:g}</text>", kLeft - 6, y + 4, value);
    }
    put("\n<text x=\"14\" y=\"{0:.0f}\" transform=\"rotate(-90 14 {0:.0f})\" text-anchor=\"middle\" fill=\"#555\">"
        "{1}</text>",
        (kTop + kHeight - kBottom) / 2, escaped(chart_.axis));
  }

  void category(std::size_t index) {
    const double room = (kWidth - kLeft - kRight) / static_cast<double>(chart_.categories.size());
    const double start = kLeft + room * (static_cast<double>(index) + kGap / 2);
    const double width = room * (1 - kGap) / static_cast<double>(std::max<std::size_t>(1, chart_.series.size()));
    put("\n<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        kLeft + room * (static_cast<double>(index) + 0.5), kHeight - kBottom + 20, escaped(chart_.categories[index]));
    for (std::size_t s = 0; s < chart_.series.size(); ++s) {
      const auto& value = chart_.series[s].values[index];
      if (!value) continue;
      const double height = height_of(*value), x = start + width * static_cast<double>(s);
      const double y = kHeight - kBottom - height;
      put("\n<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\" fill=\"{}\"/>", x, y,
          width * 0.92, height, kColours[s % kColours.size()]);
      put("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"10\" fill=\"#333\">{}</text>",
          x + width * 0.46, y - 3, *value < 100 ? fmt::format("{:.1f}", *value) : fmt::format("{:.0f}", *value));
    }
  }

  const BarChart& chart_;
  double step_ = 1, top_ = 1;
  std::string out_;
};

}  // namespace

std::string svg(const BarChart& chart) {
  return Drawing(chart).text();
}

}  // namespace tessera
