#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/app/inputs.hpp"
#include "sim/app/scenario.hpp"
#include "sim/base/file.hpp"
#include "sim/report/outputs.hpp"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Scenario scenario(const std::string& workload, const std::string& rest) {
  return read<Scenario>(parse_text("name: s\nruns:\n- name: r\n  workload: {" + workload + "}\n" + rest, "s.yaml"));
}

const std::string kTraining = "model: gpt2, mode: training, sequence: 128, global_batch: 32, micro_batch: 2";
const std::string kInference = "model: gpt2, mode: inference, sequence: 128, batch: 8";

TEST(Resolve, TrainingSplitsTheGlobalBatch) {
  const Scenario s = scenario(kTraining, "  cluster: dgx-h100\n  parallel: {tp: 2}\n");
  const RunSpec spec = resolve(s, s.runs.front());
  EXPECT_EQ(spec.parallel.tp, 2);
  EXPECT_EQ(spec.parallel.dp, 4);  // fills the node
  EXPECT_EQ(spec.parallel.micro_batches, 32 / (4 * 2));
  EXPECT_EQ(spec.build.batch, 2);
  EXPECT_EQ(spec.build.optimizer, OptimizerKind::adam);
  EXPECT_EQ(spec.build.mode, Mode::training);
}

TEST(Resolve, InferenceSplitsThePromptsOverReplicas) {
  const Scenario s = scenario(kInference, "  cluster: dgx-h100\n  gpus: 4\n  parallel: {tp: 1, dp: 4}\n");
  const RunSpec spec = resolve(s, s.runs.front());
  EXPECT_EQ(spec.build.batch, 2);
  EXPECT_EQ(spec.build.sequence, 128);
  EXPECT_EQ(spec.parallel.micro_batches, 1);
  EXPECT_EQ(spec.build.optimizer, OptimizerKind::none);
}

TEST(Resolve, APolicyThatChoosesNeedsNoSplitOfItsGpus) {
  const Scenario training = scenario("model: gpt2, mode: training, sequence: 128, global_batch: 12, micro_batch: 2",
                                     "  cluster: dgx-h100\n  placement: data-parallel\n");
  const RunSpec step = resolve(training, training.runs.front());
  EXPECT_EQ(step.gpus, 8);
  EXPECT_EQ(step.parallel.dp * step.parallel.micro_batches, 6);
  const auto latency = make_latency_model("roofline");
  const ParallelSpec parallel = chosen(step, *latency).parallel;
  EXPECT_EQ(parallel.dp, 6);  // of eight GPUs: micro-batches are not divided
  EXPECT_EQ(parallel.micro_batches, 1);
  const Scenario prefill = scenario("model: gpt2, mode: inference, sequence: 128, batch: 6",
                                    "  cluster: dgx-h100\n  placement: cooptimised\n");
  const RunSpec batch = chosen(resolve(prefill, prefill.runs.front()), *latency);
  EXPECT_EQ(batch.parallel.dp, 6);
  EXPECT_EQ(batch.build.batch, 1);
  const Scenario free = scenario("model: gpt2, mode: training, sequence: 128, global_batch: 12",
                                 "  cluster: dgx-h100\n  placement: megatron\n");
  const RunSpec chosen_size = chosen(resolve(free, free.runs.front()), *latency);
  EXPECT_EQ(chosen_size.build.batch * chosen_size.parallel.dp * chosen_size.parallel.micro_batches, 12);
}

TEST(Resolve, OneGpuNeedsNothingElse) {
  const Scenario s = scenario(kInference, "  gpu: H100-SXM-80GB\n");
  const RunSpec spec = resolve(s, s.runs.front());
  EXPECT_EQ(spec.parallel.world_size(), 1);
  EXPECT_EQ(spec.cluster.gpu.name, "H100-SXM-80GB");
  EXPECT_EQ(spec.simulation.fold, Fold::on);
  EXPECT_EQ(spec.simulation.fidelity, Fidelity::automatic);
}

TEST(Resolve, TheQuickstartIsRight) {
  const ScenarioFile file = read_scenario(std::string(TESSERA_SOURCE_DIR) + "/scenarios/quickstart.yaml");
  ASSERT_EQ(file.scenario.runs.size(), 2u);
  const RunSpec train = resolve(file.scenario, file.scenario.runs[0]);
  EXPECT_EQ(train.parallel.world_size(), 8);
  EXPECT_EQ(train.build.batch * train.parallel.micro_batches * train.parallel.dp, 64);
}

TEST(Set, IsAppliedBeforeReading) {
  const std::vector<std::string> settings{"runs.train.parallel={tp: 4, dp: 2}", "seed=9", "fold=off"};
  const ScenarioFile file = read_scenario(std::string(TESSERA_SOURCE_DIR) + "/scenarios/quickstart.yaml", settings);
  EXPECT_EQ(file.scenario.runs[0].parallel.tp, 4);
  EXPECT_EQ(file.scenario.seed, 9);
  EXPECT_EQ(file.scenario.fold, Fold::off);
  EXPECT_EQ(as_json(file.document.root).at("seed").integer(), 9);
}

TEST(Inputs, NameTheFilesBehindTheNumbers) {
  const ScenarioFile file = read_scenario(std::string(TESSERA_SOURCE_DIR) + "/scenarios/quickstart.yaml");
  std::vector<std::string> paths;
  for (const auto& [path, hash] : input_hashes(file, resolve(file.scenario, file.scenario.runs[0]))) {
    paths.push_back(path);
    EXPECT_EQ(hash, content_hash(read_file(std::string(TESSERA_SOURCE_DIR) + "/" + path)));
  }
  for (const char* expected : {"scenarios/quickstart.yaml", "scenarios/models/llama-2-7b.json",
                               "platforms/gpus/H100-SXM-80GB.yaml", "platforms/nodes/dgx-h100.yaml"})
    EXPECT_THAT(paths, ::testing::Contains(expected));
}

TEST(AsJson, KeepsTypesAndOrder) {
  const Document document = parse_text("b: 1\na: [1.5, true, \"7\", x]\nc: ~\n", "d.yaml");
  EXPECT_EQ(as_json(document.root).dump(-1), R"({"b":1,"a":[1.5,true,"7","x"],"c":null})");
}

/// The committed reference is what `describe` says today.
TEST(Reference, ScenariosReadmeIsCurrent) {
  const std::string readme = read_file(std::string(TESSERA_SOURCE_DIR) + "/scenarios/README.md");
  const std::string begin = "<!-- generated by `tessera check --reference` -->\n", end = "<!-- end of generated -->";
  const auto from = readme.find(begin), to = readme.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  EXPECT_EQ(readme.substr(from + begin.size(), to - from - begin.size()), scenario_reference());
}

TEST(Reference, EveryKeyHasAMeaning) {
  for (const ReferenceRow& row : reference<Scenario>()) EXPECT_FALSE(row.meaning.empty()) << row.path;
}

}  // namespace
}  // namespace tessera
