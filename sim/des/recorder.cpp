#include "sim/des/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {

Recorder::Recorder(const std::vector<bool>& draws, const std::vector<int>& gpus, std::vector<std::string> lines,
                   const std::vector<Link>& links)
    : lines_(std::move(lines)), links_(links), link_records_(links.size()) {
  std::size_t tracks = 0;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    gpus_.push_back({gpus[g], draws[g] ? static_cast<std::int64_t>(tracks) : -1, {}, {}});
    if (!draws[g]) continue;
    tracks += lines_.size();
    const auto gpu = static_cast<std::size_t>(gpus[g]);
    if (draws_.size() <= gpu) draws_.resize(gpu + 1);
    draws_[gpu] = true;
  }
}

void Recorder::task(std::size_t gpu, std::size_t line, std::uint32_t task, bool kernel, Seconds start, Seconds end) {
  makespan_ = max(makespan_, end);
  GpuRecord& record = gpus_[gpu];
  (kernel ? record.compute : record.communication).add(start, end);
  if (record.first_track < 0) return;
  const auto track = static_cast<std::uint32_t>(static_cast<std::size_t>(record.first_track) + line);
  task_spans_.push_back({track, task, start, end});
}

void Recorder::flow(const Flow& flow, Bytes size, std::uint32_t task, Seconds start, Seconds end) {
  const auto from = static_cast<std::size_t>(flow.from);
  const bool draws = from < draws_.size() && draws_[from];
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
      if (record.first_track >= 0) trace.tracks.push_back({fmt::format("gpu{} {}", record.gpu, line), record.gpu});
    trace.gpus.push_back(gpu_use(record.compute, record.communication, makespan_));
    trace.gpus.back().gpu = record.gpu;
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
