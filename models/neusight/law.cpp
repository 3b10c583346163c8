#include "models/neusight/law.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::neusight {

namespace {

constexpr double kGiga = 1e9, kGib = 1024.0 * 1024 * 1024, kMib = 1024.0 * 1024, kFp32 = 4;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// blocks, tile and intensity of a matrix product.
Tiling tile_matrix(const Operation& op, const Tile& tile) {
  const std::int64_t down = ceil_div(op.m, tile.m), across = ceil_div(op.n, tile.n);
  const auto m = static_cast<double>(op.m), n = static_cast<double>(op.n), k = static_cast<double>(op.k);
  const auto tm = static_cast<double>(tile.m), tn = static_cast<double>(tile.n);
  const double padded = 2 * static_cast<double>(down) * tm * k * static_cast<double>(across) * tn;
  return {.blocks = op.b * down * across,
          .tile_gflop = 2 * tm * tn * k / kGiga,
          .tile_mib = kFp32 * (tm * k + k * tn + tm * tn) / kMib,
          .intensity = padded / kGiga / (kFp32 * (m * k + k * n + m * n) / kGib)};
}

/// Every row is cut on its own, although the real kernels see a flat tensor.
Tiling tile_vector(const Operation& op, const Tile& tile) {
  const std::int64_t per_row = ceil_div(op.n, tile.n);
  const auto h = static_cast<double>(op.n), t = static_cast<double>(tile.n);
  return {.blocks = op.b * per_row,
          .tile_gflop = op.ops_per_output * t / kGiga,
          .tile_mib = op.bytes_per_output * t / kMib,
          .intensity = op.ops_per_output * static_cast<double>(per_row) * t / kGiga / (op.bytes_per_output * h / kGib)};
}

}  // namespace

Tiling tile_up(const Operation& operation, const Tile& tile, const GpuNumbers& gpu) {
  Tiling t = is_matrix(operation.kind) ? tile_matrix(operation, tile) : tile_vector(operation, tile);
  t.waves = ceil_div(t.blocks, static_cast<std::int64_t>(gpu.sms));
  t.roof_gflops = std::min(gpu.gflops, t.intensity * gpu.bandwidth_gbs);
  const double wave_mib = static_cast<double>(t.waves) * t.tile_mib;
  const std::array<double, 4> ratios{
      t.tile_gflop / (gpu.gflops / 1000 / gpu.sms), t.tile_mib / (gpu.bandwidth_gbs / gpu.sms),
      wave_mib / (1024 * gpu.memory_gb / gpu.sms), wave_mib / (1024 * gpu.l2_mb / gpu.sms)};
  for (std::size_t i = 0; i < ratios.size(); ++i) t.inputs[i] = static_cast<float>(std::log2(ratios[i]));
  return t;
}

double utilisation(std::span<const float> outputs, std::int64_t waves) {
  return sigmoid(outputs[2]) - sigmoid(outputs[0]) / static_cast<double>(waves);
}

Seconds ideal_time(const Tiling& tiling, const GpuNumbers& gpu) {
  return Seconds(static_cast<double>(tiling.waves) * tiling.tile_gflop * gpu.sms / tiling.roof_gflops);
}

Seconds law_time(const Tiling& tiling, const GpuNumbers& gpu, double utilisation) {
  return utilisation > 0 ? ideal_time(tiling, gpu) / utilisation : Seconds(0);
}

Seconds transfer_time(Bytes bytes, const GpuNumbers& gpu) {
  return Seconds(bytes.value() / (gpu.bandwidth_gbs * kGib));
}

double smape(Seconds measured, Seconds ideal, std::int64_t waves, std::span<const float> outputs,
             std::span<float> slope) {
  const double a = sigmoid(outputs[0]), g = sigmoid(outputs[2]), w = static_cast<double>(waves);
  const double u = g - a / w, y = measured.value(), c = ideal.value();
  const double above = y * u - c, below = y * u + c;
  slope[1] = 0;
  if (below == 0) {
    slope[0] = slope[2] = 0;
    return 1;
  }
  const double loss = std::abs(above) / std::abs(below);
  const double by_u = std::copysign(y / std::abs(below), above) - loss * y / below;
  slope[0] = static_cast<float>(-by_u * a * (1 - a) / w);
  slope[2] = static_cast<float>(by_u * g * (1 - g));
  return loss;
}

}  // namespace tessera::neusight
