// What all single-stream trials share: one call between two events, or a graph of calls replayed.
#pragma once

#include "calibration/microbench/cuda/gpu.hpp"
#include "calibration/microbench/device.hpp"

namespace tessera::microbench {

class GpuTrial : public Trial {
 public:
  double error() final;
  Seconds time(int calls) override;

 protected:
  /// `copies`: sets of operands that calls take turns with, so that the next one's are not in L2.
  GpuTrial(Timing timing, int copies) : timing_(timing), copies_(copies) {}
  virtual void launch(cudaStream_t stream, int copy) = 0;
  /// Of copy 0, which has just run.
  virtual double compare() = 0;
  [[nodiscard]] const Stream& stream() const { return stream_; }
  [[nodiscard]] int copies() const { return copies_; }

 private:
  void run(int calls);

  Timing timing_;
  int copies_;
  int captured_ = 0;  // calls in the graph
  Stream stream_;
  Graph graph_;
  Event start_, stop_;
};

/// Copies of operands of this size: five in a graph (as AIConfigurator's benchmarks rotate), fewer where the memory is
/// short, one otherwise (as a framework's own repeated call).
int copies_for(Timing timing, std::size_t bytes);

}  // namespace tessera::microbench
