#include <gtest/gtest.h>

#include <algorithm>

#include "models/device.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/models/price.hpp"

namespace tessera {
namespace {

constexpr std::array kGpus{"P100-PCIE-16GB", "V100-PCIE-32GB", "T4", "A100-PCIE-80GB", "H100-SXM-80GB"};
constexpr ConvShape kLayer{.batch = 64, .c_in = 256, .c_out = 256, .kernel = 3, .image = 56, .stride = 1, .pad = 1};

double conv(Op op, const ConvShape& shape, std::string_view gpu, Dtype dtype = Dtype::fp32) {
  return price({op, dtype, shape}, gpu).time.p50.value();
}

KernelCost moe(const MoeShape& shape, std::string_view gpu) {
  return price({Op::moe, Dtype::bf16, shape}, gpu);
}

TEST(Conv, WinogradMayPassThePeakButNotItsOwnSaving) {
  // F(4x4, 3x3) multiplies 36 times where the direct way does 144.
  const Kernel kernel{Op::conv2d, Dtype::fp32, kLayer};
  for (const char* gpu : kGpus) {
    const Seconds direct = flops(kernel) / find_gpu(gpu).peak_of(Dtype::fp32);
    EXPECT_GT(price(kernel, gpu).time.p50 / direct, 36.0 / 144.0) << gpu;
    EXPECT_LT(price(kernel, gpu).time.p50 / direct, 4.0) << gpu;
  }
}

TEST(Conv, StridedAndWideKernelsStayBelowThePeak) {
  ConvShape strided = kLayer, wide = kLayer;
  strided.stride = 2;
  wide.kernel = 5;
  wide.pad = 2;
  for (const char* gpu : kGpus) {
    for (const ConvShape& shape : {strided, wide}) {
      const Kernel kernel{Op::conv2d, Dtype::fp32, shape};
      EXPECT_GT(price(kernel, gpu).time.p50, 0.9 * (flops(kernel) / find_gpu(gpu).peak_of(Dtype::fp32))) << gpu;
    }
  }
}

TEST(Conv, TwiceTheBatchTakesTwiceTheTime) {
  ConvShape twice = kLayer;
  twice.batch *= 2;
  for (const char* gpu : kGpus) {
    EXPECT_NEAR(conv(Op::conv2d, twice, gpu) / conv(Op::conv2d, kLayer, gpu), 2, 0.2) << gpu;
  }
}

TEST(Conv, GradientsOfASquareLayerCostAboutWhatItsForwardDoes) {
  for (const char* gpu : kGpus) {
    const double forward = conv(Op::conv2d, kLayer, gpu);
    EXPECT_NEAR(conv(Op::conv2d_dgrad, kLayer, gpu) / forward, 1, 0.1) << gpu;
    EXPECT_GT(conv(Op::conv2d_wgrad, kLayer, gpu), 0.5 * forward) << gpu;
  }
}

TEST(Conv, MatrixUnitsAreFaster) {
  EXPECT_LT(conv(Op::conv2d, kLayer, "A100-PCIE-80GB", Dtype::fp16), 0.5 * conv(Op::conv2d, kLayer, "A100-PCIE-80GB"));
}

TEST(Conv, AnEmptyShapeIsRefused) {
  ConvShape empty = kLayer;
  empty.c_out = 0;
  EXPECT_THROW(conv(Op::conv2d, empty, "T4"), RunError);
}

TEST(Moe, FewTokensReadTheWeightsOfTheExpertsThatTheyPick) {
  const MoeShape shape{.tokens = 1, .hidden = 4096, .inter = 14336, .topk = 2, .experts = 8};
  const Kernel kernel{Op::moe, Dtype::bf16, shape};
  for (const char* gpu : {"A100-SXM-80GB", "H100-SXM-80GB"}) {
    const Seconds stream = traffic(kernel).total() / derive_device(find_gpu(gpu)).hbm;
    EXPECT_NEAR(price(kernel, gpu).time.p50 / stream, 1.2, 0.3) << gpu;
  }
}

TEST(Moe, ManyTokensCostWhatTheirMultiplicationsDo) {
  MoeShape shape{.tokens = 16384, .hidden = 4096, .inter = 14336, .topk = 2, .experts = 8};
  for (const char* gpu : {"A100-SXM-80GB", "H100-SXM-80GB", "L40S"}) {
    const KernelCost once = moe(shape, gpu);
    shape.tokens *= 2;
    EXPECT_NEAR(moe(shape, gpu).time.p50 / once.time.p50, 2, 0.2) << gpu;
    shape.tokens /= 2;
    EXPECT_GT(once.time.p50, flops({Op::moe, Dtype::bf16, shape}) / find_gpu(gpu).peak_of(Dtype::bf16)) << gpu;
  }
}

TEST(Moe, MorePicksNeverCostLess) {
  double before = 0;
  for (const std::int64_t topk : {1, 2, 4, 8}) {
    const KernelCost cost = moe({.tokens = 4096, .hidden = 2048, .inter = 1408, .topk = topk, .experts = 64}, "L40S");
    EXPECT_GT(cost.time.p50.value(), before);
    EXPECT_LT(cost.time.p10, cost.time.p50);
    EXPECT_LT(cost.time.p50, cost.time.p90);
    before = cost.time.p50.value();
  }
}

}  // namespace
}  // namespace tessera
