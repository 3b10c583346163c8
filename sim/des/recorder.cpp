#include "sim/des/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {

Recorder::Recorder(bool spans, const std::vector<int>& gpus, std::vector<std::string> lines,
                   const std::vector<Link>& links)
    : spans_(spans), lines_(std::move(lines)), links_(links), link_records_(links.size()) {
  for (const int gpu : gpus) gpus_.push_back({gpu, {}, {}});
}

void Recorder::task(std::size_t gpu, std::size_t line, std::uint32_t task, bool kernel, Seconds start, Seconds end) {
  makespan_ = max(makespan_, end);
  GpuRecord& record = gpus_[gpu];
  (kernel ? record.compute : record.communication).add(start, end);
  if (!spans_) return;
  const auto track = static_cast<std::uint32_t>(gpu * lines_.size() + line);
  task_spans_.push_back({track, task, start, end});
}

void Recorder::flow(const Flow& flow, Bytes size, std::uint32_t task, Seconds start, Seconds end) {
  const bool draws = spans_ && std::ranges::find(gpus_, flow.from, &GpuRecord::gpu) != gpus_.end();
  for (const FlowLink& link : flow.links) {
    LinkRecord& record = link_records_[static_cast<std::size_t>(link.id)];
    record.carried += size * link.copies;
    if (!draws) continue;
    const Seconds free = record.spans.empty() ? start : max(start, record.spans.back().end);
    if (free < end) record.spans.push_back({0, task, free, end});
  }
}

Trace Recorder::take() {
  Trace trace;
  trace.makespan = makespan_;
  for (const GpuRecord& record : gpus_) {
    for (const std::string& line : lines_)
      trace.tracks.push_back({fmt::format("gpu{} {}", record.gpu, line), record.gpu});
    trace.gpus.push_back(gpu_use(record.compute, record.communication, makespan_));
  }
  std::ranges::stable_sort(task_spans_, [](const Span& a, const Span& b) {
    return a.track != b.track ? a.track < b.track : a.start < b.start;
  });
  trace.spans = std::move(task_spans_);
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const LinkRecord& record = link_records_[l];
    if (record.carried <= Bytes(0.0)) continue;
    const Link& link = links_[l];
    trace.links.push_back({link.name, link.bandwidth, record.carried, record.carried / link.bandwidth});
    if (record.spans.empty()) continue;
    for (Span span : record.spans) {
      span.track = static_cast<std::uint32_t>(trace.tracks.size());
      trace.spans.push_back(span);
    }
    trace.tracks.push_back({link.name, -1});
  }
  return trace;
}

}  // namespace tessera
