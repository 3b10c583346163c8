// Multi-head latent attention of one new token (DeepSeek-V2, arXiv 2405.04434): up to 64 heads of a sequence share a
// tile and multiply with the cached latent vectors themselves. Kernels for wgmma and tcgen05 split the keys; older
// ones (TensorRT-LLM 1.0 on Ampere and Ada) walk over all of them.
#include <algorithm>
#include <cmath>

#include "models/attention.hpp"
#include "models/attention_sizes.hpp"
#include "models/occupancy.hpp"

namespace tessera {

namespace {

constexpr double kTileHeads = 64, kSplitKeys = 256, kFill = 1;
// Arithmetic and reading the cache overlap in part: exponent of their sum.
constexpr double kOverlap = 1.5;

double constant(const FamilyWeights& weights, MlaDecodeConstant which) {
  return weights.constants[static_cast<std::size_t>(which)].second;
}

bool splits_keys(const Device& device) {
  return device.spec.matrix_unit == MatrixUnit::wgmma || device.spec.matrix_unit == MatrixUnit::tcgen05;
}

struct MlaCut {
  double tiles = 1, splits = 1, steps = 1;  // steps of 64 keys per block
};

MlaCut cut(const MlaShape& s, const Device& device) {
  const auto kv = static_cast<double>(s.kv_len), sms = static_cast<double>(device.spec.sms);
  MlaCut c;
  c.tiles = static_cast<double>(s.batch) * std::ceil(static_cast<double>(s.heads) / kTileHeads);
  const double wanted = std::ceil(kFill * sms / c.tiles), possible = std::ceil(kv / kSplitKeys);
  c.splits = splits_keys(device) ? std::max(1.0, std::min(wanted, possible)) : 1;
  c.steps = std::ceil(kv / c.splits / kKeyStep);
  return c;
}

struct MlaTerms {
  Seconds memory, compute, base;
};

MlaTerms mla_terms(const MlaCut& c, const KernelAnalysis& out, Bytes all, FlopsPerSec rate, const Device& device,
                   const FamilyWeights& weights) {
  using enum MlaDecodeConstant;
  const auto of = [&](MlaDecodeConstant which) { return constant(weights, which); };
  const double per_sm = c.tiles * c.splits / device.spec.sms;
  const Hertz clock = device.spec.boost_clock;
  MlaTerms terms;
  terms.memory = (out.hbm_bytes / device.hbm + (all - out.hbm_bytes) / device.l2) / of(cache_bandwidth_share);
  terms.compute = out.executed / (rate * of(rate_share)) + Seconds(per_sm * of(tile));
  const double both = std::pow(1 + std::pow(terms.compute / terms.memory, kOverlap), 1 / kOverlap);
  const Seconds step =
      splits_keys(device) ? Seconds(of(step_latency)) : of(unsplit_step_cycles) / clock * std::max(1.0, per_sm);
  terms.base = terms.memory * both + c.steps * step + (c.splits > 1 ? of(reduction_cycles) : 0) / clock;
  return terms;
}

}  // namespace

KernelAnalysis analyse_mla_decode(const Kernel& kernel, const Device& device, const PredictContext& context,
                                  const FamilyWeights& weights) {
  const auto& s = std::get<MlaShape>(kernel.shape);
  const MlaCut c = cut(s, device);
  const Bytes all = traffic(kernel).total();

  KernelAnalysis out;
  out.footprint = {.threads = 384, .registers_per_thread = 168, .shared_memory = device.spec.shared_memory_per_sm};
  out.blocks = static_cast<std::int64_t>(c.tiles * c.splits);
  out.blocks_per_sm = resident_blocks(device.spec, out.footprint);
  out.executed = flops(kernel) * (c.tiles * kTileHeads / static_cast<double>(s.batch * s.heads));
  out.hbm_bytes = attention_from_memory(all, device, context);
  const MlaTerms terms = mla_terms(c, out, all, device.sustained_of(kernel.dtype), device, weights);
  out.base = terms.base;
  out.floor = attention_floor(device, context, weights);
  out.inputs = {log_of(out.base / out.floor),
                log_of(terms.memory / out.base),
                log_of(terms.compute / out.base),
                log_of(static_cast<double>(s.kv_len)),
                log_of(static_cast<double>(s.batch)),
                log_of(static_cast<double>(s.heads)),
                log_of(c.splits),
                log_of(c.tiles * c.splits / device.spec.sms),
                matrix_unit_class(device.spec)};
  return out;
}

}  // namespace tessera
