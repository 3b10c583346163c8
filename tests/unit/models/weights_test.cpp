// Weights files: what is written is what is read, and inputs outside the fitted range are noticed.
#include "models/weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "models/family.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/paths.hpp"
#include "sim/base/rng.hpp"

namespace tessera {
namespace {

FamilyWeights sample() {
  Rng rng(3);
  DenseLayer layer{2, 1, {static_cast<float>(rng.normal()), static_cast<float>(rng.normal())}, {0.125F}};
  FamilyWeights weights;
  weights.family = "gemm_simt";
  weights.inputs = {{"a", 0.5, 2, 0, 4}, {"b", 0, 1, -1, 1}};
  weights.nets = {Mlp({layer})};
  round_weights(weights.nets);
  weights.runtimes = {Runtime::sglang};
  weights.constants = {{"floor_s", 2e-6}, {"share", 0.7}};
  weights.unseen = {{-1.5, 0.5, 2, 0.25}, -1.25, 1.5, 0.125, 0.0625};
  weights.seen = {{-2.5, 0, 0, 0}, -1, 1, 0.01, 0.05};
  weights.left_out = {{Protocol::N, "T4", "bmm fp32", 100, 0.125, 0.1, -0.05}};
  weights.command = "tessera calibrate";
  weights.data = "somewhere 1.0";
  return weights;
}

TEST(Weights, RoundTripThroughJsonText) {
  const FamilyWeights before = sample();
  const FamilyWeights after = weights_from_json(parse_json(to_json(before).dump(), "w.json"));
  EXPECT_EQ(after.family, before.family);
  EXPECT_EQ(after.inputs, before.inputs);
  EXPECT_EQ(after.constants, before.constants);
  EXPECT_EQ(after.unseen, before.unseen);
  EXPECT_EQ(after.seen, before.seen);
  EXPECT_EQ(after.left_out, before.left_out);
  EXPECT_EQ(after.runtimes, before.runtimes);
  EXPECT_EQ(after.command, before.command);
  EXPECT_EQ(after.data, before.data);
  ASSERT_EQ(after.nets.size(), 1U);
  EXPECT_EQ(after.nets[0].layers()[0].weights, before.nets[0].layers()[0].weights);
  EXPECT_EQ(after.nets[0].layers()[0].bias, before.nets[0].layers()[0].bias);
}

TEST(Weights, InputsAreStandardisedAndHeldAtTheEdge) {
  const std::vector<InputRange> ranges{{"a", 1, 2, 0, 4}};
  EXPECT_EQ(standardise(std::vector<float>{3, -5, 40}, ranges), (std::vector<float>{1, -0.5F, 1.5F}));
}

TEST(Weights, OutOfRangeIsTheWorstExcessInWidths) {
  const FamilyWeights weights = sample();
  // a: width 4, b: width 2. Inside; a 2 above its 4; b 3 below its -1 and a inside.
  const std::vector<float> raw{2, 0, 6, 0, 2, -4};
  const std::vector<NetAnswer> answers = weights.evaluate(raw, std::vector<Runtime>(3));
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].out_of_range, 0);
  EXPECT_EQ(answers[1].out_of_range, 0.5F);
  EXPECT_EQ(answers[2].out_of_range, 1.5F);
}

TEST(Weights, WithoutNetsTheClosedFormStands) {
  FamilyWeights weights = sample();
  weights.nets.clear();
  EXPECT_EQ(weights.evaluate(std::vector<float>{1, 1}, std::vector<Runtime>(1))[0].value, 0);
}

TEST(Weights, AnEnsembleIsTheMeanOfItsMembersAndTheirSpread) {
  FamilyWeights weights = sample();
  weights.nets = {Mlp({DenseLayer{2, 1, {0, 0}, {1}}}), Mlp({DenseLayer{2, 1, {0, 0}, {4}}})};
  const NetAnswer answer = weights.evaluate(std::vector<float>{1, 0}, std::vector<Runtime>(1)).front();
  EXPECT_FLOAT_EQ(answer.value, 2.5F);
  EXPECT_FLOAT_EQ(answer.spread, 1.5F);
}

TEST(Weights, SeenGpusAreThoseOfTheHeldOutShapes) {
  FamilyWeights weights = sample();
  EXPECT_FALSE(weights.has_seen("T4", Op::linear, Dtype::fp32));  // protocol N
  weights.left_out.push_back({Protocol::S, "T4", "gemm bf16", 10, 0.05, 0.05, 0});
  EXPECT_TRUE(weights.has_seen("T4", Op::linear, Dtype::bf16));
  EXPECT_TRUE(weights.has_seen("T4", Op::linear, Dtype::fp16));
  EXPECT_FALSE(weights.has_seen("T4", Op::linear, Dtype::fp32));
  EXPECT_FALSE(weights.has_seen("T4", Op::bmm, Dtype::bf16));
  EXPECT_FALSE(weights.has_seen("P4", Op::linear, Dtype::bf16));
}

TEST(Weights, ARuntimeIsOneMoreInputAndUnknownOnesAreTypical) {
  FamilyWeights weights = sample();
  weights.runtimes = {Runtime::trtllm, Runtime::vllm};
  weights.nets = {Mlp({DenseLayer{4, 1, {0, 0, 3, 5}, {1}}})};
  const std::vector<NetAnswer> answers =
      weights.evaluate(std::vector<float>{0.5F, 0, 0.5F, 0, 0.5F, 0, 0.5F, 0},
                       std::vector{Runtime::unspecified, Runtime::trtllm, Runtime::vllm, Runtime::sglang});
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[0].value, 1);
  EXPECT_EQ(answers[1].value, 4);
  EXPECT_EQ(answers[2].value, 6);
  EXPECT_EQ(answers[3].value, 1);
  EXPECT_TRUE(weights.knows(Runtime::vllm));
  EXPECT_FALSE(weights.knows(Runtime::sglang));
}

TEST(Weights, RangesHoldTheMiddleOfTheData) {
  std::vector<float> raw;
  for (int i = 0; i <= 2000; ++i) raw.push_back(static_cast<float>(i));
  raw.push_back(1e6F);  // one outlier
  constexpr std::array<std::string_view, 1> kNames{"x"};
  const InputRange range = fit_ranges(raw, kNames).front();
  EXPECT_EQ(range.name, "x");
  EXPECT_LE(range.high, 2000);
  EXPECT_GE(range.low, 0);
}

std::string error_of(const Json& json) {
  try {
    weights_from_json(json);
  } catch (const RunError& e) {
    return e.what();
  }
  return "";
}

TEST(Weights, DamagedFilesAreRefused) {
  Json json = to_json(sample());
  json["nets"] = parse_json(R"([[{"inputs": 2, "outputs": 1, "weights": [1], "bias": [0]}]])", "w.json");
  EXPECT_EQ(error_of(json), "weights: a layer of 1 x 2 holds 1 weights and 1 biases");
  json["nets"] = parse_json(R"([[{"inputs": 1, "outputs": 1, "weights": [1], "bias": [0]}]])", "w.json");
  EXPECT_EQ(error_of(json), "weights of gemm_simt: a net takes 1 inputs, 2 are listed");
}

TEST(Weights, NetsThatDoNotFitTogetherAreRefused) {
  const auto with_nets = [](const char* nets) {
    Json json = to_json(sample());
    json["nets"] = parse_json(nets, "w.json");
    return error_of(json);
  };
  EXPECT_EQ(with_nets(R"([[{"inputs": 2, "outputs": 1, "weights": [1, 1], "bias": [0]},
                           {"inputs": 2, "outputs": 1, "weights": [1, 1], "bias": [0]}]])"),
            "weights: a layer of 1 x 2 does not follow on the one before");
  EXPECT_EQ(with_nets("[[]]"), "weights: a net does not end in one number");
  Json json = to_json(sample());
  json["inputs"] = parse_json(R"([{"name": "a", "mean": 0, "deviation": 0, "low": 0, "high": 1}])", "w.json");
  EXPECT_EQ(error_of(json), "weights: input 'a' has no range");
}

TEST(Weights, NumbersThatNoFitGivesAreRefused) {
  const auto with = [](const char* key, const char* value) {
    Json json = to_json(sample());
    json[key] = parse_json(value, "w.json");
    return error_of(json);
  };
  EXPECT_EQ(with("nets", R"([[{"inputs": 2, "outputs": 1, "weights": [1, 1e39], "bias": [0]}]])"),
            "weights: a net holds 1e+39, expected at most 10000");
  EXPECT_EQ(with("nets", R"([[{"inputs": -24, "outputs": 1, "weights": [1], "bias": [0]}]])"),
            "weights: a layer's width is -24, expected 1 to 65536");
  EXPECT_EQ(with("constants", R"({"share": 0})"), "weights: constant 'share' is 0, expected above 0 and at most 1e+07");
  EXPECT_EQ(with("inputs", R"([{"name": "a", "mean": 1e300, "deviation": 1, "low": 0, "high": 1}])"),
            "weights: input 'a' has no range");
  EXPECT_EQ(with("runtimes", R"(["vlm"])"), "weights: unknown runtime 'vlm'");
  EXPECT_EQ(with("runtimes", R"(["vllm", "vllm"])"), "weights: runtime 'vllm' twice");
  const char* const bars[] = {R"({"log_scale": [0, 0, 0, 0], "p10": 5, "p90": 1, "shared": 0, "own": 0})",
                              R"({"log_scale": [1e308, 0, 0, 0], "p10": -1, "p90": 1, "shared": 0, "own": 0})",
                              R"({"log_scale": [0, 0, 0, 0], "p10": -1, "p90": 1, "shared": -5, "own": 0})"};
  for (const char* bar : bars)
    EXPECT_EQ(with("bar_seen", bar),
              "weights: an error bar that is none: expected p10 <= p90, shared and own of at least 0");
}

/// A folder of weights, and what the default model says when it makes a kernel's price with them.
class WeightsFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_.parent_path());
    std::filesystem::copy(home() / "calibration" / "weights", folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string complaint() const {
    const Kernel kernel{Op::softmax, Dtype::fp32, VectorShape{.rows = 64, .h = 64}};
    try {
      (void)make_latency_model("tile", folder_)->predict(std::span(&kernel, 1), find_gpu("T4"), {});
    } catch (const InputError& error) {
      return to_string(error.diagnostics().front());
    }
    return "";
  }
  [[nodiscard]] std::string file(const char* name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) / "tessera-weights" /
                                  ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(WeightsFolder, MayLackFamiliesThatAreNotPriced) {
  std::filesystem::remove(file("moe.json"));
  EXPECT_EQ(complaint(), "");
}

TEST_F(WeightsFolder, NeedsTheFilesOfFamiliesThatArePriced) {
  std::filesystem::remove(file("rows.json"));
  EXPECT_EQ(complaint(), file("rows.json") +
                             ": error: no such file of fitted weights, needed for softmax and norms; `tessera "
                             "calibrate` makes it");
}

TEST_F(WeightsFolder, MustBeAFolder) {
  std::filesystem::remove_all(folder_);
  EXPECT_EQ(complaint(), folder_.string() + ": error: no such folder of fitted weights");
  write_file(folder_, "a file");
  EXPECT_EQ(complaint(), folder_.string() + ": error: no such folder of fitted weights");
}

TEST_F(WeightsFolder, DamageNamesTheFile) {
  write_file(file("conv.json"), R"({"family": 3})");
  EXPECT_THAT(complaint(), ::testing::StartsWith(file("conv.json") + ": error: JSON: "));
  write_file(file("conv.json"), "{");
  EXPECT_THAT(complaint(), ::testing::StartsWith(file("conv.json") + ":"));
}

TEST_F(WeightsFolder, OfAnotherProgramIsRefused) {
  std::filesystem::copy_file(file("rows.json"), file("moe.json"), std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(complaint(), file("moe.json") + ": error: holds the weights of 'rows', expected those of 'moe'");
  FamilyWeights moe = read_weights(home() / "calibration" / "weights" / "moe.json");
  moe.constants.front().first = "other";
  write_weights(file("moe.json"), moe);
  EXPECT_THAT(complaint(), ::testing::HasSubstr("moe.json: error: fitted for other inputs than this program's"));
  FamilyWeights conv = read_weights(file("conv.json"));
  conv.nets.clear();
  std::filesystem::copy_file(home() / "calibration/weights/moe.json", file("moe.json"),
                             std::filesystem::copy_options::overwrite_existing);
  write_weights(file("conv.json"), conv);
  EXPECT_EQ(complaint(), file("conv.json") + ": error: no nets; run tessera calibrate");
}

TEST(Weights, AMissingConstantIsNamed) {
  EXPECT_DOUBLE_EQ(sample().constant("share"), 0.7);
  EXPECT_THROW((void)sample().constant("other"), RunError);
}

}  // namespace
}  // namespace tessera
