// Our re-implementation of NeuSight and its baselines against rows of the artifact: TESSERA_DATA names its folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "calibration/rivals/rows.hpp"
#include "models/neusight/law.hpp"
#include "sim/app/reproduce/neusight_experiments.hpp"

namespace tessera {
namespace {

ReproduceOptions quiet() {
  ReproduceOptions options;
  options.progress = [](std::string_view) {};
  return options;
}

class NeuSightRebuilt : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("TESSERA_DATA");
    if (data == nullptr) GTEST_SKIP() << "set TESSERA_DATA to the folder of measurements";
    folder_ = data;
  }
  std::filesystem::path folder_;
};

/// The first linear row of the artifact, by hand: A100-PCIE-40GB, [58, 13] x [13, 141], kernel tile 32 along n and 128
/// along m. Blocks 1 x ceil(58 / 128) x ceil(141 / 32) = 5; one wave on 108 SMs.
TEST_F(NeuSightRebuilt, FeaturesOfARowAreThoseMadeByHand) {
  const auto rows = read_rival_rows(folder_, neusight::Kind::linear, {});
  EXPECT_EQ(rows.size(), 32224u);
  const RivalRow& row = rows.front();
  EXPECT_EQ(row.kernel.gpu, "A100-PCIE-40GB");
  EXPECT_EQ(row.kernel.tile, (neusight::Tile{128, 32}));
  const auto gpu = neusight::numbers_of(find_gpu(row.kernel.gpu));
  const auto t = neusight::tile_up(row.kernel.operation, row.kernel.tile, gpu);
  EXPECT_EQ(t.blocks, 5);
  EXPECT_EQ(t.waves, 1);
  const double gflop = 2.0 * 128 * 32 * 13 / 1e9, mib = 4.0 * (128 * 13 + 13 * 32 + 128 * 32) / 1048576;
  EXPECT_NEAR(t.inputs[0], std::log2(gflop / (19.5 / 108)), 1e-5);
  EXPECT_NEAR(t.inputs[1], std::log2(mib / (1555.0 / 108)), 1e-5);
  EXPECT_NEAR(t.inputs[2], std::log2(mib / (1024.0 * 40 / 108)), 1e-5);
  EXPECT_NEAR(t.inputs[3], std::log2(mib / (1024.0 * 40 / 108)), 1e-5);  // 40 GB of memory, 40 MB of L2
  const double padded = 2.0 * 128 * 13 * 160 / 1e9, bytes = 4.0 * (58 * 13 + 13 * 141 + 58 * 141) / 1073741824;
  EXPECT_NEAR(t.roof_gflops, std::min(19500.0, padded / bytes * 1555), 1e-6);
}

TEST_F(NeuSightRebuilt, TrainsOnAsManyRowsAsThePaper) {
  EXPECT_EQ(read_rival_rows(folder_, neusight::Kind::bmm, {}).size(), 87623u);
  EXPECT_EQ(read_rival_rows(folder_, neusight::Kind::elementwise, {}).size(), 8250u);
  EXPECT_EQ(read_rival_rows(folder_, neusight::Kind::softmax, {}).size(), 1500u);
  EXPECT_EQ(read_rival_rows(folder_, neusight::Kind::layernorm, {}).size(), 1505u);
}

/// The artifact's own Li et al. and ours are the same lines, on the GPUs they were fitted on and on others: operators
/// inside models get the same mean error.
TEST_F(NeuSightRebuilt, LinesGiveTheErrorsOfThePublishedOnes) {
  NeuSightData data(folder_);
  const Contenders all = contenders(quiet());
  const Comparison operators = compare_operators(data, all, quiet());
  const auto index = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(operators.methods, name) - operators.methods.begin());
  };
  for (const char* op : {"bmm", "linear", "softmax", "layernorm"}) {
    const auto errors =
        errors_of(operators, [&](const Entry& e) { return e.key("where") != "amd" && e.key("op") == op; });
    EXPECT_GT(errors[index("Li et al.")].n, 0u);
    EXPECT_NEAR(errors[index("Li rebuilt")].mape, errors[index("Li et al.")].mape, 0.5) << op;
  }
}

/// NeuSight's published predictions of the runs at hand: 10.16 % on the 43 clean ones.
TEST_F(NeuSightRebuilt, PublishedPredictionsGiveThePublishedError) {
  NeuSightData data(folder_);
  const Contenders all = contenders(quiet());
  const Comparison models = compare_models(data, all, MeasuredPart::whole, quiet());
  const auto errors =
      errors_of(models, [](const Entry& e) { return e.key("split") == "headline" && e.key("suspect") == "0"; });
  EXPECT_EQ(errors[0].n, 43u);
  EXPECT_NEAR(errors[0].mape, 10.16, 0.005);
}

}  // namespace
}  // namespace tessera
