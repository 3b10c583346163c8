// Collects what happened while the event loop runs, and makes the trace of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/des/routing.hpp"
#include "sim/trace/intervals.hpp"
#include "sim/trace/trace.hpp"

namespace tessera {

class Recorder {
 public:
  /// `gpus`: cluster-wide indices of those simulated; `draws`: which of them have tracks. `lines`: names of what runs
  /// in order on each.
  Recorder(const std::vector<bool>& draws, const std::vector<int>& gpus, std::vector<std::string> lines,
           const std::vector<Link>& links);

  void task(std::size_t gpu, std::size_t line, std::uint32_t task, bool kernel, Seconds start, Seconds end);
  void flow(const Flow& flow, Bytes size, std::uint32_t task, Seconds start, Seconds end);

  /// Links of flows that GPUs with tracks send have tracks. Everything but `folded`, `events` and what HBM carried.
  /// Flows that overlap on a link are drawn one after the other on its track; its carried bytes are exact.
  [[nodiscard]] Trace take();

 private:
  struct GpuRecord {
    int gpu;
    std::int64_t first_track;  // < 0: it has none
    Intervals compute, communication;
  };
  struct LinkRecord {
    Bytes carried;
    std::vector<Span> spans;
  };
  std::vector<bool> draws_;  // by cluster-wide index
  std::vector<GpuRecord> gpus_;
  std::vector<std::string> lines_;
  const std::vector<Link>& links_;
  std::vector<LinkRecord> link_records_;
  std::vector<Span> task_spans_;
  Seconds makespan_;
};

}  // namespace tessera
