// Matrix multiplications on a GPU that the fit never saw; bounds are this project's acceptance bars or what it
// measured.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "calibration/fit.hpp"
#include "models/latency_model.hpp"
#include "sim/app/validation/render.hpp"
#include "sim/app/validation/validation.hpp"

namespace tessera {
namespace {

class LeftOutGemm : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("TESSERA_DATA");
    if (data == nullptr) GTEST_SKIP() << "set TESSERA_DATA to the folder of measurements";
    data_ = data;
    weights_ = std::filesystem::temp_directory_path() /
               (std::string("tessera_left_out_gemm_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(weights_);
  }
  void TearDown() override {
    if (!weights_.empty()) std::filesystem::remove_all(weights_);
  }

  /// Mean abs % error on the GPU's rows of one file of a model that never saw it.
  double without(const std::string& gpu, const std::string& family, const std::string& file,
                 const std::string& where = "") {
    fit({.data = data_,
         .out = weights_,
         .leave_out = {gpu},
         .families = {family},
         .error_table = false,
         .progress = {}});
    const ValidationOptions options{.files = {data_ / "validate" / file},
                                    .where = "gpu=" + gpu + where,
                                    .measure = {},
                                    .by = {"dtype"},
                                    .defaults = {}};
    const ValidationReport report = validate(options, *make_latency_model("tile", weights_));
    std::cout << gpu << " left out of " << family << "\n" << text_table(report);
    return report.overall.mape;
  }

  std::filesystem::path data_, weights_;
};

TEST_F(LeftOutGemm, LinearAndBmmOfA100With80GB) {
  EXPECT_LE(without("A100-PCIE-80GB", "gemm_simt", "linear.csv.gz"), 8.0);
  EXPECT_LE(without("A100-PCIE-80GB", "gemm_simt", "bmm.csv.gz"), 8.0);
}

TEST_F(LeftOutGemm, LinearOfAWholeGeneration) {
  EXPECT_LE(without("V100-PCIE-32GB", "gemm_simt", "linear.csv.gz"), 18.0);
  EXPECT_LE(without("T4", "gemm_simt", "linear.csv.gz"), 18.0);
}

TEST_F(LeftOutGemm, Bf16OfH100) {
  EXPECT_LE(without("H100-SXM-80GB", "gemm_matrix", "gemm.csv.gz", ",dtype=bf16"), 13.0);
}

TEST_F(LeftOutGemm, Bf16OfA100AndB200) {
  EXPECT_LE(without("A100-SXM-80GB", "gemm_matrix", "gemm.csv.gz", ",dtype=bf16"), 18.0);
  EXPECT_LE(without("B200-SXM-180GB", "gemm_matrix", "gemm.csv.gz", ",dtype=bf16"), 20.0);
}

}  // namespace
}  // namespace tessera
