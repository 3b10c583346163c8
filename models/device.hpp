// What follows from a GPU's data sheet by physics: sustained rates, bandwidth, energy. No product is named.
#pragma once

#include <array>

#include "sim/cluster/gpu.hpp"

namespace tessera {

/// Derived once per GPU; formulas and sources are in device.cpp and README.md.
struct Device {
  GpuSpec spec;
  /// Through the fastest unit that takes the dtype: min(reachable share of peak, power cap x FLOP/s per watt); 0:
  /// not supported.
  std::array<FlopsPerSec, kDtypeCount> sustained{};
  std::array<FlopsPerSec, kDtypeCount> uncapped{};           // reachable share of peak, as where few SMs draw power
  FlopsPerSec sustained_vector;                              // fp32 lanes alone
  BytesPerSec hbm;                                           // reachable share of the data sheet's
  BytesPerSec hbm_per_sm;                                    // what one SM alone can draw
  BytesPerSec l2;                                            // all SMs reading L2
  Seconds launch_floor;                                      // the shortest kernel inside a CUDA graph
  std::array<JoulesPerFlop, kDtypeCount> energy_per_flop{};  // above idle
  JoulesPerByte energy_per_byte;                             // device memory
  Watts idle;

  [[nodiscard]] FlopsPerSec sustained_of(Dtype dtype) const { return sustained[static_cast<std::size_t>(dtype)]; }
  [[nodiscard]] FlopsPerSec uncapped_of(Dtype dtype) const { return uncapped[static_cast<std::size_t>(dtype)]; }
  /// Multiply-adds per clock and SM at the nominal peak.
  [[nodiscard]] double fma_per_clock(Dtype dtype) const;
  /// False: the fp32 lanes do it.
  [[nodiscard]] bool on_matrix_unit(Dtype dtype) const;
};

Device derive_device(const GpuSpec& gpu);

}  // namespace tessera
