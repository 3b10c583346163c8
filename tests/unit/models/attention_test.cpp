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

TEST(Attention, FlashAttention2SplitsTheKeysOfGroupedHeadsOnly) {
  // One sequence, four heads: split, the keys keep many SMs busy; unsplit, four blocks walk over all of them.
  const AttentionShape grouped{.batch = 1, .q_len = 1, .kv_len = 65536, .heads = 4, .kv_heads = 1, .head_dim = 128};
  AttentionShape single = grouped;
  single.kv_heads = 4;
  const PredictContext vllm{Timing::graph, Residency::cold, Runtime::vllm};
  for (const char* gpu : {"A100-SXM-80GB", "L40S"}) {
    EXPECT_GT(ratio(decode(single, gpu, vllm), decode(grouped, gpu, vllm)), 8) << gpu;
  }
  EXPECT_LT(ratio(decode(single, "H100-SXM-80GB", vllm), decode(grouped, "H100-SXM-80GB", vllm)), 6);
}

TEST(Attention, WithoutARuntimeTheFastestKernelDecodesInABarThatHoldsAll) {
  for (const char* gpu : {"A100-SXM-80GB", "L40S", "H200-SXM-141GB"}) {
    for (const std::int64_t kv_heads : {1, 8, 32}) {
      const AttentionShape shape{
          .batch = 8, .q_len = 1, .kv_len = 4096, .heads = 32, .kv_heads = kv_heads, .head_dim = 128};
      const auto of = [&](Runtime runtime) {
        return decode(shape, gpu, {Timing::graph, Residency::cold, runtime}).time;
      };
      const auto trtllm = of(Runtime::trtllm), vllm = of(Runtime::vllm);
      for (const Runtime unknown : {Runtime::unspecified, Runtime::pytorch}) {
        EXPECT_EQ(of(unknown).p50, min(trtllm.p50, vllm.p50)) << gpu << " " << kv_heads;
        EXPECT_EQ(of(unknown).p10, min(trtllm.p10, vllm.p10)) << gpu << " " << kv_heads;
        EXPECT_EQ(of(unknown).p90, max(trtllm.p90, vllm.p90)) << gpu << " " << kv_heads;
      }
    }
  }
  const AttentionShape shape{.batch = 8, .q_len = 1, .kv_len = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128};
  const auto source = [&](Runtime runtime) {
    return decode(shape, "L40S", {Timing::graph, Residency::cold, runtime}).provenance;
  };
  EXPECT_EQ(source(Runtime::unspecified), Provenance::fitted);
  EXPECT_EQ(source(Runtime::pytorch), Provenance::typical);
}

KernelCost latent(Op op, std::int64_t batch, std::int64_t kv_len, std::int64_t heads, std::string_view gpu) {
  return price(
      {op, Dtype::bf16,
       MlaShape{.batch = batch, .q_len = op == Op::mla_prefill ? kv_len : 1, .kv_len = kv_len, .heads = heads}},
      gpu);
}

TEST(LatentAttention, FewHeadsDecodeAsFastAsOneAndReadTheCacheOnce) {
  for (const char* gpu : {"H100-SXM-80GB", "B200-SXM-180GB"}) {
    const KernelCost one = latent(Op::mla_decode, 64, 16384, 1, gpu), many = latent(Op::mla_decode, 64, 16384, 16, gpu);
    EXPECT_NEAR(ratio(many, one), 1, 0.15) << gpu;
    const Bytes cache(2.0 * 64 * 16385 * 576);
    EXPECT_NEAR(one.hbm_bytes / cache, 1, 0.01);
    EXPECT_NEAR(one.time.p50 / (cache / derive_device(find_gpu(gpu)).hbm), 1.2, 0.4) << gpu;
  }
}

TEST(LatentAttention, AmpereAndAdaWalkOverAllKeysOfOneSequence) {
  for (const char* gpu : {"A100-SXM-80GB", "L40S"}) {
    EXPECT_NEAR(ratio(latent(Op::mla_decode, 1, 32768, 16, gpu), latent(Op::mla_decode, 1, 8192, 16, gpu)), 4, 0.6)
        << gpu;
  }
}

TEST(LatentAttention, ALongPrefillStaysBelowPeakAndGrowsWithTheSquareOfItsLength) {
  for (const char* gpu : {"A100-SXM-80GB", "L40S", "H100-SXM-80GB", "B200-SXM-180GB"}) {
    const KernelCost once = latent(Op::mla_prefill, 1, 8192, 64, gpu);
    EXPECT_NEAR(ratio(latent(Op::mla_prefill, 1, 16384, 64, gpu), once), 4, 0.6) << gpu;
    const MlaShape shape{.batch = 1, .q_len = 8192, .kv_len = 8192, .heads = 64};
    EXPECT_GT(once.time.p50, flops({Op::mla_prefill, Dtype::bf16, shape}) / find_gpu(gpu).peak_of(Dtype::bf16)) << gpu;
  }
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
