// Fused attention (Dao et al., FlashAttention-2, arXiv 2307.08691): a block takes 128 queries of one head and walks
// over the keys they may see; decoding splits the keys so that all SMs have work.
#include "models/attention.hpp"

#include "models/cache.hpp"
#include "models/occupancy.hpp"
#include "models/stream.hpp"

namespace tessera {

namespace {

constexpr double kQueryRows = 128, kKeyStep = 64;
// Exponentials per clock and SM: the special-function units' 16 (CUDA C++ Programming Guide, arithmetic throughput).
constexpr double kExpPerClock = 16;
// Backward over forward rate: 63 and 73 % of peak on A100 (FlashAttention-2, section 4.1).
constexpr double kBackwardRate = 63.0 / 73.0;
// Decoding: keys of one split at least, and blocks per SM that fill a GPU.
constexpr double kSplitKeys = 256, kFill = 2;
constexpr double kSetSpill = 4;

float log_of(double x) {
  return static_cast<float>(std::log(x));
}

double constant(const FamilyWeights& weights, std::size_t which) {
  return weights.constants[which].second;
}

Seconds floor_of(const Device& device, const PredictContext& context, const FamilyWeights& weights) {
  const Seconds host = context.timing == Timing::eager ? kEagerCall : Seconds(0);
  return Seconds(constant(weights, 0)) + constant(weights, 1) / device.spec.boost_clock + host;
}

float matrix_unit_class(const GpuSpec& gpu) {
  if (gpu.matrix_unit == MatrixUnit::tcgen05) return 2;
  return gpu.matrix_unit == MatrixUnit::wgmma ? 1 : 0;
}

/// An attention shape as numbers.
struct Sizes {
  double batch, q, kv, heads, kv_heads, dim, element;

  Sizes(const Kernel& kernel, const AttentionShape& s)
      : batch(static_cast<double>(s.batch)),
        q(static_cast<double>(s.q_len)),
        kv(static_cast<double>(s.kv_len)),
        heads(static_cast<double>(s.heads)),
        kv_heads(static_cast<double>(s.kv_heads)),
        dim(static_cast<double>(s.head_dim)),
        element(element_size(kernel.dtype).value()) {}
};

/// Bytes that come from device memory; the rest was left in L2 by the same call before.
Bytes from_memory(const Kernel& kernel, const Device& device, const PredictContext& context) {
  const Bytes bytes = traffic(kernel).total();
  if (context.residency == Residency::cold) return bytes;
  return bytes * spilled_share(bytes, device.spec.l2, kSetSpill);
}

BlockFootprint prefill_block(const Sizes& s, const Device& device) {
  const bool wide = device.spec.matrix_unit == MatrixUnit::wgmma || device.spec.matrix_unit == MatrixUnit::tcgen05;
  const double keys = s.dim <= 128 ? kKeyStep : kKeyStep / 2;
  BlockFootprint block;
  block.threads = wide ? 384 : 128;
  block.registers_per_thread = wide ? 168 : 240;
  block.shared_memory = min(Bytes((kQueryRows + 2 * keys) * s.dim * s.element), device.spec.shared_memory_per_sm);
  return block;
}

/// Query-key pairs that blocks of 128 queries compute, masked ones in the last steps included.
double computed_pairs(const Sizes& s, bool causal) {
  const double blocks = std::ceil(s.q / kQueryRows);
  const double all = blocks * kQueryRows * std::ceil(s.kv / kKeyStep) * kKeyStep;
  if (!causal) return all;
  const double before = s.kv - s.q;
  return std::min(all, kQueryRows * (blocks * before + kQueryRows * blocks * (blocks + 1) / 2));
}

/// What makes up the closed form of a prefill, or of its backward.
struct PrefillTerms {
  Flops executed;
  Seconds longest, exponentials, memory, base;
};

PrefillTerms prefill_terms(const Sizes& s, double pairs, double blocks, bool backward, Bytes hbm, Bytes all,
                           Dtype dtype, const Device& device, const FamilyWeights& weights) {
  const double sms = device.spec.sms, gemms = backward ? 5 : 2;
  const FlopsPerSec rate = device.sustained_of(dtype) * (backward ? kBackwardRate : 1.0);
  const Hertz clock = device.spec.boost_clock;
  PrefillTerms terms;
  terms.executed = Flops(2 * gemms * s.dim * pairs);
  terms.exponentials = pairs * (gemms / 2) / (kExpPerClock * sms * clock);  // backward: other work per score instead
  const Seconds mean =
      terms.executed / rate + terms.exponentials + std::max(blocks / sms, 1.0) * constant(weights, 2) / clock;
  terms.longest = Flops(2 * gemms * s.dim * kQueryRows * s.kv) / (rate / sms) +
                  std::ceil(s.kv / kKeyStep) * constant(weights, 3) / clock;
  terms.memory = hbm / device.hbm + (all - hbm) / device.l2;
  terms.base = max(mean, terms.longest) + terms.memory;
  return terms;
}

}  // namespace

KernelAnalysis analyse_prefill(const Kernel& kernel, const Device& device, const PredictContext& context,
                               const FamilyWeights& weights) {
  const auto& shape = std::get<AttentionShape>(kernel.shape);
  const Sizes s(kernel, shape);
  const double blocks = s.batch * s.heads * std::ceil(s.q / kQueryRows);
  const double pairs = s.batch * s.heads * computed_pairs(s, shape.causal);
  const auto terms_of = [&](Op op) {
    const Kernel same{op, kernel.dtype, shape};
    return prefill_terms(s, pairs, blocks, op == Op::attention_backward, from_memory(same, device, context),
                         traffic(same).total(), kernel.dtype, device, weights);
  };
  const PrefillTerms own = terms_of(kernel.op);

  KernelAnalysis out;
  out.footprint = prefill_block(s, device);
  out.blocks = static_cast<std::int64_t>(blocks);
  out.blocks_per_sm = resident_blocks(device.spec, out.footprint);
  out.executed = own.executed;
  out.hbm_bytes = from_memory(kernel, device, context);
  out.base = own.base;
  out.floor = floor_of(device, context, weights);

  // No backward was measured: it takes the correction of its forward.
  const PrefillTerms forward = kernel.op == Op::attention_backward ? terms_of(Op::attention_prefill) : own;
  const double per_sm = blocks / device.spec.sms, rounds = std::ceil(per_sm);
  out.inputs = {log_of(forward.memory / forward.base),
                log_of(forward.exponentials / forward.base),
                log_of(forward.longest / forward.base),
                log_of(rounds),
                log_of(per_sm / rounds),
                log_of(s.q),
                log_of(s.heads / s.kv_heads),
                log_of(s.batch * s.heads),
                log_of(s.dim),
                log_of(forward.base / out.floor),
                matrix_unit_class(device.spec)};
  return out;
}

KernelAnalysis analyse_decode(const Kernel& kernel, const Device& device, const PredictContext& context,
                              const FamilyWeights& weights) {
  const Sizes s(kernel, std::get<AttentionShape>(kernel.shape));
  const double sms = device.spec.sms, pairs_of_heads = s.batch * s.kv_heads;
  const double wanted = std::ceil(kFill * sms / pairs_of_heads), possible = std::ceil(s.kv / kSplitKeys);
  const double splits = std::max(1.0, std::min(wanted, possible)), blocks = pairs_of_heads * splits;

  KernelAnalysis out;
  out.footprint = {.threads = 128, .registers_per_thread = 128, .shared_memory = Bytes(32 * 1024)};
  out.blocks = static_cast<std::int64_t>(blocks);
  out.blocks_per_sm = resident_blocks(device.spec, out.footprint);
  out.executed = flops(kernel);
  out.hbm_bytes = from_memory(kernel, device, context);
  const Hertz clock = device.spec.boost_clock;
  const double steps = std::ceil(s.kv / splits / kKeyStep);
  const Bytes all = traffic(kernel).total();
  const Seconds memory = out.hbm_bytes / device.hbm + (all - out.hbm_bytes) / device.l2;
  const Seconds per_block = (constant(weights, 2) + constant(weights, 3) * steps) / clock;
  const Seconds on_sm = std::max(blocks / sms, 1.0) * per_block + out.executed / device.sustained_of(kernel.dtype);
  const Seconds latency = steps * constant(weights, 4) / clock;
  const Seconds reduction(splits > 1 ? constant(weights, 5) : 0);
  out.base = Seconds(std::hypot(memory.value(), on_sm.value())) + latency + reduction;
  out.floor = floor_of(device, context, weights);

  out.inputs = {log_of(out.base / out.floor),
                log_of(memory / out.base),
                log_of(on_sm / out.base),
                log_of(s.kv),
                log_of(s.batch),
                log_of(s.heads / s.kv_heads),
                log_of(s.kv_heads),
                log_of(s.dim),
                log_of(splits),
                matrix_unit_class(device.spec)};
  return out;
}

}  // namespace tessera
