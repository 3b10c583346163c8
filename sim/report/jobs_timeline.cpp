// Timelines of jobs that share a cluster: Chrome trace events and a picture.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "sim/report/jobs.hpp"
#include "sim/report/svg.hpp"

namespace tessera {

namespace {

/// Okabe and Ito's colours, told apart by the colour-blind, too.
constexpr std::array<std::string_view, 8> kColours{"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                   "#56b4e9", "#d55e00", "#f0e442", "#555555"};
constexpr int kWidth = 920, kLeft = 150, kRight = 20, kTop = 50, kMap = 320, kCurve = 90, kGap = 30;
constexpr std::size_t kMostStays = 4000;  // more are no picture

/// Consecutive GPUs of a stay.
struct Run {
  int first = 0, count = 0;
};
std::vector<Run> runs_of(const std::vector<int>& gpus) {
  std::vector<Run> runs;
  for (const int gpu : gpus) {
    if (!runs.empty() && runs.back().first + runs.back().count == gpu)
      ++runs.back().count;
    else
      runs.push_back({gpu, 1});
  }
  return runs;
}

class ClusterPicture {
 public:
  explicit ClusterPicture(const JobsSummary& summary)
      : summary_(summary),
        drawn_(summary.result.stays.size() <= kMostStays),
        scale_((kWidth - kLeft - kRight) / std::max(summary.measures.makespan.value(), 1e-12)) {}

  std::string draw() {
    const int height = top_of_curve(2) + 10;
    const JobsSummary& s = summary_;
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        "<text x=\"20\" y=\"28\" font-size=\"16\">{2}</text>\n",
        kWidth, height,
        escaped(fmt::format("{} / {} on {}, placement {}, queue {}", s.scenario, s.run, s.cluster.name,
                            s.options.placement, s.options.queue)));
    if (drawn_) map();
    double most = 1;
    for (const ClusterBin& bin : s.measures.over_time) most = std::max(most, bin.waiting);
    curve(0, "GPUs in use", "100 %", [](const ClusterBin& bin) { return bin.busy_ratio; });
    curve(1, "jobs waiting", fmt::format("{:.3g}", most), [most](const ClusterBin& bin) { return bin.waiting / most; });
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  [[nodiscard]] double x(Seconds at) const { return kLeft + at.value() * scale_; }
  [[nodiscard]] int top_of_curve(int i) const { return kTop + (drawn_ ? kMap + kGap : 0) + i * (kCurve + 2 * kGap); }

  void map() {
    const double lane = static_cast<double>(kMap) / summary_.cluster.gpus();
    fmt::format_to(std::back_inserter(out_), "<text x=\"20\" y=\"{}\">{} GPUs</text>\n", kTop + kMap / 2,
                   summary_.cluster.gpus());
    for (const JobStay& stay : summary_.result.stays)
      for (const Run& run : runs_of(stay.gpus))
        fmt::format_to(std::back_inserter(out_),
                       "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"><title>{}"
                       "</title></rect>\n",
                       x(stay.start), kTop + run.first * lane, std::max(0.3, x(stay.end) - x(stay.start)),
                       std::max(0.3, run.count * lane), kColours[stay.job % kColours.size()],
                       escaped(summary_.jobs[stay.job].name));
  }

  template <class Value>
  void curve(int i, std::string_view name, std::string_view full, const Value& value) {
    const int top = top_of_curve(i), bottom = top + kCurve;
    const auto& bins = summary_.measures.over_time;
    out_ += "<polyline fill=\"none\" stroke=\"#333\" points=\"";
    for (std::size_t b = 0; b < bins.size(); ++b) {
      const double height = bottom - kCurve * std::clamp(value(bins[b]), 0.0, 1.0);
      const Seconds end = b + 1 < bins.size() ? bins[b + 1].at : summary_.measures.makespan;
      fmt::format_to(std::back_inserter(out_), "{:.1f},{:.1f} {:.1f},{:.1f} ", x(bins[b].at), height, x(end), height);
    }
    fmt::format_to(std::back_inserter(out_),
                   "\"/>\n<text x=\"20\" y=\"{}\">{}</text>\n<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n"
                   "<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"#999\"/>\n<text x=\"{}\" y=\"{}\">0</text>\n"
                   "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.4g} h</text>\n",
                   bottom - kCurve / 2, name, kLeft - 6, top + 8, full, kLeft, kWidth - kRight, bottom, bottom, kLeft,
                   bottom + 18, kWidth - kRight, bottom + 18, summary_.measures.makespan.value() / 3600);
  }

  const JobsSummary& summary_;
  bool drawn_;
  double scale_;
  std::string out_;
};

}  // namespace

std::string jobs_svg(const JobsSummary& summary) {
  return ClusterPicture(summary).draw();
}

void jobs_trace(const JobsSummary& summary, PackingText& out) {
  out.append("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  out.append("{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"nodes\"}}");
  std::vector<std::string> names;
  for (const ClusterJob& job : summary.jobs) names.push_back(Json(job.name).dump(-1));
  for (const JobStay& stay : summary.result.stays) {
    int last = -1;
    for (const int gpu : stay.gpus) {
      const int node = gpu / summary.cluster.node.gpus;
      if (node == last) continue;
      last = node;
      // Microseconds, rounded; jobs of one node overlap, so that each is an event of its own (async begin and end).
      const auto id = stay.job;
      out.append(fmt::format(
          ",\n{{\"ph\":\"b\",\"cat\":\"job\",\"pid\":1,\"tid\":{0},\"id\":\"{1}.{0}\",\"ts\":{2},"
          "\"name\":{4}}},\n{{\"ph\":\"e\",\"cat\":\"job\",\"pid\":1,\"tid\":{0},\"id\":\"{1}.{0}\","
          "\"ts\":{3},\"name\":{4}}}",
          node, id, std::llround(stay.start.value() * 1e6), std::llround(stay.end.value() * 1e6), names[stay.job]));
    }
  }
  out.append("\n]}\n");
}

}  // namespace tessera
