// A checkout of NeuSight's own repository, in invented files of its layout, read as the repackaged tables are.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "calibration/neusight.hpp"
#include "calibration/neusight_repository.hpp"
#include "calibration/rivals/rows.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace tessera {
namespace {

const std::string kLaunch = "Torch Version,CUDNN Version,Kernel Name,Warps per SM,Blocks per SM,Grid x,Grid y,Grid z,";
const std::string kHeader = "OPName,Latency,Device," + kLaunch + "Block x,Block y,Block z,CUDA Version,";
const std::string kLinear = kHeader + "Kernels,B,M,N,K\n", kVector = kHeader + "B,H\n";
const std::string kConv = kHeader + "Kernels,B,Input_Channel,Output_Channel,Kernel_Szie,Input_Size,Stride,Padding\n";

/// "linear,LATENCY,DEVICE,...,KERNEL,...,GRID,1,1,..."
std::string row(const std::string& op, const std::string& time, const std::string& device, const std::string& kernel,
                int grid, const std::string& rest) {
  return op + "," + time + "," + device + ",p2.1.0,8902," + kernel + ",1,1," + std::to_string(grid) +
         ",1,1,256,1,1,cu121," + rest + "\n";
}

class NeuSightRepository : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() /
            (std::string("tessera_checkout_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "neusight" / "Tracing");  // its package, not our tables
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void put(const std::string& path, const std::string& text) const {
    write_file(root_ / "scripts/asplos/data/dataset" / path, text);
  }
  void put_linear() const {
    put("train/collect/linear/p2.1.0/Tesla T4.csv",
        kLinear + row("linear", "0.0123456789", "Tesla T4", "ampere_sgemm_32x128_tn", 4, ";k,1,256,512,64"));
    put("test/linear.csv",
        kLinear + row("linear", "0.5", "NVIDIA A100 80GB PCIe", "sm_tilesize64x32x8", 8, ";k,1,128,512,128"));
  }

  std::filesystem::path root_;
};

TEST_F(NeuSightRepository, IsFoundAtItsRootItsScriptsAndBelow) {
  put_linear();
  const auto scripts = root_ / "scripts" / "asplos";
  EXPECT_EQ(neusight_checkout(root_), scripts);
  EXPECT_EQ(neusight_checkout(scripts), scripts);
  EXPECT_EQ(neusight_checkout(root_ / "neusight"), std::nullopt);
}

TEST_F(NeuSightRepository, MatricesHaveTheReductionInTheMiddleAndTilesFromTheKernelsName) {
  put_linear();
  const CsvTable table = read_neusight(root_, "linear");
  ASSERT_EQ(table.rows(), 2U);
  const auto cell = [&](std::size_t at, const char* column) { return table.cell(at, table.need(column)); };
  EXPECT_EQ(cell(0, "gpu"), "T4");
  EXPECT_EQ(cell(0, "m"), "256");
  EXPECT_EQ(cell(0, "k"), "512");
  EXPECT_EQ(cell(0, "n"), "64");
  EXPECT_EQ(cell(0, "latency_ms"), "0.0123457");  // six digits, as in the repackaged tables
  EXPECT_EQ(cell(0, "split"), "train");
  EXPECT_EQ(cell(0, "tile_m"), "128");  // 256/128 x 64/32 = 4 blocks: the first number lies along n
  EXPECT_EQ(cell(0, "tile_n"), "32");
  EXPECT_EQ(cell(1, "gpu"), "A100-PCIE-80GB");
  EXPECT_EQ(cell(1, "split"), "test");
  EXPECT_EQ(cell(1, "tile_m"), "32");  // 128/32 x 128/64 = 8 blocks
}

TEST_F(NeuSightRepository, TilesAreSwappedWhereOnlyThatDividesTheGrid) {
  put("train/collect/bmm/p2.1.0/Tesla P4.csv",
      kLinear + row("bmm", "1", "Tesla P4", "maxwell_sgemm_128x32_nn", 3, "x,1,384,16,32"));
  // read along n first: 384/32 x 1 = 12 blocks, no divisor of 3; swapped: 384/128 x 32/32 = 3.
  const CsvTable table = read_neusight(root_, "bmm");
  EXPECT_EQ(table.cell(0, table.need("tile_m")), "128");
}

TEST_F(NeuSightRepository, VectorsSayWhichRowsNeuSightTrainsOn) {
  put("train/collect/ln/p2.1.0/Tesla V100-PCIE-32GB.csv",
      kVector + row("ln", "0.1", "Tesla V100-PCIE-32GB", "k", 4096, "4096,1024") +
          row("ln", "0.1", "Tesla V100-PCIE-32GB", "k", 4097, "4097,513") +
          row("ln", "0.1", "Tesla V100-PCIE-32GB", "k", 9000, "9000,512"));
  const CsvTable table = read_neusight(root_, "layernorm");
  const std::size_t trained = table.need("neusight_train");
  EXPECT_EQ(table.cell(0, trained), "0");  // 4096 rows are not more than 4096
  EXPECT_EQ(table.cell(1, trained), "1");
  EXPECT_EQ(table.cell(2, trained), "0");
  EXPECT_EQ(read_rival_rows(root_, neusight::Kind::layernorm, {}).size(), 1U);
}

TEST_F(NeuSightRepository, FeedsTheReadersOfTheFits) {
  put_linear();
  put("train/collect/bmm/p2.1.0/Tesla T4.csv",
      kLinear + row("bmm", "0.2", "Tesla T4", "volta_sgemm_64x64_nn", 6, "x,6,64,32,64"));
  put("train/collect/conv/p2.1.0/NVIDIA A100 80GB PCIe.csv",
      kConv + row("conv", "0.3", "NVIDIA A100 80GB PCIe", "k", 1, "x,8,64,128,3,56,1,1"));
  put("train/collect/conv/p2.1.0/Tesla P4.csv", kConv + row("conv", "0.6", "Tesla P4", "k", 1, "x,8,64,128,3,56,1,0"));
  const Dataset gemms = read_neusight_gemm(root_);
  ASSERT_EQ(gemms.samples.size(), 3U);
  EXPECT_TRUE(gemms.samples[0].fit);
  EXPECT_FALSE(gemms.samples[1].fit);
  const Dataset conv = read_neusight_conv(root_);
  ASSERT_EQ(conv.samples.size(), 2U);
  EXPECT_FALSE(conv.samples[0].fit);  // that GPU was not trained on
  EXPECT_TRUE(conv.samples[1].fit);
  EXPECT_EQ(std::get<ConvShape>(conv.samples[1].kernel.shape).pad, 0);
}

TEST_F(NeuSightRepository, NamesTheCellThatMakesNoSense) {
  put("train/collect/bmm/p2.1.0/Tesla T4.csv",
      kLinear + row("bmm", "0.2", "Tesla T4", "volta_sgemm_64x64_nn", 6, "x,6,none,32,64"));
  try {
    (void)read_neusight(root_, "bmm");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(error.diagnostics()[0].file.find("Tesla T4.csv"), std::string::npos);
    EXPECT_EQ(error.diagnostics()[0].line, 2);
  }
}

TEST_F(NeuSightRepository, SaysWhereATableWouldBe) {
  put_linear();
  try {
    (void)read_neusight(root_, "elementwise");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(error.diagnostics()[0].message.find("expected train/collect/add/*/*.csv"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
