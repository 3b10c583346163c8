// Readers of the sources' layouts, on files of a few lines.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <functional>
#include <string>

#include "calibration/aiconfigurator.hpp"
#include "calibration/neusight.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace tessera {
namespace {

class Readers : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() /
            (std::string("tessera_readers_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  /// A file that ends in .gz may be plain: its content decides.
  void put(const std::string& path, const std::string& text) const { write_file(root_ / path, text); }

  std::filesystem::path root_;
};

constexpr const char* kNeusightHeader = "gpu,dtype,op,b,m,k,n,tile_x,latency_ms,split\n";

TEST_F(Readers, NeusightGemms) {
  put("neusight/linear.csv.gz", std::string(kNeusightHeader) +
                                    "T4,fp32,linear,1,58,13,141,32,0.05,train\n"
                                    "P4,fp32,linear,1,58,13,141,32,0.5,train\n"
                                    "P4,fp32,linear,1,64,128,256,,0.25,test\n");
  put("neusight/bmm.csv.gz", std::string(kNeusightHeader) + "P4,fp32,bmm,6,27,21,390.0,128,0.03,train\n");
  const Dataset data = read_neusight_gemm(root_);
  ASSERT_EQ(data.samples.size(), 3U);  // P4's slow linear rows of split=train are left out
  const Sample& first = data.samples[0];
  EXPECT_EQ(data.gpus[first.gpu], "T4");
  EXPECT_TRUE(first.fit);
  EXPECT_EQ(first.kernel, (Kernel{Op::linear, Dtype::fp32,
                                  GemmShape{.m = 58, .n = 141, .k = 13, .layout = GemmLayout::tn, .bias = true}}));
  EXPECT_EQ(first.context.timing, Timing::eager);
  EXPECT_EQ(first.context.residency, Residency::warm);
  EXPECT_DOUBLE_EQ(first.time.value(), 0.05e-3);
  EXPECT_FALSE(data.samples[1].fit);
  EXPECT_EQ(
      data.samples[2].kernel,
      (Kernel{Op::bmm, Dtype::fp32, GemmShape{.batch = 6, .m = 27, .n = 390, .k = 21, .layout = GemmLayout::nn}}));
  EXPECT_NE(data.samples[1].session, data.samples[2].session);
}

TEST_F(Readers, AiconfiguratorGemms) {
  for (const AicSystem& system : aic_systems()) {
    put("kernels/aiconfigurator/" + std::string(system.folder) + "/gemm__x-1.csv.gz",
        "kernel_source,gemm_dtype,m,n,k,latency\n"
        "a,bfloat16,1,32,64,0.004\n"
        "torch_flow,fp8,1,32,64,0.004\n"
        "CutlassFP8ScaledMMLinearKernel,fp8,1,32,64,0.008\n"
        "torch_flow,nvfp4,1,32,64,0.004\n");
    put("kernels/aiconfigurator/" + std::string(system.folder) + "/gemm_other.csv", "x\n1\n");
  }
  const Dataset data = read_aic_gemm(root_);
  EXPECT_EQ(data.gpus, (std::vector<std::string>{"A100-SXM-80GB", "B200-SXM-180GB", "H100-SXM-80GB", "L40S"}));
  ASSERT_EQ(data.samples.size(), 3 * aic_systems().size());  // fp8 of the plain kernel alone
  EXPECT_EQ(data.samples[0].kernel, (Kernel{Op::gemm, Dtype::bf16, GemmShape{.m = 1, .n = 32, .k = 64}}));
  EXPECT_EQ(data.samples[0].context.timing, Timing::graph);
  EXPECT_EQ(data.samples[0].context.residency, Residency::rotated);
  EXPECT_DOUBLE_EQ(data.samples[0].time.value(), 4e-6);
  EXPECT_EQ(data.samples[1].kernel.dtype, Dtype::fp8);
  EXPECT_EQ(data.samples[2].kernel.dtype, Dtype::nvfp4);
}

TEST(Aiconfigurator, TheFileNamesTheRuntime) {
  EXPECT_EQ(aic_runtime("a/gemm__vllm-0.24.0.csv.gz"), Runtime::vllm);
  EXPECT_EQ(aic_runtime("gemm__trtllm-1.3.0rc20.csv.gz"), Runtime::trtllm);
  EXPECT_EQ(aic_runtime("gemm__elsewhere-2.csv"), Runtime::other);
}

TEST_F(Readers, MissingDataIsNamed) {
  try {
    read_neusight_gemm(root_);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("linear.csv.gz"), std::string::npos) << e.what();
  }
  try {
    read_aic_gemm(root_);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("a100_sxm"), std::string::npos) << e.what();
  }
}

std::string mistake(const std::function<void()>& read) {
  try {
    read();
  } catch (const InputError& error) {
    return to_string(error.diagnostics().front());
  }
  return "nothing was wrong";
}

TEST_F(Readers, NonsenseIsNamedWhereItStands) {
  const auto linear = [&](const std::string& row) {
    put("neusight/linear.csv.gz", kNeusightHeader + row + "\n");
    put("neusight/bmm.csv.gz", kNeusightHeader);
    return mistake([&] { read_neusight_gemm(root_); });
  };
  const std::string at = (root_ / "neusight" / "linear.csv.gz").string() + ":2";
  for (const auto& [row, column, expected] :
       {std::array{"T4,fp32,linear,1,0,13,141,32,0.05,train", "m", "expected a whole number above 0"},
        {"T4,fp32,linear,1,58,13,,32,0.05,train", "n", "expected a whole number above 0"},
        {"T4,fp32,linear,1,58,13,141,32,0,train", "latency_ms", "expected a time above 0"},
        {"T4,fp32,linear,1,58,13,141,32,-1,train", "latency_ms", "expected a time above 0"},
        {"T4,fp32,linear,1,58,13,141,32,0.05,tarin", "split", "expected train or test, found 'tarin'"}}) {
    EXPECT_EQ(linear(row).find(at), 0U) << linear(row);
    EXPECT_NE(linear(row).find(column), std::string::npos) << linear(row);
    EXPECT_NE(linear(row).find(expected), std::string::npos) << linear(row);
  }
  EXPECT_NE(linear("T4,fp32,linear,1,58,13,141,32,inf,train").find(at), std::string::npos);
  EXPECT_EQ(linear("T4,fp32,linear,1,58,13,141,32,0.05,test"),
            (root_ / "neusight").string() +
                ": error: no row to fit on: all are of another dtype, split or kind than is read");
}

TEST_F(Readers, AMissingColumnIsNamed) {
  put("neusight/linear.csv.gz", "gpu,dtype,op,b,m,k,n,latency_ms\nT4,fp32,linear,1,1,1,1,1\n");
  EXPECT_THROW(read_neusight_gemm(root_), InputError);
}

TEST(Dataset, ThinKeepsEqualDistancesPerGroup) {
  Dataset data;
  data.gpu_index("A");
  data.gpu_index("B");
  EXPECT_EQ(data.gpu_index("A"), 0);
  for (int i = 0; i < 100; ++i) {
    data.samples.push_back({.gpu = static_cast<std::uint16_t>(i < 90 ? 0 : 1),
                            .kernel = {Op::gemm, Dtype::bf16, GemmShape{.m = i + 1, .n = 1, .k = 1}},
                            .time = Seconds(1)});
  }
  const Dataset some = thin(data, 30);
  ASSERT_EQ(some.samples.size(), 40U);  // 30 of A's 90, all 10 of B
  for (std::size_t i = 1; i < 30; ++i) {
    EXPECT_EQ(
        std::get<GemmShape>(some.samples[i].kernel.shape).m - std::get<GemmShape>(some.samples[i - 1].kernel.shape).m,
        3);
  }
}

}  // namespace
}  // namespace tessera
