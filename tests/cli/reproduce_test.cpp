// reproduce as a user calls it: a page from a small artifact, and what is said where parts of it are missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "sim/base/file.hpp"
#include "sim/base/paths.hpp"
#include "sim/config/gzip.hpp"
#include "tests/cli/program.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kLabels =
    "gpu,model,mode,batch,seq,parallelism,fused,n_gpu,dtype,latency_ms,fw_ms,bw_ms,neusight_ms,neusight_fw_ms,"
    "neusight_bw_ms,roofline_ms,habitat_ms,micro_ms,split,suspect\n"
    "V100-PCIE-32GB,bert_large,inf,2,512,none,0,1,fp32,55,55,0,66,66,0,44,50,60,headline,0\n"
    "V100-PCIE-32GB,bert_large,train,2,512,none,0,1,fp32,180,60,120,200,66,134,150,170,190,headline,0\n"
    "Nobody-9000,bert_large,inf,2,512,none,0,1,fp32,55,55,0,66,66,0,44,50,60,headline,0\n"
    "A100-SXM4-40GB,gpt2_large,train,4,1024,pp4_1,0,4,fp32,900,,,950,,,,,,multi-gpu,0\n";
constexpr const char* kOperators =
    "gpu,graph,idx,name,repeat,in_elems,out_elems,dir,ops,measured_ms,neusight_ms,roofline_ms,habitat_ms,micro_ms,"
    "suspect\n"
    "V100-PCIE-32GB,bert_large-inf-512-2,1,q,24,1048576,1048576,fw,\"linear:1,1024,1024,1024\",0.2,0.25,0.16,0.2,0.3,"
    "0\n"
    "V100-PCIE-32GB,bert_large-inf-512-2,2,size,24,1,1,fw,,0.006,0,,,,0\n";
constexpr const char* kMatrices =
    "gpu,dtype,op,b,m,k,n,latency_ms,split\n"
    "V100-PCIE-32GB,fp32,{},1,1024,1024,1024,0.2,test\n"
    "V100-PCIE-32GB,fp32,{},1,7,7,7,0.2,train\n";
constexpr const char* kVectors =
    "gpu,dtype,op,rows,h,latency_ms,split\n"
    "A100-PCIE-80GB,fp32,{},8192,1024,0.05,test\n";

std::string with_op(std::string text, const std::string& op) {
  for (std::size_t at = text.find("{}"); at != std::string::npos; at = text.find("{}")) text.replace(at, 2, op);
  return text;
}

/// The artifact's files with a row or two each.
void fill(const Scratch& scratch) {
  (void)scratch.file("e2e_labels.csv", kLabels);
  (void)scratch.file("model_ops.csv.gz", gzip(kOperators));
  (void)scratch.file("bmm.csv.gz", gzip(with_op(kMatrices, "bmm")));
  (void)scratch.file("linear.csv.gz", gzip(with_op(kMatrices, "linear")));
  (void)scratch.file("elementwise.csv.gz", gzip(with_op(kVectors, "gelu")));
  (void)scratch.file("softmax.csv.gz", gzip(with_op(kVectors, "softmax")));
  (void)scratch.file("layernorm.csv.gz", gzip(with_op(kVectors, "ln")));
}

std::string reproduce(const Scratch& data, const Scratch& out) {
  return "reproduce neusight --data " + data.path().string() + " --out " + out.path().string() + " --weights " +
         (out.path() / "none").string();
}

TEST(Reproduce, RefusesWhatThePaperHasNoUseFor) {
  const Scratch data;
  const Outcome refit = run_program("reproduce phaze --refit --data " + data.path().string());
  EXPECT_EQ(refit.code, 2);
  EXPECT_THAT(refit.err, HasSubstr("--refit: error: phaze has no models to fit; drop it"));
  const Outcome weights = run_program("reproduce phaze --weights x --data " + data.path().string());
  EXPECT_EQ(weights.code, 2);
  EXPECT_THAT(weights.err, HasSubstr("--weights: error: phaze has no models to fit; drop it"));
  const Outcome out = run_program("reproduce phaze --data x --out " + data.file("page.md", ""));
  EXPECT_EQ(out.code, 2);
  EXPECT_THAT(out.err, HasSubstr("page.md is a file"));
}

TEST(Reproduce, WritesAPageWithTablesAndPictures) {
  const Scratch data, out;
  fill(data);
  const Outcome outcome = run_program(reproduce(data, out));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("neusight.md"));
  const std::string page = read_file(out.path() / "neusight.md");
  // |66 / 55 - 1| and |200 / 180 - 1|
  EXPECT_THAT(page, HasSubstr("| headline | 2 | 15.6 |"));
  EXPECT_THAT(page, HasSubstr("| backward | n | NeuSight | Tessera |"));
  EXPECT_THAT(page, HasSubstr("| linear | 1 | 25.0 | 0.0 | 50.0 | 20.0 |"));
  EXPECT_THAT(read_file(out.path() / "neusight-models.svg"), HasSubstr("<svg"));
  EXPECT_THAT(read_file(out.path() / "neusight-kernels.svg"), HasSubstr("layernorm"));
}

/// A run, its prediction, and a test set, as github.com/sitar-lab/NeuSight keeps them.
void fill_checkout(const Scratch& scratch) {
  const std::filesystem::path root = scratch.path() / "scripts" / "asplos";
  const std::string run = "Tesla_V100-PCIE-32GB/bert_large-inf-512-2.json";
  write_file(root / "label" / run, R"({"num_layer": 24, "e2e_latency": 55, "fw_latency": 55, "bwall_latency": 0})");
  write_file(root / "results/prediction/Tesla_V100-PCIE-32GB/neusight/bert_large-inf-512-2.json",
             R"({"num_layer": 24, "e2e_latency": 66, "fw_latency": 66, "bwall_latency": 0})");
  write_file(root / "data/dataset/test/linear.csv",
             "OPName,Latency,Device,Kernel Name,Grid x,Grid y,Grid z,B,M,N,K\n"
             "linear,0.2,Tesla V100-PCIE-32GB,volta_sgemm_128x64_tn,16,8,1,1,1024,1024,1024\n");
}

TEST(Reproduce, ReadsACheckoutOfTheArtifact) {
  const Scratch data, out;
  fill_checkout(data);
  const Outcome outcome = run_program(reproduce(data, out));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string page = read_file(out.path() / "neusight.md");
  EXPECT_THAT(page, HasSubstr("| headline | 1 | 20.0 |"));  // |66 / 55 - 1|
  EXPECT_THAT(page, HasSubstr("### seen GPUs\n\n| operator | n | Tessera |"));
  EXPECT_THAT(page, HasSubstr("| linear | 1 |"));
  EXPECT_THAT(page, HasSubstr("- data/dataset/test/ln.csv: not in this checkout"));
}

TEST(Reproduce, SaysWhatItCouldNotSee) {
  const Scratch data, out;
  fill(data);
  ASSERT_EQ(run_program(reproduce(data, out)).code, 0);
  const std::string page = read_file(out.path() / "neusight.md");
  EXPECT_THAT(page, HasSubstr("| NVIDIA, one GPU | 80 | 2 | 8.89 | 15.56 |"));
  EXPECT_THAT(page, HasSubstr("| of these, GPT-3 on H100 | 6 | 0 | 2.33 | - |"));
  EXPECT_THAT(page, HasSubstr("Nobody-9000: no data sheet"));
  EXPECT_THAT(page, HasSubstr("- bmm: 87623 rows, epoch 52 of 59 run"));  // a fit that was cut short
}

TEST(Reproduce, SaysWhichRebuiltModelsHaveNoWeights) {
  const Scratch data, out, bare;
  fill(data);
  for (const char* folder : {"platforms", "calibration", "scenarios"})
    std::filesystem::create_directory_symlink(home() / folder, bare.path() / folder);
  const Outcome outcome = run_program(reproduce(data, out), "TESSERA_HOME=" + bare.path().string() + " ");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string page = read_file(out.path() / "neusight.md");
  EXPECT_THAT(page, HasSubstr("Habitat rebuilt: no weights; `tessera calibrate --model habitat --data DIR` fits them"));
  EXPECT_THAT(page, HasSubstr("NeuSight rebuilt: no weights"));
}

/// Kernels of NeuSight's five GPUs to fit on, at half of what the data sheets say.
void fill_training(const Scratch& scratch) {
  struct Gpu {
    const char* name;
    double gflops, gbs;
  };
  constexpr Gpu kGpus[] = {{"P4", 5700, 192},
                           {"P100-PCIE-16GB", 9500, 732},
                           {"T4", 8100, 320},
                           {"V100-PCIE-32GB", 14000, 900},
                           {"A100-PCIE-40GB", 19500, 1555}};
  std::string linear = with_op(kMatrices, "linear"), bmm = with_op(kMatrices, "bmm");
  std::string vectors = with_op(kVectors, "gelu"), softmax = with_op(kVectors, "softmax"),
              norm = with_op(kVectors, "ln");
  for (const Gpu& gpu : kGpus) {
    for (int i = 1; i <= 12; ++i) {
      const int side = 256 * i, rows = 2048 * (i + 3);
      const double product = 2e-6 * side * side * side / (0.5 * gpu.gflops),
                   moved = 8e-6 * rows * 1024 / (0.5 * gpu.gbs);
      linear += fmt::format("{},fp32,linear,1,{},{},{},{:.6g},train\n", gpu.name, side, side, side, product + 0.01);
      bmm += fmt::format("{},fp32,bmm,4,{},{},{},{:.6g},train\n", gpu.name, side, side, side, 4 * product + 0.01);
      vectors += fmt::format("{},fp32,gelu,{},1024,{:.6g},train\n", gpu.name, rows, moved + 0.01);
      softmax += fmt::format("{},fp32,softmax,{},1024,{:.6g},train\n", gpu.name, rows, moved + 0.01);
      norm += fmt::format("{},fp32,ln,{},1024,{:.6g},train\n", gpu.name, rows, moved + 0.01);
    }
  }
  (void)scratch.file("bmm.csv.gz", gzip(bmm));
  (void)scratch.file("linear.csv.gz", gzip(linear));
  (void)scratch.file("elementwise.csv.gz", gzip(vectors));
  (void)scratch.file("softmax.csv.gz", gzip(softmax));
  (void)scratch.file("layernorm.csv.gz", gzip(norm));
}

TEST(Reproduce, RefitsAsThePaperAndWithoutEachGpu) {
  const Scratch data, out;
  fill(data);
  fill_training(data);
  const Outcome outcome = run_program(reproduce(data, out) + " --refit");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string page = read_file(out.path() / "neusight.md");
  EXPECT_THAT(page, HasSubstr("| Tessera | Tessera, N | Tessera, L |"));
  EXPECT_THAT(page, HasSubstr("protocol L, each GPU by weights fitted without it"));
  EXPECT_THAT(page, Not(HasSubstr("x Tessera, L: V100")));  // every V100 row has its prediction
}

TEST(Reproduce, NamesEveryMissingFile) {
  const Scratch data, out;
  (void)data.file("e2e_labels.csv", kLabels);
  const Outcome outcome = run_program(reproduce(data, out));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("model_ops.csv.gz: error: is missing"));
  EXPECT_THAT(outcome.err, HasSubstr("layernorm.csv.gz: error: is missing"));
}

TEST(Reproduce, RefusesAnUnknownPaperAndMissingData) {
  const Outcome paper = run_program("reproduce neusigth");
  EXPECT_EQ(paper.code, 2);
  EXPECT_THAT(paper.err,
              HasSubstr("unknown paper 'neusigth'; did you mean 'neusight'?; there are gacer, neusight, phaze"));
  const Outcome data = run_program("reproduce neusight --data nowhere");
  EXPECT_EQ(data.code, 2);
  EXPECT_THAT(data.err, HasSubstr("no folder 'nowhere'"));
}

TEST(Reproduce, PointsAtABadCell) {
  const Scratch data, out;
  fill(data);
  (void)data.file("bmm.csv.gz", gzip("gpu,dtype,op,b,m,k,n,latency_ms,split\nT4,fp32,bmm,1,many,2,3,0.1,test\n"));
  const Outcome outcome = run_program(reproduce(data, out));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("many"));
}

TEST(CalibrateOtherModels, RefusesUnknownModelsAndNets) {
  const Scratch data;
  const std::string calibrate = "calibrate --data " + data.path().string() + " --out " + data.path().string();
  const Outcome model = run_program(calibrate + " --model neusigth");
  EXPECT_EQ(model.code, 2);
  EXPECT_THAT(model.err,
              HasSubstr("no fitted model 'neusigth'; did you mean 'neusight'?; there are tile, habitat, li, neusight"));
  const Outcome net = run_program(calibrate + " --model neusight --net linaer");
  EXPECT_EQ(net.code, 2);
  EXPECT_THAT(net.err, HasSubstr("no net 'linaer'; did you mean 'linear'?; there are "));
  EXPECT_THAT(run_program(calibrate + " --model neusight --epochs 0").err, HasSubstr("expected at least 1"));
}

}  // namespace
}  // namespace tessera::testing
