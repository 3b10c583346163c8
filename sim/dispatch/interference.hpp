// By how much kernels of other streams slow a kernel beside taking its SM slots and bandwidth.
#pragma once

#include "sim/cluster/gpu.hpp"
#include "sim/dispatch/deployment.hpp"

namespace tessera {

class Interference {
 public:
  Interference(const GpuSpec& gpu, const SharingTerms& terms);

  /// What blocks that start now find on the GPU; they keep the factor until they end.
  struct Company {
    BytesPerSec others_demand;   // of device memory
    Watts own_power, all_power;  // above idle
    bool own_traffic = false;
  };
  /// Of a block's time, at least 1; 1 alone.
  [[nodiscard]] double factor(const Company& company) const;
  /// From the end of a kernel to the start of the next of its stream, with blocks of so many streams on the SMs, its
  /// own included.
  [[nodiscard]] Seconds gap(int active_streams) const;

 private:
  SharingTerms terms_;
  BytesPerSec bandwidth_;
  Watts dynamic_cap_;
};

/// How blocks are stopped for somebody more urgent.
enum class Preemption : std::uint8_t { throttle, flush, interrupt };
/// From the request until the GPU is free, at the median, behind kernels of this length; XSched's measurements on a
/// GV100 (README.md, "Preemption").
Seconds preemption_latency(Preemption level, Seconds kernel);

}  // namespace tessera
