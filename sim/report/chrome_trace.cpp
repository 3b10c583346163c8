#include <cmath>
#include <cstdint>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "sim/report/outputs.hpp"

namespace tessera {
namespace {

// Trace Event Format (Google, "Trace Event Format"): pid and tid are free numbers that metadata events name.
constexpr int kLinksProcess = 0;

int process_of(const Track& track) {
  return track.gpu < 0 ? kLinksProcess : track.gpu + 1;
}

std::string json_string(std::string_view text) {
  return Json(text).dump(-1);
}

std::int64_t nanoseconds(Seconds time) {
  return std::llround(time.value() * 1e9);
}

void append_names(std::string& out, const Trace& trace) {
  std::set<int> named;
  for (std::size_t i = 0; i < trace.tracks.size(); ++i) {
    const Track& track = trace.tracks[i];
    const int process = process_of(track);
    if (named.insert(process).second) {
      const std::string name = process == kLinksProcess ? "links" : fmt::format("GPU {}", track.gpu);
      fmt::format_to(std::back_inserter(out),
                     "{{\"ph\":\"M\",\"pid\":{0},\"name\":\"process_name\",\"args\":{{\"name\":{1}}}}},\n"
                     "{{\"ph\":\"M\",\"pid\":{0},\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{2}}}}},\n",
                     process, json_string(name), process == kLinksProcess ? 1000000 : process);
    }
    fmt::format_to(std::back_inserter(out),
                   "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}},\n",
                   process, i, json_string(track.name));
  }
}

std::vector<std::string> task_names(const Plan& plan) {
  std::vector<std::string> names;
  names.reserve(plan.tasks.size());
  for (const Task& task : plan.tasks) names.push_back(json_string(task_name(plan, task)));
  return names;
}

}  // namespace

std::string chrome_trace(const Trace& trace, const Plan& plan) {
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  out.reserve(160 * trace.spans.size() + 4096);
  append_names(out, trace);
  const auto names = task_names(plan);
  for (const Span& span : trace.spans) {
    const Task& task = plan.tasks[span.task];
    // Ends are rounded, not durations: spans that touch must not overlap.
    const std::int64_t start = nanoseconds(span.start), end = nanoseconds(span.end);
    fmt::format_to(std::back_inserter(out),
                   "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{}.{:03},\"dur\":{}.{:03},\"name\":{},\"cat\":\"{}\","
                   "\"args\":{{\"layer\":{},\"micro_batch\":{}}}}},\n",
                   process_of(trace.tracks[span.track]), span.track, start / 1000, start % 1000, (end - start) / 1000,
                   (end - start) % 1000, names[span.task], to_string(task.phase), task.layer, task.micro_batch);
  }
  fmt::format_to(std::back_inserter(out),
                 "{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_labels\",\"args\":{{\"labels\":\"each simulated GPU "
                 "stands for {}\"}}}}\n]}}\n",
                 trace.tracks.empty() ? 0 : process_of(trace.tracks.front()), trace.folded);
  return out;
}

}  // namespace tessera
