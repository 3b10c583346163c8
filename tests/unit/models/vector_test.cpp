#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/device.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/models/price.hpp"

namespace tessera {
namespace {

constexpr std::array kRowWise{Op::add,
                              Op::mul,
                              Op::div,
                              Op::pow,
                              Op::addu,
                              Op::mulu,
                              Op::divu,
                              Op::powu,
                              Op::relu,
                              Op::gelu,
                              Op::silu,
                              Op::tanh,
                              Op::softmax,
                              Op::layernorm,
                              Op::rmsnorm,
                              Op::softmax_backward,
                              Op::layernorm_backward,
                              Op::rmsnorm_backward,
                              Op::embedding,
                              Op::embedding_backward,
                              Op::optimizer};
constexpr std::array kGpus{"P4",   "P100-PCIE-16GB", "V100-PCIE-32GB", "T4", "A100-SXM-80GB",
                           "L40S", "H100-SXM-80GB",  "MI210"};

Kernel vector(Op op, std::int64_t rows, std::int64_t h, Dtype dtype = Dtype::fp32) {
  return {op, dtype, VectorShape{rows, h}};
}

double seconds(const Kernel& kernel, const GpuSpec& gpu, PredictContext context = kInModel) {
  return price(kernel, gpu, context).time.p50.value();
}
double seconds(const Kernel& kernel, std::string_view gpu, PredictContext context = kInModel) {
  return seconds(kernel, find_gpu(gpu), context);
}

TEST(Vector, LargeTensorsTakeTheirBytesOverTheReachableBandwidth) {
  for (const char* gpu : kGpus) {
    const Device device = derive_device(find_gpu(gpu));
    const Kernel kernel = vector(Op::add, 1 << 14, 1 << 14);
    EXPECT_NEAR(seconds(kernel, gpu), (traffic(kernel).total() / device.hbm).value(), 0.02 * seconds(kernel, gpu));
  }
}

TEST(Vector, TwiceTheRowsOrTwiceTheWidthTakesNoLess) {
  // But for the vectors of weights that all rows share: more SMs read them sooner.
  constexpr double kShared = 0.005;
  for (const char* name : kGpus) {
    const GpuSpec gpu = find_gpu(name);
    for (const Op op : kRowWise) {
      for (std::int64_t size = 16; size <= 1 << 14; size *= 4) {
        const double rows = seconds(vector(op, size, 512), gpu), width = seconds(vector(op, 512, size), gpu);
        EXPECT_GE(seconds(vector(op, 2 * size, 512), gpu), rows * (1 - kShared)) << to_string(op) << size << name;
        EXPECT_GE(seconds(vector(op, 512, 2 * size), gpu), width * (1 - kShared)) << to_string(op) << size << name;
      }
    }
  }
}

TEST(Vector, ErrorBarsEncloseTheMedian) {
  for (const Op op : kRowWise) {
    for (const std::int64_t rows : {1, 100, 1 << 20}) {
      const KernelCost cost = price(vector(op, rows, 1024), "A100-SXM-80GB");
      EXPECT_LT(cost.time.p10, cost.time.p50) << to_string(op);
      EXPECT_LT(cost.time.p50, cost.time.p90) << to_string(op);
    }
  }
}

TEST(Vector, CountsItsBlocksInWaves) {
  const GpuSpec gpu = find_gpu("A100-SXM-80GB");
  for (const Op op : kRowWise) {
    const KernelCost cost = price(vector(op, 1000, 3000), gpu);
    const double at_once = static_cast<double>(gpu.sms) * cost.blocks_per_sm;
    EXPECT_EQ(static_cast<double>(cost.waves), std::ceil(static_cast<double>(cost.blocks) / at_once)) << to_string(op);
    EXPECT_GE(cost.blocks, 1);
    EXPECT_LE(cost.footprint.threads * cost.blocks_per_sm, gpu.threads_per_sm);
  }
}

TEST(Vector, HalfTheBytesTakeHalfTheTime) {
  const double full = seconds(vector(Op::add, 1 << 14, 1 << 14), "A100-SXM-80GB");
  EXPECT_NEAR(seconds(vector(Op::add, 1 << 14, 1 << 14, Dtype::bf16), "A100-SXM-80GB"), full / 2, 0.02 * full);
}

TEST(Vector, AColdCallMovesItsCompulsoryBytes) {
  const Kernel kernel = vector(Op::gelu, 64, 1024);
  EXPECT_DOUBLE_EQ(price(kernel, "A100-SXM-80GB").hbm_bytes.value(), traffic(kernel).total().value());
}

TEST(Vector, ARepeatedCallFindsItsBytesInL2) {
  for (const Op op : kRowWise) {
    const Kernel kernel = vector(op, 64, 1024);
    const KernelCost cost = price(kernel, "A100-SXM-80GB", kRepeated);
    EXPECT_LT(cost.hbm_bytes, traffic(kernel).total()) << to_string(op);
    EXPECT_LE(cost.time.p50, price(kernel, "A100-SXM-80GB").time.p50) << to_string(op);
  }
}

TEST(Vector, PowersAreBoundByArithmeticOnP100) {
  // 52 lane cycles an element on 56 x 64 lanes at 1.303 GHz: 8 bytes at 73 % of 549 GB/s (NeuSight, powu rows).
  EXPECT_GT(seconds(vector(Op::powu, 1 << 14, 1 << 12), "P100-PCIE-16GB"),
            1.02 * seconds(vector(Op::addu, 1 << 14, 1 << 12), "P100-PCIE-16GB"));
}

TEST(Vector, EagerTimingAddsTheHostsShareToSmallCallsOnly) {
  const PredictContext eager{Timing::eager, Residency::cold};
  for (const Op op : {Op::add, Op::softmax, Op::layernorm}) {
    const Kernel small = vector(op, 8, 512), large = vector(op, 1 << 17, 1 << 10);
    EXPECT_GT(seconds(small, "A100-SXM-80GB", eager), seconds(small, "A100-SXM-80GB") + 20e-6);
    EXPECT_LT(seconds(large, "A100-SXM-80GB", eager), 1.1 * seconds(large, "A100-SXM-80GB"));
  }
}

TEST(Rows, ShortSoftmaxReadsOnceLongSoftmaxThreeTimes) {
  // A row of at most 1,024 stays in registers. 224 blocks of 4 MiB rows pass any L2 of 4 MiB: three reads, one write.
  const Kernel brief = vector(Op::softmax, 1 << 16, 1024), lengthy = vector(Op::softmax, 1 << 10, 1 << 20);
  EXPECT_DOUBLE_EQ(price(brief, "P100-PCIE-16GB").hbm_bytes.value(), traffic(brief).total().value());
  EXPECT_NEAR(price(lengthy, "P100-PCIE-16GB").hbm_bytes / traffic(lengthy).total(), 4.0 / 2.0, 0.01);
}

/// PyTorch 2.4's softmax, which AMD's rows ran, keeps a row in shared memory where its vector loads fit.
TEST(Rows, UnalignedSoftmaxTakesThreePassesOnAmdToo) {
  const auto moved = [](std::int64_t h) {
    const Kernel kernel = vector(Op::softmax, 1 << 14, h);
    return price(kernel, "MI210").hbm_bytes / traffic(kernel).total();
  };
  EXPECT_DOUBLE_EQ(moved(1 << 15), 1);
  EXPECT_GT(moved((1 << 15) + 1), 1.9);
}

/// A norm of short rows is bound by the instructions of a row, which cost Pascal's schedulers twice.
TEST(Rows, ShortNormsAreBoundByInstructions) {
  const auto cycles = [](const char* name) {
    const GpuSpec gpu = find_gpu(name);
    const std::int64_t rows = 1 << 20;
    return seconds(vector(Op::layernorm, rows, 64), gpu) * gpu.boost_clock.value() * gpu.sms /
           static_cast<double>(rows);
  };
  EXPECT_NEAR(cycles("P100-PCIE-16GB") / cycles("V100-PCIE-32GB"), 2, 0.1);
}

TEST(Rows, LayernormReadsTwiceOnlyWhereRowsInFlightSpill) {
  const Kernel kernel = vector(Op::layernorm, 1 << 16, 1024), wide = vector(Op::layernorm, 1 << 12, 1 << 16);
  EXPECT_NEAR(price(kernel, "A100-SXM-80GB").hbm_bytes / traffic(kernel).total(), 1.0, 0.02);
  EXPECT_NEAR(price(wide, "A100-SXM-80GB").hbm_bytes / traffic(wide).total(), 3.0 / 2.0, 0.02);
}

TEST(Rows, RmsnormWaitsForMemoryAtOneElementOfAThread) {
  // Serving kernels of Vidur's profiles (github.com/microsoft/vidur 7d47513): us in fp16, never fitted.
  struct Measured {
    const char* gpu;
    std::int64_t rows, h;
    double us;
  };
  for (const Measured& m : {Measured{"A100-SXM-80GB", 1024, 8192, 52}, Measured{"A100-SXM-80GB", 4096, 4096, 104},
                            Measured{"A40", 1024, 8192, 84}, Measured{"A40", 4096, 4096, 177}}) {
    EXPECT_NEAR(seconds(vector(Op::rmsnorm, m.rows, m.h, Dtype::fp16), m.gpu) * 1e6 / m.us, 1, 0.3) << m.gpu << m.h;
  }
}

TEST(Memory, LookUpsAreBoundByTheirIndicesWhereMemoryIsFast) {
  // PyTorch's embedding of 4,096 tokens and 8,192 in fp16: 448 us on A100, 401 on A40 (Vidur's profiles), although
  // their bandwidths differ by three.
  EXPECT_NEAR(seconds(vector(Op::embedding, 4096, 8192, Dtype::fp16), "A100-SXM-80GB") * 1e6 / 448, 1, 0.25);
  EXPECT_NEAR(seconds(vector(Op::embedding, 4096, 8192, Dtype::fp16), "A40") * 1e6 / 401, 1, 0.25);
}

TEST(Memory, AStepOfAdamMovesTwentyEightBytesPerElementInMixedPrecision) {
  // Reads gradient (2), master weight and two moments (12); writes these (12) and the 16-bit weight (2).
  const Kernel kernel = vector(Op::optimizer, 1, 1'000'000'000, Dtype::bf16);
  const Device device = derive_device(find_gpu("H100-SXM-80GB"));
  EXPECT_NEAR(seconds(kernel, "H100-SXM-80GB"), (Bytes(28e9) / device.hbm).value(), 0.02 * 28e9 / 3e12);
}

TEST(Memory, CopiesAddReadsAndWrites) {
  const Kernel kernel{Op::memory, Dtype::fp32, MemoryShape{Bytes(3e9), Bytes(1e9)}};
  const Device device = derive_device(find_gpu("V100-PCIE-32GB"));
  EXPECT_NEAR(seconds(kernel, "V100-PCIE-32GB"), (Bytes(4e9) / device.hbm).value(), 1e-4);
}

TEST(Memory, OneBlockCannotDrawAllOfTheBandwidth) {
  const Kernel kernel{Op::memory, Dtype::fp32, MemoryShape{Bytes(4096), Bytes(4096)}};
  const KernelCost cost = price(kernel, "H100-SXM-80GB");
  EXPECT_EQ(cost.blocks, 1);
  EXPECT_GT(cost.time.p50, derive_device(find_gpu("H100-SXM-80GB")).launch_floor);
}

TEST(Vector, AnEmptyShapeIsRefused) {
  for (const Op op : kRowWise) {
    EXPECT_THROW(price(vector(op, 0, 1024), "A100-SXM-80GB"), RunError) << to_string(op);
    EXPECT_THROW(price(vector(op, 1024, 0), "A100-SXM-80GB"), RunError) << to_string(op);
  }
}

}  // namespace
}  // namespace tessera
