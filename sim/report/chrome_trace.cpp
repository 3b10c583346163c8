#include <array>
#include <cmath>
#include <cstdint>
#include <map>
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

void append_names(PackingText& out, const Trace& trace) {
  std::set<int> named;
  for (std::size_t i = 0; i < trace.tracks.size(); ++i) {
    const Track& track = trace.tracks[i];
    const int process = process_of(track);
    if (named.insert(process).second) {
      const std::string name = process == kLinksProcess ? "links" : fmt::format("GPU {}", track.gpu);
      out.append(
          fmt::format("{{\"ph\":\"M\",\"pid\":{0},\"name\":\"process_name\",\"args\":{{\"name\":{1}}}}},\n"
                      "{{\"ph\":\"M\",\"pid\":{0},\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{2}}}}},\n",
                      process, json_string(name), process == kLinksProcess ? 1000000 : process));
    }
    out.append(
        fmt::format("{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}},\n",
                    process, i, json_string(track.name)));
  }
}

/// Events come in millions: what many share is made once, and numbers are put together without format strings.
class EventWriter {
 public:
  explicit EventWriter(const Plan& plan) : plan_(plan), kernel_names_(plan.names.size()) {}

  void set_track(std::size_t index, const Track& track) {
    head_ = fmt::format("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":", process_of(track), index);
  }

  std::string_view event(const Span& span) {
    const Task& task = plan_.tasks[span.task];
    // Ends are rounded, not durations: spans that touch must not overlap.
    const std::int64_t start = nanoseconds(span.start), end = nanoseconds(span.end);
    line_ = head_;
    microseconds(start);
    line_ += ",\"dur\":";
    microseconds(end - start);
    line_ += ",\"name\":";
    line_ += name(task);
    line_ += ",\"cat\":\"";
    line_ += to_string(task.phase);
    line_ += "\",\"args\":{\"layer\":";
    number(task.layer);
    line_ += ",\"micro_batch\":";
    number(task.micro_batch);
    line_ += "}},\n";
    return line_;
  }

 private:
  void number(std::int64_t value) {
    const fmt::format_int digits(value);
    line_.append(digits.data(), digits.size());
  }
  void microseconds(std::int64_t ns) {
    number(ns / 1000);
    const auto rest = static_cast<int>(ns % 1000);
    const auto digit = [](int d) { return static_cast<char>('0' + d); };
    const std::array<char, 4> fraction{'.', digit(rest / 100), digit(rest / 10 % 10), digit(rest % 10)};
    line_.append(fraction.data(), fraction.size());
  }
  const std::string& name(const Task& task) {
    const auto* collective = std::get_if<Collective>(&task.work);
    std::string& known =
        collective == nullptr ? kernel_names_[task.name] : collective_names_[{collective->kind, collective->over}];
    if (known.empty()) known = json_string(task_name(plan_, task));
    return known;
  }

  const Plan& plan_;
  std::vector<std::string> kernel_names_;  // as JSON; empty: not made yet
  std::map<std::pair<CollectiveKind, Dimension>, std::string> collective_names_;
  std::string head_, line_;
};

}  // namespace

void chrome_trace(const Trace& trace, const Plan& plan, PackingText& out) {
  out.append("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  append_names(out, trace);
  EventWriter writer(plan);
  auto track = static_cast<std::uint32_t>(-1);
  for (const Span& span : trace.spans) {
    if (span.track != track) writer.set_track(track = span.track, trace.tracks[span.track]);
    out.append(writer.event(span));
  }
  out.append(
      fmt::format("{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_labels\",\"args\":{{\"labels\":\"each simulated GPU "
                  "stands for {}\"}}}}\n]}}\n",
                  trace.tracks.empty() ? 0 : process_of(trace.tracks.front()), trace.folded));
}

}  // namespace tessera
