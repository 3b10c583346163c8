// Predictions against measured data that is not part of the repository: TESSERA_DATA names its folder.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/latency_model.hpp"
#include "sim/app/validation/render.hpp"
#include "sim/app/validation/validation.hpp"

namespace tessera {
namespace {

class Accuracy : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("TESSERA_DATA");
    if (data == nullptr) GTEST_SKIP() << "set TESSERA_DATA to the folder of measurements";
    folder_ = std::filesystem::path(data) / "validate";
  }

  /// Mean abs % error; the table goes to the log.
  ValidationReport report(const std::string& file, const std::string& where, std::vector<std::string> by = {},
                          const std::string& measure = {}) {
    ValidationOptions options{
        .files = {folder_ / file}, .where = where, .measure = measure, .by = std::move(by), .defaults = {}};
    ValidationReport result = validate(options, *make_latency_model());
    std::cout << text_table(result);
    return result;
  }

  std::filesystem::path folder_;
};

/// NeuSight's own error on these rows is 10.16 % (its published predictions).
TEST_F(Accuracy, WholeModels) {
  const ValidationReport clean = report("models.csv", "split=headline,suspect=0", {"gpu", "mode"});
  EXPECT_EQ(clean.overall.n, 43u);
  EXPECT_LE(clean.overall.mape, 8.5);
}

/// Bars of whole models come from errors of kernels on GPUs left out, and nothing was fitted on these rows.
TEST_F(Accuracy, BarsOfWholeModelsHoldAboutAsManyRowsAsTheyClaim) {
  const Metrics clean = report("models.csv", "split=headline,suspect=0").overall;
  EXPECT_GE(clean.coverage, 65);
  EXPECT_LE(clean.coverage, 95);
}

TEST_F(Accuracy, BackwardPasses) {
  EXPECT_LE(report("models.csv", "mode=train,split=headline,suspect=0", {}, "bw_ms").overall.mape, 8.0);
}

TEST_F(Accuracy, EveryModelRowIsPredictedOrListed) {
  const ValidationReport all = report("models.csv", "", {"split"});
  std::size_t unsupported = 0;
  for (const Unsupported& u : all.unsupported) unsupported += u.rows;
  EXPECT_EQ(all.overall.n + unsupported, all.files.front().table.rows());
}

/// A GPU that no fit of fp32 kernels has seen.
TEST_F(Accuracy, LinearOnAnUnseenGpu) {
  EXPECT_LE(report("linear.csv.gz", "gpu=A100-PCIE-80GB").overall.mape, 18.0);
}

TEST_F(Accuracy, BmmOnAnUnseenGpu) {
  EXPECT_LE(report("bmm.csv.gz", "gpu=A100-PCIE-80GB").overall.mape, 18.0);
}

}  // namespace
}  // namespace tessera
