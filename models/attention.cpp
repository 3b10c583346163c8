// Fused attention over many new tokens (Dao et al., FlashAttention-2, arXiv 2307.08691): a block takes up to 128
// queries of one head and walks over the keys they may see.
#include "models/attention.hpp"

#include <algorithm>
#include <cmath>

#include "models/attention_sizes.hpp"
#include "models/occupancy.hpp"

namespace tessera {

namespace {

constexpr double kQueryRows = 128, kFewestRows = 16;
// Exponentials per clock and SM: the special-function units' 16 (CUDA C++ Programming Guide, arithmetic throughput).
constexpr double kExpPerClock = 16;
// Exponentials and GEMMs of different tiles overlap in part: exponent of their sum (1: not at all).
constexpr double kOverlap = 1.3;
// Backward over forward rate: 63 and 73 % of peak on A100 (FlashAttention-2, section 4.1).
constexpr double kBackwardRate = 63.0 / 73.0;
// Exponentials and waiting draw less power than a GEMM: the cap binds half as much (on the log). Large prefills reach
// one share of the geometric mean of sustained and this share of nominal on A100, H100, L40S and B200.
constexpr double kUncappedShare = 0.85;
constexpr double kWidest = 256;                      // wider heads take tiles of half the height
constexpr double kBlocksPerSm = 2, kWideBlocks = 1;  // resident, that hide each other's latency

double constant(const FamilyWeights& weights, PrefillConstant which) {
  return weights.constants[static_cast<std::size_t>(which)].second;
}

bool fed_from_memory(const Device& device) {
  return device.spec.matrix_unit == MatrixUnit::wgmma || device.spec.matrix_unit == MatrixUnit::tcgen05;
}

BlockFootprint prefill_block(const AttentionSizes& s, const Device& device) {
  const double keys = s.dim <= kQueryRows ? kKeyStep : kKeyStep / 2;
  BlockFootprint block;
  block.threads = fed_from_memory(device) ? 384 : 128;
  block.registers_per_thread = fed_from_memory(device) ? 168 : 240;
  block.shared_memory = min(Bytes((kQueryRows + 2 * keys) * s.dim * s.element), device.spec.shared_memory_per_sm);
  return block;
}

/// How the queries are cut into tiles.
struct Tiling {
  double rows = 1;    // of a tile
  double packed = 1;  // heads of one key head in a tile
  double blocks = 1;
  double pairs = 1;  // of query and key that are computed, masked ones in the last steps included
};

/// Heads of a key head share a tile where queries are few: FlashAttention-3 always, others for one query (then they
/// decode), TensorRT-LLM never.
Tiling cut(const AttentionSizes& s, bool causal, const Device& device, Runtime runtime) {
  const bool packs =
      runtime != Runtime::trtllm && (s.q == 1 || device.spec.matrix_unit == MatrixUnit::wgmma) && s.q < kQueryRows;
  Tiling t;
  t.packed = packs ? std::min(s.group(), std::max(1.0, std::floor(kQueryRows / s.q))) : 1;
  t.rows = std::clamp(std::exp2(std::ceil(std::log2(s.q * t.packed))), kFewestRows, kQueryRows);
  const double columns = s.batch * std::ceil(s.heads / t.packed), tiles = std::ceil(s.q * t.packed / t.rows);
  const double all = tiles * t.rows * std::ceil(s.kv / kKeyStep) * kKeyStep;
  const double own = std::max(t.rows / t.packed, kKeyStep);  // keys that a tile's queries add for the next one
  const double seen = t.rows * (tiles * (s.kv - s.q) + own * tiles * (tiles + 1) / 2);
  t.blocks = columns * tiles;
  t.pairs = columns * (causal ? std::min(all, seen) : all);
  return t;
}

/// Share of the sustained rate that the GEMMs of these kernels reach.
double reach(const AttentionSizes& s, Dtype dtype, bool backward, const Device& device, Runtime runtime,
             const FamilyWeights& weights) {
  double share = constant(weights, PrefillConstant::rate_share) * (backward ? kBackwardRate : 1.0);
  if (!fed_from_memory(device)) share *= constant(weights, PrefillConstant::register_fed_share);
  if (s.dim > kWidest) share *= constant(weights, PrefillConstant::wide_share);
  const double trtllm = constant(weights, PrefillConstant::trtllm_share);
  if (runtime == Runtime::trtllm) share *= trtllm;
  if (runtime == Runtime::unspecified) share *= std::sqrt(trtllm);
  const double uncapped = kUncappedShare * (device.spec.peak_of(dtype) / device.sustained_of(dtype));
  return share * std::sqrt(std::max(uncapped, 1.0));
}

/// What makes up the closed form of a prefill, or of its backward.
struct PrefillTerms {
  Flops executed;
  Seconds longest, exponentials, memory, base;
};

PrefillTerms prefill_terms(const Kernel& kernel, const AttentionSizes& s, const Tiling& t, const Device& device,
                           const PredictContext& context, const FamilyWeights& weights) {
  const bool backward = kernel.op == Op::attention_backward;
  const double sms = device.spec.sms, gemms = backward ? 5 : 2;
  const FlopsPerSec rate =
      device.sustained_of(kernel.dtype) * reach(s, kernel.dtype, backward, device, context.runtime, weights);
  PrefillTerms terms;
  terms.executed = Flops(2 * gemms * s.dim * t.pairs);
  terms.exponentials = constant(weights, PrefillConstant::exponentials) * t.pairs * (gemms / 2) /
                       (kExpPerClock * sms * device.spec.boost_clock);  // backward: other work per score instead
  const Seconds gemm = terms.executed / rate;
  const double both = std::pow(1 + std::pow(terms.exponentials / gemm, kOverlap), 1 / kOverlap);
  const double resident = fed_from_memory(device) ? kWideBlocks : kBlocksPerSm;
  const Seconds mean = gemm * both + Seconds(t.blocks / sms * constant(weights, PrefillConstant::block) / resident);
  terms.longest = Flops(2 * gemms * s.dim * t.rows * s.kv) / (rate / sms) * both +
                  Seconds(std::ceil(s.kv / kKeyStep) * constant(weights, PrefillConstant::step_latency));
  const Bytes all = traffic(kernel).total(), hbm = attention_from_memory(all, device, context);
  terms.memory = (hbm / device.hbm + (all - hbm) / device.l2) * constant(weights, PrefillConstant::memory_time);
  terms.base = max(mean, terms.longest) + terms.memory;
  return terms;
}

void fill_inputs(const AttentionSizes& s, const Tiling& t, const PrefillTerms& forward, const Device& device,
                 KernelAnalysis& out) {
  const double per_sm = t.blocks / device.spec.sms, rounds = std::ceil(per_sm);
  out.inputs = {log_of(forward.memory / forward.base),
                log_of(forward.exponentials / forward.base),
                log_of(forward.longest / forward.base),
                log_of(rounds),
                log_of(per_sm / rounds),
                log_of(s.q),
                log_of(s.kv),
                log_of(s.group()),
                log_of(s.batch * s.heads),
                log_of(s.dim),
                log_of(forward.base / out.floor),
                matrix_unit_class(device.spec)};
}

}  // namespace

KernelAnalysis analyse_prefill(const Kernel& kernel, const Device& device, const PredictContext& context,
                               const FamilyWeights& weights) {
  const auto* shape = std::get_if<AttentionShape>(&kernel.shape);
  const AttentionSizes s = shape != nullptr ? AttentionSizes(*shape, kernel.dtype)
                                            : AttentionSizes(std::get<MlaShape>(kernel.shape), kernel.dtype);
  const Tiling tiling = cut(s, shape == nullptr || shape->causal, device, context.runtime);
  const PrefillTerms own = prefill_terms(kernel, s, tiling, device, context, weights);

  KernelAnalysis out;
  out.footprint = prefill_block(s, device);
  out.blocks = static_cast<std::int64_t>(tiling.blocks);
  out.blocks_per_sm = resident_blocks(device.spec, out.footprint);
  out.executed = own.executed;
  out.hbm_bytes = attention_from_memory(traffic(kernel).total(), device, context);
  out.base = own.base;
  out.floor = attention_floor(device, context, weights);
  // No backward was measured: it takes the correction of its forward.
  const bool backward = kernel.op == Op::attention_backward;
  const Kernel forward{Op::attention_prefill, kernel.dtype, kernel.shape};
  fill_inputs(s, tiling, backward ? prefill_terms(forward, s, tiling, device, context, weights) : own, device, out);
  return out;
}

}  // namespace tessera
