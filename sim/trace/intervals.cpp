#include "sim/trace/intervals.hpp"

#include <algorithm>

namespace tessera {

void Intervals::add(Seconds start, Seconds end) {
  if (end <= start) return;
  if (!intervals_.empty()) {
    Interval& last = intervals_.back();
    if (last.start <= start && start <= last.end) {
      last.end = max(last.end, end);
      return;
    }
  }
  intervals_.push_back({start, end});
}

std::vector<Interval> Intervals::merged() const {
  std::vector<Interval> sorted = intervals_;
  std::ranges::sort(sorted, [](const Interval& a, const Interval& b) { return a.start < b.start; });
  std::vector<Interval> merged;
  for (const Interval& i : sorted) {
    if (!merged.empty() && i.start <= merged.back().end) {
      merged.back().end = max(merged.back().end, i.end);
    } else {
      merged.push_back(i);
    }
  }
  return merged;
}

Seconds total(const std::vector<Interval>& merged) {
  Seconds sum;
  for (const Interval& i : merged) sum += i.end - i.start;
  return sum;
}

Seconds overlap(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  Seconds sum;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    const Seconds common = min(i->end, j->end) - max(i->start, j->start);
    if (common > Seconds(0.0)) sum += common;
    if (i->end < j->end) {
      ++i;
    } else {
      ++j;
    }
  }
  return sum;
}

GpuUse gpu_use(const Intervals& compute, const Intervals& communication, Seconds makespan) {
  const auto kernels = compute.merged(), collectives = communication.merged();
  GpuUse use;
  use.compute_busy = total(kernels);
  use.communication_busy = total(collectives);
  use.exposed_communication = max(use.communication_busy - overlap(kernels, collectives), Seconds(0.0));
  use.idle = max(makespan - use.compute_busy - use.exposed_communication, Seconds(0.0));
  return use;
}

}  // namespace tessera
