// Tile look-up, decomposition of kernels, Li's lines, Habitat's scaling; what none of them has a model for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "models/latency_model.hpp"
#include "models/neusight/habitat.hpp"
#include "models/neusight/least_squares.hpp"
#include "models/neusight/li.hpp"
#include "models/neusight/relu_net.hpp"
#include "models/neusight/tile_table.hpp"
#include "sim/base/error.hpp"

namespace tessera::neusight {
namespace {

using ::testing::HasSubstr;

Operation linear(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.kind = Kind::linear, .op = Op::linear, .b = 1, .m = m, .n = n, .k = k};
}

GpuNumbers numbers(const char* gpu) {
  return numbers_of(find_gpu(gpu));
}

TEST(NeuSightTiles, TheDevicesPeakOutweighsTheShape) {
  const TileTable table(
      {{linear(1000, 1000, 1000), "T4", {32, 32}}, {linear(64, 64, 64), "V100-PCIE-32GB", {128, 64}}});
  EXPECT_EQ(table.nearest(linear(1000, 1000, 1000), numbers("A100-PCIE-80GB")), (Tile{128, 64}));
  EXPECT_EQ(table.nearest(linear(64, 64, 64), numbers("T4")), (Tile{32, 32}));
}

TEST(NeuSightTiles, OnlyRowsOfTheSameOperatorCount) {
  const TileTable table(
      {{vector_operation(Op::add, 10, 10), "T4", {1, 512}}, {vector_operation(Op::mul, 9999, 9999), "T4", {1, 1024}}});
  EXPECT_EQ(table.nearest(vector_operation(Op::mul, 10, 10), numbers("T4")), (Tile{1, 1024}));
  EXPECT_THROW((void)table.nearest(vector_operation(Op::gelu, 10, 10), numbers("T4")), RunError);
}

TEST(NeuSightTiles, SoftmaxAndLayerNormTakeAWholeRow) {
  const TileTable empty({});
  EXPECT_EQ(empty.nearest(vector_operation(Op::softmax, 5, 777), numbers("T4")), (Tile{1, 777}));
}

TEST(NeuSightTiles, SurviveTheirFile) {
  const std::vector<TileRow> rows{{linear(3, 5, 7), "T4", {64, 32}},
                                  {vector_operation(Op::gelu, 11, 13), "P4", {1, 512}}};
  const auto path = std::filesystem::path(testing::TempDir()) / "tiles.csv.gz";
  write_tiles(path, rows);
  const TileTable read = read_tiles(path);
  ASSERT_EQ(read.rows().size(), 2u);
  EXPECT_EQ(read.nearest(linear(3, 5, 7), numbers("T4")), (Tile{64, 32}));
  EXPECT_EQ(read.nearest(rows[1].operation, numbers("P4")), (Tile{1, 512}));
}

TEST(NeuSightOperations, BackwardKernelsAreThePapersSums) {
  const auto softmax = operations_of({Op::softmax_backward, Dtype::fp32, VectorShape{4, 8}});
  ASSERT_EQ(softmax.size(), 2u);
  EXPECT_EQ(softmax[0].op, Op::mul);
  EXPECT_EQ(softmax[1].kind, Kind::softmax);
  const auto norm = operations_of({Op::layernorm_backward, Dtype::fp32, VectorShape{4, 8}});
  ASSERT_EQ(norm.size(), 1u);
  EXPECT_EQ(norm[0].op, Op::mul);
}

TEST(NeuSightOperations, WhatHasNoModelIsRefusedByName) {
  const auto message = [](const Kernel& kernel) {
    try {
      (void)operations_of(kernel);
    } catch (const RunError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message({Op::rmsnorm, Dtype::fp32, VectorShape{4, 8}}), HasSubstr("neusight has no model for rmsnorm"));
  EXPECT_THAT(message({Op::optimizer, Dtype::fp32, VectorShape{1, 8}}), HasSubstr("no model for optimizer"));
  EXPECT_THAT(message({Op::relu, Dtype::bf16, VectorShape{4, 8}}), HasSubstr("fp32 only"));
}

TEST(LeastSquares, LineThroughPoints) {
  const std::vector<std::pair<double, double>> points{{0, 1}, {1, 3}, {2, 5}};
  const Line line = least_squares(points);
  EXPECT_DOUBLE_EQ(line.slope, 2);
  EXPECT_DOUBLE_EQ(line.offset, 1);
}

TEST(Li, ReadsAnUnseenGpusRateOffItsBandwidth) {
  // Rates of 320 and 900 GB/s lie on 1 / slope = 10 x bandwidth: the A100's 1935 GB/s gives 19.35e12.
  const std::vector<LiLine> lines{{"T4", Kind::linear, 1 / 3.2e12, Seconds(1e-5)},
                                  {"V100-PCIE-32GB", Kind::linear, 1 / 9.0e12, Seconds(3e-5)}};
  const double bandwidth = find_gpu("A100-PCIE-80GB").memory_bandwidth.value();
  const LiLine line = li_line(lines, Kind::linear, find_gpu("A100-PCIE-80GB"));
  EXPECT_NEAR(line.slope * 10 * bandwidth, 1, 1e-9);
  EXPECT_EQ(line.offset.value(), 0);
  EXPECT_EQ(li_line(lines, Kind::linear, find_gpu("T4")).slope, 1 / 3.2e12);
  EXPECT_THROW((void)li_line(lines, Kind::bmm, find_gpu("T4")), RunError);
}

TEST(Li, AmountsAreFlopsOrBytes) {
  EXPECT_EQ(li_amount(linear(3, 5, 7)), 2.0 * 3 * 5 * 7);
  EXPECT_EQ(li_amount(vector_operation(Op::add, 3, 5)), 12.0 * 3 * 5);
}

TEST(Li, CommittedLinesPriceAKernel) {
  const auto model = make_latency_model("li");
  const std::vector<Kernel> kernels{{Op::gemm, Dtype::fp32, GemmShape{.batch = 1, .m = 4096, .n = 4096, .k = 4096}},
                                    {Op::memory, Dtype::fp32, MemoryShape{Bytes(0.5e9), Bytes(0.5e9)}}};
  const auto costs = model->predict(kernels, find_gpu("T4"), {});
  // 137 GFLOP at most at the T4's 8.1 TFLOP/s.
  EXPECT_GT(costs[0].time.p50.value(), 2.0 * std::pow(4096.0, 3) / 8.1e12);
  EXPECT_NEAR(costs[1].time.p50.value(), 1e9 / (320.0 * 1073741824), 1e-9);
  EXPECT_THROW((void)model->predict(kernels, find_gpu("MI100"), {}), RunError);
}

TEST(Habitat, ScalesTheOriginsTimeByBytesAndBandwidth) {
  const OriginTable table({{"V100-PCIE-32GB", vector_operation(Op::relu, 1000, 1000), Seconds(1e-3)},
                           {"P100-PCIE-16GB", vector_operation(Op::relu, 1000, 1000), Seconds(2e-3)}});
  const double v100 = find_gpu("V100-PCIE-32GB").memory_bandwidth.value();
  const GpuSpec t4 = find_gpu("T4"), own = find_gpu("V100-PCIE-32GB");
  EXPECT_NEAR(table.scaled(vector_operation(Op::relu, 2000, 1000), t4).value(),
              2e-3 * v100 / t4.memory_bandwidth.value(), 1e-12);
  EXPECT_NEAR(table.scaled(vector_operation(Op::relu, 1000, 1000), own).value(),
              2e-3 * find_gpu("P100-PCIE-16GB").memory_bandwidth.value() / v100, 1e-12);
  EXPECT_THROW((void)table.scaled(vector_operation(Op::tanh, 1, 1), t4), RunError);
}

TEST(Habitat, StandardisesByMeanAndDeviation) {
  std::vector<std::array<double, kHabitatInputs>> rows(2);
  rows[0][0] = 1;
  rows[1][0] = 5;
  const Scale scale = scale_of(rows);
  EXPECT_EQ(scale.mean[0], 3);
  EXPECT_EQ(scale.deviation[0], 2);
  std::vector<float> x;
  standardise(rows[1], scale, x);
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(x[1], 0);
}

TEST(Rivals, WithoutWeightsSayHowToFitThem) {
  for (const char* name : {"neusight", "habitat"}) {
    try {
      (void)make_latency_model(name, "/nowhere");
      FAIL() << "no weights, yet a model";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string("tessera calibrate --model ") + name));
    }
  }
}

}  // namespace
}  // namespace tessera::neusight
