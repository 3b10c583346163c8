#include <gtest/gtest.h>

#include "models/device.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/models/price.hpp"

namespace tessera {
namespace {

constexpr std::array kGpus{"A100-SXM-80GB", "L40S", "H100-SXM-80GB", "B200-SXM-180GB", "V100-PCIE-32GB", "MI300X"};
constexpr PredictContext kRotated{Timing::graph, Residency::rotated};

Dtype half(std::string_view gpu) {
  return find_gpu(gpu).peak_of(Dtype::bf16).value() > 0 ? Dtype::bf16 : Dtype::fp16;
}

KernelCost prefill(AttentionShape shape, std::string_view gpu, Op op = Op::attention_prefill) {
  shape.kv_len = shape.q_len;
  return price({op, half(gpu), shape}, gpu);
}

KernelCost decode(const AttentionShape& shape, std::string_view gpu, PredictContext context = kInModel) {
  return price({Op::attention_decode, half(gpu), shape}, gpu, context);
}

double ratio(const KernelCost& a, const KernelCost& b) {
  return a.time.p50 / b.time.p50;
}

TEST(Attention, TheCausalMaskHalvesALongPrefill) {
  AttentionShape shape{.batch = 4, .q_len = 16384, .heads = 32, .kv_heads = 32, .head_dim = 128};
  for (const char* gpu : kGpus) {
    const KernelCost causal = prefill(shape, gpu);
    shape.causal = false;
    EXPECT_NEAR(ratio(causal, prefill(shape, gpu)), 0.5, 0.07) << gpu;
    shape.causal = true;
  }
}

TEST(Attention, PrefillGrowsWithTheSquareOfALongSequence) {
  for (const char* gpu : kGpus) {
    const AttentionShape shape{.batch = 4, .q_len = 8192, .heads = 32, .kv_heads = 8, .head_dim = 128};
    AttentionShape twice = shape;
    twice.q_len *= 2;
    EXPECT_NEAR(ratio(prefill(twice, gpu), prefill(shape, gpu)), 4, 0.6) << gpu;
  }
}

TEST(Attention, PrefillNeverBeatsTheMatrixUnitsPeak) {
  for (const char* gpu : kGpus) {
    for (const std::int64_t dim : {64, 128, 256}) {
      const AttentionShape shape{
          .batch = 8, .q_len = 16384, .kv_len = 16384, .heads = 32, .kv_heads = 32, .head_dim = dim};
      const Kernel kernel{Op::attention_prefill, half(gpu), shape};
      EXPECT_GT(price(kernel, gpu).time.p50, flops(kernel) / find_gpu(gpu).peak_of(half(gpu))) << gpu << " " << dim;
    }
  }
}

TEST(Attention, TheBackwardTakesAboutThreeTimesTheForward) {
  // 5 GEMMs against 2, at 63/73 of the rate: 2.9 (FlashAttention-2, section 4.1).
  const AttentionShape shape{.batch = 8, .q_len = 8192, .heads = 32, .kv_heads = 32, .head_dim = 128};
  for (const char* gpu : kGpus) {
    EXPECT_NEAR(ratio(prefill(shape, gpu, Op::attention_backward), prefill(shape, gpu)), 2.9, 0.5) << gpu;
  }
}

TEST(Attention, LongDecodeIsLinearInCacheLengthAndBatch) {
  const AttentionShape shape{.batch = 64, .q_len = 1, .kv_len = 16384, .heads = 32, .kv_heads = 32, .head_dim = 128};
  for (const char* gpu : kGpus) {
    AttentionShape longer = shape, wider = shape;
    longer.kv_len *= 2;
    wider.batch *= 2;
    EXPECT_NEAR(ratio(decode(longer, gpu), decode(shape, gpu)), 2, 0.15) << gpu;
    EXPECT_NEAR(ratio(decode(wider, gpu), decode(shape, gpu)), 2, 0.15) << gpu;
  }
}

TEST(Attention, LongDecodeReadsTheCacheAtTheReachableBandwidth) {
  for (const char* gpu : kGpus) {
    const AttentionShape shape{.batch = 64, .q_len = 1, .kv_len = 32768, .heads = 32, .kv_heads = 32, .head_dim = 128};
    const Kernel kernel{Op::attention_decode, half(gpu), shape};
    const Seconds stream = traffic(kernel).total() / derive_device(find_gpu(gpu)).hbm;
    EXPECT_NEAR(price(kernel, gpu).time.p50 / stream, 1, 0.3) << gpu;
  }
}

TEST(Attention, SharedKeyHeadsAreCheaperToDecode) {
  for (const char* gpu : kGpus) {
    double before = 0;
    for (const std::int64_t kv_heads : {1, 2, 4, 8, 16, 32}) {
      const AttentionShape shape{
          .batch = 64, .q_len = 1, .kv_len = 8192, .heads = 32, .kv_heads = kv_heads, .head_dim = 128};
      const double time = decode(shape, gpu).time.p50.value();
      EXPECT_GT(time, before) << gpu << " " << kv_heads;
      before = time;
    }
  }
}

TEST(Attention, ASmallCacheStaysInL2BetweenCalls) {
  const AttentionShape shape{.batch = 2, .q_len = 1, .kv_len = 1024, .heads = 32, .kv_heads = 8, .head_dim = 128};
  const Bytes compulsory = traffic({Op::attention_decode, Dtype::bf16, shape}).total();
  EXPECT_LT(decode(shape, "H100-SXM-80GB", kRotated).hbm_bytes, 0.1 * compulsory);
  EXPECT_DOUBLE_EQ(decode(shape, "H100-SXM-80GB").hbm_bytes.value(), compulsory.value());
}

TEST(Attention, ErrorBarsEncloseTheMedianAndGrowOutsideTheFittedRange) {
  const AttentionShape usual{.batch = 4, .q_len = 2048, .heads = 32, .kv_heads = 8, .head_dim = 128};
  AttentionShape unusual = usual;
  unusual.q_len = 1 << 20;
  const KernelCost inside = prefill(usual, "H100-SXM-80GB"), outside = prefill(unusual, "H100-SXM-80GB");
  EXPECT_LT(inside.time.p10, inside.time.p50);
  EXPECT_LT(inside.time.p50, inside.time.p90);
  EXPECT_EQ(inside.provenance, Provenance::fitted);
  EXPECT_EQ(outside.provenance, Provenance::extrapolated);
  EXPECT_GT(outside.time.p90 / outside.time.p10, inside.time.p90 / inside.time.p10);
}

TEST(Attention, AnEmptyShapeIsRefused) {
  EXPECT_THROW(prefill({.batch = 1, .q_len = 0, .heads = 8, .kv_heads = 8, .head_dim = 64}, "H100-SXM-80GB"), RunError);
  EXPECT_THROW(decode({.batch = 0, .q_len = 1, .kv_len = 8, .heads = 8, .kv_heads = 8, .head_dim = 64}, "L40S"),
               RunError);
}

}  // namespace
}  // namespace tessera
