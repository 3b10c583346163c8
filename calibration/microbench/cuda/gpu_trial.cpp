#include "calibration/microbench/cuda/gpu_trial.hpp"

#include <algorithm>
#include <cstddef>

#include "calibration/microbench/cuda/values.hpp"

namespace tessera::microbench {

double GpuTrial::error() {
  launch(stream_, 0);
  check(cudaGetLastError(), "launching a kernel");
  stream_.wait();
  return compare();
}

Seconds GpuTrial::time(int calls) {
  constexpr unsigned kQueueing = 100;  // us; longer than the host needs to queue a graph
  if (timing_ == Timing::graph && captured_ != calls) {
    graph_.begin(stream_);
    for (int i = 0; i < calls; ++i) launch(stream_, i % copies_);
    graph_.end(stream_);
    captured_ = calls;
  }
  if (timing_ == Timing::graph) delay(stream_, kQueueing);
  start_.record(stream_);
  run(calls);
  stop_.record(stream_);
  stream_.wait();
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start_, stop_), "reading events");
  return Seconds(1e-3 * static_cast<double>(milliseconds) / calls);
}

void GpuTrial::run(int calls) {
  if (timing_ == Timing::graph) {
    graph_.launch(stream_);
    return;
  }
  for (int i = 0; i < calls; ++i) launch(stream_, i % copies_);
  check(cudaGetLastError(), "launching a kernel");
}

int copies_for(Timing timing, std::size_t bytes) {
  if (timing == Timing::eager) return 1;
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  return static_cast<int>(std::clamp<std::size_t>(free / 2 / std::max<std::size_t>(bytes, 1), 1, 5));
}

}  // namespace tessera::microbench
