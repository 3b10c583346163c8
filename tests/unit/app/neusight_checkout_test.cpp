// Labels and predictions of a checkout of NeuSight's repository, in invented files of its layout.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "sim/app/reproduce/neusight_checkout.hpp"
#include "sim/app/reproduce/neusight_data.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace tessera {
namespace {

TEST(OperatorText, ReadsThePythonLists) {
  EXPECT_EQ(operator_text("[]"), "");
  EXPECT_EQ(operator_text("[['Linear', (4096, 1024, 2048)]]"), "linear:1,4096,1024,2048");
  EXPECT_EQ(operator_text("[['BMM', (16, 512, 64, 512)], ['VECmulu', (8192, 512)]]"),
            "bmm:16,512,64,512;mulu:8192,512");
  EXPECT_EQ(operator_text("[['MEM', ((8, 512), (8, 512, 1024))]]"), "mem:16793600");  // 4 (8 x 512)(1 + 1024)
  EXPECT_EQ(operator_text("[['MEM', ((1,), (1,))]]"), "mem:8");
}

TEST(OperatorText, RefusesWhatIsNoList) {
  for (const char* wrong : {"", "Linear", "[['Linear', (1, 2, 3)]", "[['Linear', 5]]", "[5]", "[['Linear' (1)]]"}) {
    EXPECT_EQ(operator_text(wrong), std::nullopt) << wrong;
  }
}

TEST(ElementCount, SumsTheShapes) {
  EXPECT_EQ(element_count("(8, 512)"), 4096);
  EXPECT_EQ(element_count("[(8, 512), (1,)]"), 4097);
  EXPECT_EQ(element_count("[]"), 0);
  EXPECT_EQ(element_count("shape"), std::nullopt);
}

class Checkout : public testing::Test {
 protected:
  void SetUp() override {
    base_ = std::filesystem::temp_directory_path() /
            (std::string("tessera_labels_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(base_);
    root_ = base_ / "scripts" / "asplos";
    std::filesystem::create_directories(root_ / "data" / "dataset");
    std::filesystem::create_directories(root_ / "results" / "prediction");
    run("label/Tesla_V100-PCIE-32GB/bert_large-train-512-2", times(300, 100, 200));
    predictions("Tesla_V100-PCIE-32GB", "bert_large-train-512-2");
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  static std::string times(int all, int forward, int backward) {
    return "{\"num_layer\": 24, \"e2e_latency\": " + std::to_string(all) +
           ", \"fw_latency\": " + std::to_string(forward) + ", \"bwall_latency\": " + std::to_string(backward) + "}";
  }
  void run(const std::string& path, const std::string& json) const { write_file(root_ / (path + ".json"), json); }

  /// Nodes: one before the layer, one that is the whole layer, one after it.
  void predictions(const std::string& device, const std::string& name) const {
    const std::string first = "bert_encoder_layer_0_attention_self_query";
    const std::string last = "bert_encoder_layer_0_output_layer_norm";
    write_file(root_ / "label" / device / (name + ".csv"),
               "op,fw_latency,bw_latency,acc_latency,Name\n"
               "x,1,0,0,embed\nx,2,4,0.5," +
                   first + "\nx,1,0,0," + last + "\nx,4,0,0,head\n");
    for (const std::string method : {"neusight", "roofline", "habitat", "micro"}) {
      const auto folder = root_ / "results" / "prediction" / device / method;
      write_file(folder / (name + ".csv"),
                 "Name,FwOps,BwOps,AccOps,InputShapes,OutputShape,fw_latency,bw_latency,acc_latency\n" + first +
                     ",\"[['Linear', (64, 32, 16)]]\",\"[['Linear', (64, 16, 32)], ['Linear', "
                     "(32, 64, 16)]]\",\"[['VECadd', (1, 512)]]\",\"[(64, 32), (1,)]\",\"(64, 16)\",2.5,5,0.25\n");
      write_file(folder / (name + ".json"), times(330, 110, 220));
    }
  }

  std::filesystem::path base_, root_;
};

TEST_F(Checkout, LabelsStandBesideTheirPredictions) {
  run("label/Tesla_V100-PCIE-32GB/bert_large-inf-512-8-fusion", times(50, 50, 0));
  run("label/NVIDIA_A100-SXM4-40GB/gpt2_large-train-1024-4-pp4_1", times(900, 0, 0));
  run("label/AMD_Instinct_MI100/opt_13-inf-2048-2", times(80, 80, 0));
  const CsvTable table = checkout_labels(root_);
  ASSERT_EQ(table.rows(), 4U);
  const auto cell = [&](std::size_t row, const char* column) { return table.cell(row, table.need(column)); };
  EXPECT_EQ(cell(0, "gpu"), "MI100");
  EXPECT_EQ(cell(0, "split"), "amd");
  EXPECT_EQ(cell(0, "neusight_ms"), "");
  EXPECT_EQ(cell(1, "gpu"), "A100-SXM4-40GB");
  EXPECT_EQ(cell(1, "parallelism"), "pp4_1");
  EXPECT_EQ(cell(1, "n_gpu"), "4");
  EXPECT_EQ(cell(1, "fw_ms"), "");
  EXPECT_EQ(cell(2, "fused"), "1");
  EXPECT_EQ(cell(2, "split"), "fused");
  EXPECT_EQ(cell(3, "model"), "bert_large");
  EXPECT_EQ(cell(3, "seq"), "512");
  EXPECT_EQ(cell(3, "batch"), "2");
  EXPECT_EQ(cell(3, "bw_ms"), "200");
  EXPECT_EQ(cell(3, "neusight_bw_ms"), "220");
  EXPECT_EQ(cell(3, "micro_ms"), "330");
  EXPECT_EQ(cell(3, "split"), "headline");
}

TEST_F(Checkout, ARunIsSuspectWhereItsForwardPassExceedsItsOperators) {
  // 1 + 24 (2 + 1) + 4 = 77 of measured operators; 1.25 times that is 96.25.
  const auto suspect = [&](int forward) {
    run("label/Tesla_V100-PCIE-32GB/bert_large-train-512-2", times(300, forward, 200));
    const CsvTable table = checkout_labels(root_);
    return std::string(table.cell(0, table.need("suspect")));
  };
  EXPECT_EQ(suspect(96), "0");
  EXPECT_EQ(suspect(97), "1");
}

TEST_F(Checkout, OperatorsAreJoinedByName) {
  const CsvTable table = checkout_operators(root_);
  ASSERT_EQ(table.rows(), 3U);
  const auto cell = [&](std::size_t row, const char* column) { return table.cell(row, table.need(column)); };
  EXPECT_EQ(cell(0, "dir"), "fw");
  EXPECT_EQ(cell(0, "repeat"), "24");
  EXPECT_EQ(cell(0, "in_elems"), "2049");
  EXPECT_EQ(cell(0, "out_elems"), "1024");
  EXPECT_EQ(cell(0, "ops"), "linear:1,64,32,16");
  EXPECT_EQ(cell(0, "measured_ms"), "2");
  EXPECT_EQ(cell(0, "habitat_ms"), "2.5");
  EXPECT_EQ(cell(1, "ops"), "linear:1,64,16,32;linear:1,32,64,16");
  EXPECT_EQ(cell(1, "measured_ms"), "4");
  EXPECT_EQ(cell(2, "dir"), "acc");
}

TEST_F(Checkout, ABadListOfOperatorsIsNamed) {
  write_file(root_ / "results/prediction/Tesla_V100-PCIE-32GB/neusight/bert_large-train-512-2.csv",
             "Name,FwOps,BwOps,AccOps,InputShapes,OutputShape,fw_latency,bw_latency,acc_latency\n"
             "head,Linear,[],[],[],\"(1,)\",1,1,1\n");
  try {
    (void)checkout_operators(root_);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics()[0].line, 2);
    EXPECT_NE(error.diagnostics()[0].message.find("expected a list of operators"), std::string::npos);
  }
}

TEST_F(Checkout, DataSaysWhichTestSetsAreNotThere) {
  NeuSightData data(base_);
  EXPECT_EQ(data.models().rows(), 1U);
  EXPECT_EQ(data.kernels("layernorm").rows(), 0U);
  EXPECT_EQ(data.missing(), std::vector<std::string>{"data/dataset/test/ln.csv"});
}

TEST_F(Checkout, WithoutPredictionsItIsRefused) {
  std::filesystem::remove_all(root_ / "results");
  try {
    const NeuSightData data(base_);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(error.diagnostics()[0].file.find("results/prediction"), std::string::npos);
    EXPECT_NE(error.diagnostics()[0].message.find("is part of github.com/sitar-lab/NeuSight"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
