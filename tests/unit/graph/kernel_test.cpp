#include "sim/graph/kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unordered_set>

namespace tessera {
namespace {

Kernel gemm(std::int64_t m, std::int64_t n, std::int64_t k, Dtype dtype = Dtype::fp32, bool bias = false) {
  return {bias ? Op::linear : Op::gemm, dtype, GemmShape{.m = m, .n = n, .k = k, .bias = bias}};
}
Kernel attention(Op op, std::int64_t q, std::int64_t kv, bool causal = true) {
  return {op, Dtype::bf16,
          AttentionShape{
              .batch = 2, .q_len = q, .kv_len = kv, .heads = 8, .kv_heads = 2, .head_dim = 64, .causal = causal}};
}
Kernel vector(Op op, std::int64_t rows, std::int64_t h, Dtype dtype = Dtype::fp32) {
  return {op, dtype, VectorShape{rows, h}};
}

TEST(Kernel, NamesOfOpsReadBack) {
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    EXPECT_EQ(parse_op(to_string(op)), op);
  }
  EXPECT_EQ(parse_op("gemv"), std::nullopt);
}

TEST(Kernel, GemmWorkAndTraffic) {
  const Kernel k = gemm(3, 5, 7, Dtype::bf16, true);
  EXPECT_EQ(flops(k).value(), 2.0 * 3 * 5 * 7);
  EXPECT_EQ(traffic(k).read.value(), 2.0 * (3 * 7 + 7 * 5 + 5));
  EXPECT_EQ(traffic(k).written.value(), 2.0 * 3 * 5);
  // 8-bit operands, 16-bit result
  EXPECT_EQ(traffic(gemm(3, 5, 7, Dtype::fp8)).total().value(), 3 * 7 + 7 * 5 + 2 * 3 * 5);
  const Kernel batched{Op::bmm, Dtype::fp32, GemmShape{.batch = 4, .m = 3, .n = 5, .k = 7}};
  EXPECT_EQ(flops(batched).value(), 4 * flops(gemm(3, 5, 7)).value());
}

TEST(Kernel, CausalAttentionCountsTheUnmaskedPairs) {
  // Query i of 3 sees 5 - 2 + i keys: 3 + 4 + 5 pairs; 2 GEMMs x 2 x batch x heads x head_dim
  EXPECT_EQ(flops(attention(Op::attention_prefill, 3, 5)).value(), 2.0 * 2 * 2 * 8 * 64 * (3 + 4 + 5));
  EXPECT_EQ(flops(attention(Op::attention_prefill, 3, 5, false)).value(), 2.0 * 2 * 2 * 8 * 64 * (3 * 5));
  // One new token after 5 cached ones sees all 6.
  EXPECT_EQ(flops(attention(Op::attention_decode, 1, 5)).value(), 2.0 * 2 * 2 * 8 * 64 * 6);
  EXPECT_EQ(flops(attention(Op::attention_backward, 3, 5)).value(),
            2.5 * flops(attention(Op::attention_prefill, 3, 5)).value());
}

TEST(Kernel, AttentionTraffic) {
  const double q = 2.0 * 3 * 8 * 64, kv = 2.0 * 2 * 5 * 2 * 64;
  EXPECT_EQ(traffic(attention(Op::attention_prefill, 3, 5)).total().value(), 2 * (2 * q + kv));
  // q, o, do, k, v and 4 B a row in; dq, dk, dv out
  EXPECT_EQ(traffic(attention(Op::attention_backward, 3, 5)).total().value(),
            2 * (3 * q + kv) + 4 * 2 * 3 * 8 + 2 * (q + kv));
}

TEST(Kernel, LatentAttentionMultipliesPerHeadInPrefillAndWithTheCacheInDecode) {
  const MlaShape shape{.batch = 2, .q_len = 3, .kv_len = 5, .heads = 8};
  const Kernel prefill{Op::mla_prefill, Dtype::bf16, shape};
  // 3 + 4 + 5 pairs; keys of 128 + 64, values of 128.
  EXPECT_EQ(flops(prefill).value(), 2.0 * (192 + 128) * 2 * 8 * (3 + 4 + 5));
  EXPECT_EQ(traffic(prefill).total().value(), 2.0 * 2 * 8 * (3 * 192 + 5 * (192 + 128) + 3 * 128));
  const Kernel decode{Op::mla_decode, Dtype::bf16, MlaShape{.batch = 2, .q_len = 1, .kv_len = 5, .heads = 8}};
  // 6 cached vectors of 512 + 64 that all heads read; the values are their first 512.
  EXPECT_EQ(flops(decode).value(), 2.0 * (576 + 512) * 2 * 8 * 6);
  EXPECT_EQ(traffic(decode).total().value(), 2.0 * 2 * (8 * 576 + 6 * 576 + 8 * 512));
}

TEST(Kernel, ElementwiseTrafficCountsOperands) {
  const double n = 6 * 10;
  EXPECT_EQ(traffic(vector(Op::add, 6, 10)).total().value(), 4 * 3 * n);
  EXPECT_EQ(traffic(vector(Op::gelu, 6, 10)).total().value(), 4 * 2 * n);
  EXPECT_EQ(traffic(vector(Op::layernorm, 6, 10)).total().value(), 4 * (2 * n + 2 * 10));
  EXPECT_EQ(traffic(vector(Op::rmsnorm, 6, 10)).total().value(), 4 * (2 * n + 10));
  EXPECT_EQ(traffic(vector(Op::softmax_backward, 6, 10)).total().value(), 4 * 3 * n);
  EXPECT_EQ(traffic(vector(Op::embedding, 6, 10)).total().value(), 4 * 2 * n + 8 * 6);
  EXPECT_EQ(flops(vector(Op::softmax, 6, 10)).value(), 5 * n);
  EXPECT_EQ(flops(vector(Op::embedding, 6, 10)).value(), 0);
}

TEST(Kernel, AdamMovesTwentyEightBytesAParameter) {
  // fp32: w, g, m, v in, w, m, v out. Mixed: 2 + 4 + 4 + 4 in, 4 + 4 + 4 + 2 out.
  EXPECT_EQ(traffic(vector(Op::optimizer, 1, 1000, Dtype::fp32)).total().value(), 28000);
  EXPECT_EQ(traffic(vector(Op::optimizer, 1, 1000, Dtype::bf16)).total().value(), 28000);
}

TEST(Kernel, ConvolutionOutputFollowsStrideAndPad) {
  const ConvShape s{.batch = 2, .c_in = 3, .c_out = 4, .kernel = 3, .image = 9, .stride = 2, .pad = 1};  // 5 x 5 out
  for (const Op op : {Op::conv2d, Op::conv2d_dgrad, Op::conv2d_wgrad}) {
    EXPECT_EQ(flops({op, Dtype::fp32, s}).value(), 2.0 * 2 * 4 * 5 * 5 * 3 * 3 * 3);
  }
  EXPECT_EQ(traffic({Op::conv2d, Dtype::fp32, s}).written.value(), 4.0 * 2 * 4 * 5 * 5);
  EXPECT_EQ(traffic({Op::conv2d_dgrad, Dtype::fp32, s}).written.value(), 4.0 * 2 * 3 * 9 * 9);
  EXPECT_EQ(traffic({Op::conv2d_wgrad, Dtype::fp32, s}).written.value(), 4.0 * 4 * 3 * 3 * 3);
}

TEST(Kernel, ExpertsThatNobodyVisitsAreNotRead) {
  const auto weights = [](std::int64_t tokens) {
    const Kernel k{Op::moe, Dtype::bf16, MoeShape{.tokens = tokens, .hidden = 8, .inter = 16, .topk = 2, .experts = 4}};
    return (traffic(k).total().value() - 2.0 * 2 * static_cast<double>(tokens) * 8) / (2.0 * 3 * 8 * 16);
  };
  EXPECT_DOUBLE_EQ(weights(1), 2);               // one token, its two experts
  EXPECT_DOUBLE_EQ(weights(2), 4 * (1 - 0.25));  // 4 (1 - (1 - 2/4)^2)
  EXPECT_NEAR(weights(1000), 4, 1e-9);
  const Kernel k{Op::moe, Dtype::bf16, MoeShape{.tokens = 10, .hidden = 8, .inter = 16, .topk = 2, .experts = 4}};
  EXPECT_EQ(flops(k).value(), 2.0 * 3 * 10 * 2 * 8 * 16);
}

TEST(Kernel, HashAgreesWithEquality) {
  std::unordered_set<Kernel, KernelHash> seen;
  for (std::int64_t m = 1; m <= 20; ++m) {
    for (std::int64_t n = 1; n <= 20; ++n) {
      for (const GemmLayout layout : {GemmLayout::nn, GemmLayout::tn, GemmLayout::nt}) {
        seen.insert({Op::gemm, Dtype::fp32, GemmShape{.m = m, .n = n, .k = 3, .layout = layout}});
        seen.insert({Op::gemm, Dtype::bf16, GemmShape{.m = m, .n = n, .k = 3, .layout = layout}});
      }
    }
  }
  EXPECT_EQ(seen.size(), 20u * 20 * 3 * 2);
  EXPECT_EQ(KernelHash{}(gemm(1, 2, 3)), KernelHash{}(gemm(1, 2, 3)));
}

TEST(Kernel, Descriptions) {
  EXPECT_EQ(describe_kernel(gemm(4096, 11008, 4096, Dtype::bf16, true)), "linear bf16 m=4096 n=11008 k=4096");
  EXPECT_EQ(
      describe_kernel({Op::bmm, Dtype::fp32, GemmShape{.batch = 2, .m = 1, .n = 2, .k = 3, .layout = GemmLayout::nt}}),
      "bmm fp32 b=2 m=1 n=2 k=3 nt");
  EXPECT_EQ(describe_kernel(vector(Op::softmax, 2, 3)), "softmax fp32 rows=2 h=3");
  EXPECT_EQ(describe_kernel(attention(Op::attention_decode, 1, 5)),
            "attention_decode bf16 batch=2 q_len=1 kv_len=5 heads=8 kv_heads=2 head_dim=64");
  EXPECT_EQ(describe_kernel(attention(Op::attention_prefill, 5, 5, false)),
            "attention_prefill bf16 batch=2 q_len=5 kv_len=5 heads=8 kv_heads=2 head_dim=64 unmasked");
  EXPECT_EQ(describe_kernel({Op::memory, Dtype::fp32, MemoryShape{Bytes(8), Bytes(4)}}),
            "memory fp32 read=8 written=4");
}

TEST(KernelMistakes, SizesBeyondAnyDeviceAreNamed) {
  using ::testing::HasSubstr;
  constexpr std::int64_t kHuge = 1'000'000'000'000;
  EXPECT_EQ(*shape_error(gemm(kHuge, kHuge, kHuge)), "gemm: m is 1000000000000, expected at most 2147483648");
  EXPECT_EQ(*shape_error(gemm(1, 1, kHuge)), "gemm: k is 1000000000000, expected at most 2147483648");
  constexpr std::int64_t kLarge = std::int64_t{1} << 31;
  EXPECT_THAT(*shape_error(gemm(kLarge, kLarge, 1)), HasSubstr("of operands and results, expected at most"));
  EXPECT_EQ(shape_error(gemm(kLarge, 1, 1)), std::nullopt);
  EXPECT_THAT(*shape_error(vector(Op::add, 2 * kHuge, 1)), HasSubstr("rows is 2000000000000, expected at most"));
  EXPECT_EQ(shape_error(vector(Op::optimizer, 1, 405'000'000'000)), std::nullopt);  // all parameters of a large model
  EXPECT_THAT(*shape_error({Op::conv2d, Dtype::fp32,
                            ConvShape{.batch = 1, .c_in = 1, .c_out = 1, .kernel = 1, .image = 4, .pad = kHuge}}),
              HasSubstr("pad is 1000000000000, expected at most"));
  EXPECT_THAT(*shape_error({Op::conv2d, Dtype::fp32,
                            ConvShape{.batch = 1, .c_in = 1, .c_out = 1, .kernel = 1, .image = kLarge}}),
              HasSubstr("of operands and results, expected at most"));
  EXPECT_THAT(*shape_error({Op::moe, Dtype::bf16,
                            MoeShape{.tokens = kLarge, .hidden = 1, .inter = kLarge, .topk = 1024, .experts = 1024}}),
              HasSubstr("expected at most"));
}

TEST(KernelMistakes, EachIsNamed) {
  using ::testing::HasSubstr;
  EXPECT_EQ(shape_error(gemm(1, 1, 1)), std::nullopt);
  EXPECT_THAT(*shape_error(gemm(1, 0, 1)), HasSubstr("gemm: n is 0, expected a positive number"));
  EXPECT_THAT(*shape_error({Op::gemm, Dtype::fp32, GemmShape{.batch = 2, .m = 1, .n = 1, .k = 1}}),
              HasSubstr("b is 2, expected 1; bmm has batches"));
  EXPECT_THAT(*shape_error(vector(Op::gemm, 2, 3)), HasSubstr("gemm: has the shape of another operator (rows=2 h=3)"));
  Kernel a = attention(Op::attention_prefill, 3, 5);
  std::get<AttentionShape>(a.shape).kv_heads = 3;
  EXPECT_THAT(*shape_error(a), HasSubstr("heads 8 is not a multiple of kv_heads 3"));
  EXPECT_THAT(*shape_error(attention(Op::attention_prefill, 5, 3)), HasSubstr("kv_len 3 is less than q_len 5"));
  EXPECT_EQ(shape_error(attention(Op::attention_decode, 1, 1)), std::nullopt);
  const MlaShape latent{.batch = 1, .q_len = 5, .kv_len = 3, .heads = 8};
  EXPECT_THAT(*shape_error({Op::mla_prefill, Dtype::bf16, latent}), HasSubstr("kv_len 3 is less than q_len 5"));
  EXPECT_THAT(*shape_error({Op::mla_decode, Dtype::bf16, MlaShape{.batch = 1, .q_len = 1, .kv_len = 3}}),
              HasSubstr("heads is 0"));
  EXPECT_THAT(
      *shape_error({Op::moe, Dtype::bf16, MoeShape{.tokens = 1, .hidden = 1, .inter = 1, .topk = 3, .experts = 2}}),
      HasSubstr("topk 3 exceeds experts 2"));
  EXPECT_THAT(*shape_error({Op::conv2d, Dtype::fp32,
                            ConvShape{.batch = 1, .c_in = 1, .c_out = 1, .kernel = 7, .image = 4, .pad = 1}}),
              HasSubstr("ksize 7 is larger than the padded image of 6"));
  EXPECT_THAT(*shape_error({Op::conv2d, Dtype::fp32,
                            ConvShape{.batch = 1, .c_in = 1, .c_out = 1, .kernel = 1, .image = 4, .pad = -1}}),
              HasSubstr("pad is -1"));
  EXPECT_THAT(*shape_error({Op::memory, Dtype::fp32, MemoryShape{Bytes(-1), Bytes(4)}}), HasSubstr("reads -1 B"));
  EXPECT_THAT(*shape_error({Op::memory, Dtype::fp32, MemoryShape{}}), HasSubstr("one is positive"));
}

}  // namespace
}  // namespace tessera
