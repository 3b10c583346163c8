// NeuSight's arithmetic: tiles to waves, the roof, the four inputs of its nets, and the law u = g - a/w.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "models/neusight/operation.hpp"
#include "sim/base/units.hpp"

namespace tessera::neusight {

/// Of a matrix: output rows and columns of a thread block. Of a vector: `n` elements of a row.
struct Tile {
  std::int64_t m = 1, n = 1;
  friend bool operator==(const Tile&, const Tile&) = default;
};

struct Tiling {
  std::int64_t blocks = 1;
  std::int64_t waves = 1;  // one block per SM at a time; the last, partial one counts whole
  double tile_gflop = 0;   // of 1e9
  double tile_mib = 0;     // of 2^20 bytes
  double intensity = 0;    // padded operations over unpadded bytes: 1e9 FLOP per 2^30 bytes
  double roof_gflops = 0;  // min(peak, intensity x bandwidth)
  std::array<float, 4> inputs{};
};
inline constexpr int kLawInputs = 4, kLawOutputs = 3;

Tiling tile_up(const Operation& operation, const Tile& tile, const GpuNumbers& gpu);

/// What the net's outputs mean: a = sigmoid(o0), g = sigmoid(o2); o1 is not used.
double utilisation(std::span<const float> outputs, std::int64_t waves);

/// waves x tile x SMs / (roof x u): the time at u = 1, for the loss.
Seconds ideal_time(const Tiling& tiling, const GpuNumbers& gpu);
/// 0 where u is not positive, as the original has it.
Seconds law_time(const Tiling& tiling, const GpuNumbers& gpu, double utilisation);

/// Bytes at 100 % of the bandwidth, taken as 2^30 bytes per GB.
Seconds transfer_time(Bytes bytes, const GpuNumbers& gpu);

/// |y - p| / |y + p| for p = ideal / u, and its derivative by the three outputs. Written over u, so that neither is
/// singular at u = 0; the derivative of a loss at its pole y u = -ideal is taken as 0.
double smape(Seconds measured, Seconds ideal, std::int64_t waves, std::span<const float> outputs,
             std::span<float> slope);

}  // namespace tessera::neusight
