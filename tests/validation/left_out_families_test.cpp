// The families that are not matrix multiplications, refitted without the GPU that they then predict.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "calibration/fit.hpp"
#include "models/latency_model.hpp"
#include "sim/app/validation/render.hpp"
#include "sim/app/validation/validation.hpp"

namespace tessera {
namespace {

class LeftOutFamilies : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("TESSERA_DATA");
    if (data == nullptr) GTEST_SKIP() << "set TESSERA_DATA to the folder of measurements";
    data_ = data;
    weights_ = std::filesystem::temp_directory_path() /
               ("tessera_left_out_" + std::to_string(testing::UnitTest::GetInstance()->random_seed()) + "_" +
                testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(weights_);
  }
  void TearDown() override {
    if (!weights_.empty()) std::filesystem::remove_all(weights_);
  }

  /// Mean abs % error on the GPU's rows of a model that never saw it.
  Metrics without(const std::string& gpu, const std::string& family, const std::string& file) {
    fit({.data = data_,
         .out = weights_,
         .leave_out = {gpu},
         .families = {family},
         .error_table = false,
         .progress = [](std::string_view) {}});
    return of_fitted(gpu, family, file);
  }

  /// By the weights of the last fit.
  Metrics of_fitted(const std::string& gpu, const std::string& family, const std::string& file,
                    RuntimeColumn runtime = RuntimeColumn::used) {
    const ValidationOptions options{
        .files = {data_ / "validate" / file}, .where = "gpu=" + gpu, .by = {"runtime"}, .runtime = runtime};
    const ValidationReport report = validate(options, *make_latency_model("tile", weights_));
    std::cout << gpu << " left out of " << family << "\n" << text_table(report);
    return report.overall;
  }

  /// The same over all rows of several GPUs, each left out in turn.
  double pooled(const std::string& family, const std::string& file) {
    double sum = 0, rows = 0;
    for (const char* gpu : {"P4", "P100-PCIE-16GB", "V100-PCIE-32GB", "T4", "A100-PCIE-40GB"}) {
      const Metrics metrics = without(gpu, family, file);
      sum += metrics.mape * static_cast<double>(metrics.n);
      rows += static_cast<double>(metrics.n);
    }
    return sum / rows;
  }

  std::filesystem::path data_, weights_;
};

TEST_F(LeftOutFamilies, Elementwise) {
  EXPECT_LE(pooled("vector", "elementwise.csv.gz"), 10.0);
}
TEST_F(LeftOutFamilies, Softmax) {
  EXPECT_LE(pooled("rows", "softmax.csv.gz"), 10.0);
}
TEST_F(LeftOutFamilies, Layernorm) {
  EXPECT_LE(pooled("rows", "layernorm.csv.gz"), 10.0);
}

TEST_F(LeftOutFamilies, UnseenGpu) {
  EXPECT_LE(without("A100-PCIE-80GB", "vector", "elementwise.csv.gz").mape, 10.0);
  EXPECT_LE(without("A100-PCIE-80GB", "rows", "softmax.csv.gz").mape, 10.0);
  EXPECT_LE(without("A100-PCIE-80GB", "rows", "layernorm.csv.gz").mape, 10.0);
}

TEST_F(LeftOutFamilies, Convolution) {
  EXPECT_LE(without("A100-PCIE-80GB", "conv", "conv2d.csv.gz").mape, 25.0);
}

TEST_F(LeftOutFamilies, Prefill) {
  for (const char* gpu : {"A100-SXM-80GB", "H100-SXM-80GB", "B200-SXM-180GB"}) {
    EXPECT_LE(without(gpu, "prefill", "attention_prefill.csv.gz").mape, 17.0) << gpu;
  }
  EXPECT_LE(without("L40S", "prefill", "attention_prefill.csv.gz").mape, 28.0);
}

TEST_F(LeftOutFamilies, Decode) {
  double unstated = 0, inside = 0;  // the same number of rows of each GPU
  for (const char* gpu : {"A100-SXM-80GB", "H100-SXM-80GB", "L40S", "B200-SXM-180GB"}) {
    EXPECT_LE(without(gpu, "decode", "attention_decode.csv.gz").mape, 23.0) << gpu;
    const Metrics any = of_fitted(gpu, "decode", "attention_decode.csv.gz", RuntimeColumn::ignored);
    unstated += any.mape / 4;
    inside += any.coverage / 4;
  }
  EXPECT_LE(unstated, 20.0);
  EXPECT_GE(inside, 75.0);
}

}  // namespace
}  // namespace tessera
