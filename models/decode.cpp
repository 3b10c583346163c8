// Attention of one new token: blocks read the cache of a key head, keys split over blocks so that all SMs have work
// (Flash-Decoding; FlashAttention-2 and -3, FlashInfer and TensorRT-LLM do it each in its way).
#include <algorithm>
#include <cmath>

#include "models/attention.hpp"
#include "models/attention_sizes.hpp"
#include "models/occupancy.hpp"

namespace tessera {

namespace {

// Keys of one split at least, and blocks per SM that fill a GPU.
constexpr double kSplitKeys = 256, kFill = 2;
constexpr double kUnitWidth = 128;
// Reading the cache and what blocks cost their SMs overlap in part: exponent of their sum.
constexpr double kOverlap = 1.5;
// Above this many heads per key head TensorRT-LLM's grouped kernels end and every head runs on its own.
constexpr double kGroupMax = 32;

double constant(const FamilyWeights& weights, DecodeConstant which) {
  return weights.constants[static_cast<std::size_t>(which)].second;
}

/// The kernel that a runtime takes for one new token.
struct DecodeWay {
  bool lanes = false;       // dot products on fp32 lanes, every head on its own (TensorRT-LLM's masked MHA)
  bool splits = true;       // FlashAttention-2 under vLLM splits the keys of grouped heads only
  bool pipelined = false;   // persistent blocks that load the next tile under the present one
  bool overlapped = false;  // the reduction is launched while the splits still run
};

DecodeWay way_of(const AttentionSizes& s, const Device& device, Runtime runtime) {
  const MatrixUnit unit = device.spec.matrix_unit;
  DecodeWay way;
  way.pipelined = unit == MatrixUnit::tcgen05;
  way.overlapped = way.pipelined || unit == MatrixUnit::wgmma;
  way.lanes = runtime == Runtime::trtllm && ((s.group() == 1 && !way.pipelined) || s.group() > kGroupMax);
  way.splits = way.overlapped || runtime != Runtime::vllm || s.group() > 1;
  return way;
}

/// How the cache is cut.
struct DecodeCut {
  double splits = 1, blocks = 1, steps = 1;  // steps of 64 keys per block
};

DecodeCut cut(const AttentionSizes& s, const DecodeWay& way, double sms) {
  const double heads = s.batch * (way.lanes ? s.heads : s.kv_heads);
  const double wanted = std::ceil(kFill * sms / heads), possible = std::ceil(s.kv / kSplitKeys);
  DecodeCut c;
  c.splits = way.splits ? std::max(1.0, std::min(wanted, possible)) : 1;
  c.blocks = heads * c.splits;
  c.steps = std::ceil(s.kv / c.splits / kKeyStep);
  return c;
}

struct DecodeTerms {
  Seconds memory, on_sm, base;
};

DecodeTerms decode_terms(const AttentionSizes& s, const DecodeWay& way, const DecodeCut& c, const KernelAnalysis& out,
                         Bytes all, Dtype dtype, const Device& device, const FamilyWeights& weights) {
  using enum DecodeConstant;
  const auto of = [&](DecodeConstant which) { return constant(weights, which); };
  const double width = s.dim / kUnitWidth, share = way.pipelined ? of(pipelined) : 1;
  const Hertz clock = device.spec.boost_clock;
  const double read = way.lanes ? s.group() : 1;  // times that L2 is asked for a key
  DecodeTerms terms;
  terms.memory = out.hbm_bytes / (device.hbm * of(cache_bandwidth_share)) +
                 (all * read - out.hbm_bytes) / (device.l2 * of(regrouped_l2_share));
  const Seconds flash((of(block) + width * (of(block_per_128) + of(step) * c.steps)) * share);
  const Seconds per_block = way.lanes ? (1 + width) * of(lanes_block_cycles) / clock : flash;
  terms.on_sm = c.blocks / device.spec.sms * per_block + out.executed / device.sustained_of(dtype);
  const Seconds latency(c.steps * (way.splits ? of(step_latency) : width * of(unsplit_step)) * share);
  const double reduction = c.splits > 1 ? of(reduction_cycles) * (way.overlapped ? of(overlapped_reduction) : 1) : 0;
  const double both = std::pow(1 + std::pow(terms.on_sm / terms.memory, kOverlap), 1 / kOverlap);
  terms.base = terms.memory * both + latency + reduction / clock;
  return terms;
}

}  // namespace

KernelAnalysis analyse_decode(const Kernel& kernel, const Device& device, const PredictContext& context,
                              const FamilyWeights& weights) {
  const AttentionSizes s(std::get<AttentionShape>(kernel.shape), kernel.dtype);
  const DecodeWay way = way_of(s, device, context.runtime);
  const DecodeCut c = cut(s, way, device.spec.sms);
  const Bytes all = traffic(kernel).total();

  KernelAnalysis out;
  out.footprint = {.threads = 128, .registers_per_thread = 128, .shared_memory = Bytes(32 * 1024)};
  out.blocks = static_cast<std::int64_t>(c.blocks);
  out.blocks_per_sm = resident_blocks(device.spec, out.footprint);
  out.executed = flops(kernel);
  out.hbm_bytes = attention_from_memory(all, device, context);
  const DecodeTerms terms = decode_terms(s, way, c, out, all, kernel.dtype, device, weights);
  out.base = terms.base;
  out.floor = attention_floor(device, context, weights);
  out.inputs = {log_of(out.base / out.floor),
                log_of(terms.memory / out.base),
                log_of(terms.on_sm / out.base),
                log_of(s.kv),
                log_of(s.batch),
                log_of(s.group()),
                s.group() > 1 ? 1.0F : 0.0F,
                log_of(s.kv_heads),
                log_of(s.dim),
                log_of(c.splits),
                log_of(c.blocks / device.spec.sms),
                matrix_unit_class(device.spec)};
  return out;
}

}  // namespace tessera
