// Timelines of tenants: Chrome trace events and a picture, with a colour for each tenant.
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "sim/report/svg.hpp"
#include "sim/report/tenants.hpp"

namespace tessera {

namespace {

/// Names that the trace viewer has colours for.
constexpr std::array<std::string_view, 8> kTraceColours{"thread_state_running",
                                                        "rail_response",
                                                        "thread_state_iowait",
                                                        "rail_animation",
                                                        "cq_build_running",
                                                        "thread_state_sleeping",
                                                        "terrible",
                                                        "olive"};
/// Okabe and Ito's colours, told apart by the colour-blind, too.
constexpr std::array<std::string_view, 8> kColours{"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                   "#56b4e9", "#d55e00", "#f0e442", "#555555"};

constexpr int kWidth = 920, kLeft = 150, kRight = 20, kTop = 60, kLane = 26, kCurve = 90;

std::int64_t nanoseconds(Seconds time) {
  return std::llround(time.value() * 1e9);
}

class Picture {
 public:
  Picture(const Timeline& timeline, std::size_t lanes)
      : timeline_(timeline), lanes_(static_cast<int>(lanes)), scale_((kWidth - kLeft - kRight) / span()) {}

  [[nodiscard]] double x(Seconds at) const { return kLeft + at.value() * scale_; }
  [[nodiscard]] int lane(std::size_t i) const { return kTop + static_cast<int>(i) * kLane; }
  [[nodiscard]] int height() const { return kTop + lanes_ * kLane + kCurve + 50; }
  [[nodiscard]] int curve_bottom() const { return kTop + lanes_ * kLane + kCurve + 20; }
  [[nodiscard]] double span() const { return std::max(timeline_.makespan.value(), 1e-12); }

 private:
  const Timeline& timeline_;
  int lanes_;
  double scale_;
};

/// Kernels that touch, at the picture's resolution, are one bar.
void append_bars(std::string& out, const Picture& picture, const Timeline& timeline, std::uint32_t tenant) {
  constexpr double kPixel = 0.3;
  double from = -1, to = -1;
  const auto flush = [&] {
    if (from < 0) return;
    fmt::format_to(std::back_inserter(out),
                   "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"/>\n", from,
                   picture.lane(tenant), std::max(to - from, kPixel), kLane - 6, kColours[tenant % kColours.size()]);
  };
  for (const KernelSpan& kernel : timeline.kernels) {
    if (kernel.tenant != tenant) continue;
    const double start = picture.x(kernel.start), end = picture.x(kernel.end);
    if (from >= 0 && start <= to + kPixel) {
      to = std::max(to, end);
      continue;
    }
    flush();
    from = start, to = end;
  }
  flush();
}

void append_curve(std::string& out, const Picture& picture, const SharingMeasures& m) {
  out += "<polyline fill=\"none\" stroke=\"#333\" points=\"";
  for (const UsageBin& bin : m.over_time)
    fmt::format_to(std::back_inserter(out), "{:.1f},{:.1f} ", picture.x(bin.at),
                   picture.curve_bottom() - kCurve * std::min(1.0, bin.sm_ratio));
  out += "\"/>\n";
}

}  // namespace

void tenants_trace(std::span<const Tenant> tenants, const KernelNames& names, const Timeline& timeline,
                   PackingText& out) {
  out.append("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  out.append("{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"GPU\"}}");
  for (std::size_t i = 0; i < tenants.size(); ++i)
    out.append(fmt::format(",\n{{\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}}",
                           i, Json(tenants[i].name).dump(-1)));
  for (const KernelSpan& k : timeline.kernels) {
    const std::int64_t start = nanoseconds(k.start), duration = nanoseconds(k.end) - start;
    out.append(fmt::format(
        ",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{}.{:03},\"dur\":{}.{:03},\"name\":{},\"cname\":\"{}\"}}",
        k.tenant, start / 1000, start % 1000, duration / 1000, duration % 1000,
        Json(names[k.tenant][k.kernel]).dump(-1), kTraceColours[k.tenant % kTraceColours.size()]));
  }
  out.append("\n]}\n");
}

std::string tenants_svg(std::span<const Tenant> tenants, const SharingSummary& summary, const Timeline& timeline) {
  const Picture picture(timeline, tenants.size());
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"20\" y=\"28\" font-size=\"16\">{2}</text>\n",
      kWidth, picture.height(),
      escaped(fmt::format("{} / {} on {}, dispatch {}", summary.scenario, summary.run, summary.gpu, summary.dispatch)));
  for (std::uint32_t i = 0; i < tenants.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "<text x=\"20\" y=\"{}\">{}</text>\n", picture.lane(i) + 15,
                   escaped(tenants[i].name));
    append_bars(out, picture, timeline, i);
  }
  append_curve(out, picture, summary.measures);
  const int bottom = picture.curve_bottom();
  fmt::format_to(std::back_inserter(out),
                 "<text x=\"20\" y=\"{}\">SMs in use</text>\n<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" "
                 "stroke=\"#999\"/>\n<text x=\"{}\" y=\"{}\">0</text>\n<text x=\"{}\" y=\"{}\" "
                 "text-anchor=\"end\">{:.3g} ms</text>\n</svg>\n",
                 bottom - kCurve / 2, kLeft, kWidth - kRight, bottom, bottom, kLeft, bottom + 18, kWidth - kRight,
                 bottom + 18, timeline.makespan.value() * 1e3);
  return out;
}

}  // namespace tessera
