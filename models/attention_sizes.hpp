// What the attention families share: a shape as numbers, and where its bytes come from.
#pragma once

#include <cmath>

#include "models/cache.hpp"
#include "models/family.hpp"
#include "models/stream.hpp"

namespace tessera {

/// Keys that a block takes at a time.
inline constexpr double kKeyStep = 64;

inline float log_of(double x) {
  return static_cast<float>(std::log(x));
}

/// An attention shape as numbers; of latent attention, the heads' own keys and values with their mean width.
struct AttentionSizes {
  double batch, q, kv, heads, kv_heads, dim, element;

  AttentionSizes(const AttentionShape& s, Dtype dtype)
      : batch(static_cast<double>(s.batch)),
        q(static_cast<double>(s.q_len)),
        kv(static_cast<double>(s.kv_len)),
        heads(static_cast<double>(s.heads)),
        kv_heads(static_cast<double>(s.kv_heads)),
        dim(static_cast<double>(s.head_dim)),
        element(element_size(dtype).value()) {}

  AttentionSizes(const MlaShape& s, Dtype dtype)
      : batch(static_cast<double>(s.batch)),
        q(static_cast<double>(s.q_len)),
        kv(static_cast<double>(s.kv_len)),
        heads(static_cast<double>(s.heads)),
        kv_heads(heads),
        dim(static_cast<double>(s.head_dim) + static_cast<double>(s.rope) / 2),
        element(element_size(dtype).value()) {}

  [[nodiscard]] double group() const { return heads / kv_heads; }
};

/// Bytes that come from device memory; the rest was left in L2 by the same call before.
inline Bytes attention_from_memory(Bytes bytes, const Device& device, const PredictContext& context) {
  constexpr double kSetSpill = 4;
  return context.residency == Residency::cold ? bytes : bytes * spilled_share(bytes, device.spec.l2, kSetSpill);
}

/// Kernels are written anew for each: 0 mma.sync (or none), 1 wgmma, 2 tcgen05.
inline float matrix_unit_class(const GpuSpec& gpu) {
  if (gpu.matrix_unit == MatrixUnit::tcgen05) return 2;
  return gpu.matrix_unit == MatrixUnit::wgmma ? 1 : 0;
}

/// The first two constants of each attention family: what the smallest call takes, in seconds and in clock cycles.
inline Seconds attention_floor(const Device& device, const PredictContext& context, const FamilyWeights& weights) {
  const Seconds host = context.timing == Timing::eager ? kEagerCall : Seconds(0);
  return Seconds(weights.constants[0].second) + weights.constants[1].second / device.spec.boost_clock + host;
}

}  // namespace tessera
