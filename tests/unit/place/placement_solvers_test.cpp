#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "sim/place/pipeline/baselines.hpp"
#include "sim/place/pipeline/phaze_file.hpp"
#include "sim/place/pipeline/placement.hpp"
#include "tests/unit/place/chain_problem.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string why_not(const PlanOutcome& outcome) {
  const auto* none = std::get_if<NoPlan>(&outcome);
  return none != nullptr ? none->why : "";
}

TEST(SolvePhaze, SaysWhyThereIsNoPlan) {
  PipelineProblem problem = chain(2, 1, 4);
  problem.pools.push_back(problem.pools.front());
  EXPECT_EQ(why_not(solve_phaze(problem)), "the original places on devices of one kind only");
  problem = chain(3, 2, 4);
  problem.widths[0].edges.erase(problem.widths[0].edges.begin());
  EXPECT_EQ(why_not(solve_phaze(problem)), "layers 0 and 1 are not linked; the original places chains only");
  problem = chain(2, 2, 4);
  problem.widths[0].width = 4;
  for (LayerCost& layer : problem.widths[0].layers) layer.tensor_parallel = true;
  EXPECT_EQ(why_not(solve_phaze(problem)), "tensor width 4 needs more than the 2 devices that there are");
  EXPECT_EQ(why_not(plan_pipeline(problem)), "tensor width 4 needs more than the 2 devices that there are");
  problem = chain(2, 2, 4);
  problem.pools.front().memory = Bytes(1073741824);
  EXPECT_EQ(why_not(solve_phaze(problem)),
            "the least that a plan needs is 5.59 GiB per device, of 1.00 GiB that there are");
  problem.micro_batches = 0;
  EXPECT_EQ(why_not(solve_phaze(problem)), "0 micro-batches, expected 1 or more");
}

TEST(PlanPipeline, SaysWhyThereIsNoPlan) {
  PipelineProblem problem = chain(2, 2, 4);
  problem.pools.assign(5, problem.pools.front());
  EXPECT_EQ(why_not(plan_pipeline(problem)), "5 kinds of devices, of at most 4");
  problem = chain(10, 2, 4);
  problem.widths[0].edges.clear();  // 2^10 sets
  EXPECT_EQ(why_not(plan_pipeline(problem)), "the layers branch into more than 512 possible cuts");
  problem = chain(3, 2, 4);
  problem.widths[0].edges.erase(problem.widths[0].edges.begin());
  EXPECT_EQ(why_not(plan_pipeline(problem, {.rules = PlacementRules::phaze()})),
            "skip edges overlap with computation on chains only");
  problem = chain(2, 2, 4);
  problem.pools.front().memory = Bytes(1073741824);
  // 4 GB for weights, gradients and master weights, 2 GB for each of the micro-batches kept.
  EXPECT_EQ(why_not(plan_pipeline(problem)),
            "the least that a plan needs is 7.45 GiB per device, of 1.00 GiB that there are");
  problem.pools.front().memory = Bytes(8.1e9);
  problem.pools.front().devices = 1;
  EXPECT_EQ(why_not(plan_pipeline(problem)),
            "the least that a plan needs is 11.2 GiB per device, of 7.54 GiB that there are");
  problem.micro_batches = 0;
  EXPECT_EQ(why_not(plan_pipeline(problem)), "0 micro-batches, expected 1 or more");
}

TEST(PlanPipeline, RecomputesOnlyWhereMemoryAsksForIt) {
  PipelineProblem problem = chain(4, 4, 64);
  problem.recomputation = true;
  problem.pools.front().memory = Bytes(4e9 + 3 * 2e9);  // three micro-batches
  problem.network.front().bandwidth = BytesPerSec(1e12);
  const auto plan = std::get<PipelinePlan>(plan_pipeline(problem, {.interleaving = false}));
  ASSERT_EQ(plan.stages.size(), 4u);
  std::vector<bool> recompute;
  for (const PipelineStage& s : plan.stages) recompute.push_back(s.recompute);
  EXPECT_THAT(recompute, ElementsAre(true, false, false, false));
}

TEST(PlanPipeline, InterleavesWhereTheBubbleIsLarge) {
  PipelineProblem problem = chain(8, 4, 4);
  problem.network.front().bandwidth = BytesPerSec(1e13);
  for (LayerCost& layer : problem.widths[0].layers) layer.parameters = Bytes(1e13);  // replicas would not pay
  const auto plan = std::get<PipelinePlan>(plan_pipeline(problem));
  EXPECT_GT(plan.chunks, 1);
  EXPECT_LT(plan.time, std::get<PipelinePlan>(plan_pipeline(problem, {.interleaving = false})).time);
}

TEST(PlanPipeline, NoMoreStagesThanAllowed) {
  PipelineProblem problem = chain(6, 6, 60);
  problem.pools.front().memory = Bytes(3 * 4e9 + 2 * 3 * 2e9);
  for (const int most : {2, 3, 6}) {
    const auto plan = std::get<PipelinePlan>(plan_pipeline(problem, {.interleaving = false, .most_stages = most}));
    EXPECT_LE(static_cast<int>(plan.stages.size()), most);
  }
}

TEST(ExpertPlan, TheOriginalsNumberingShiftsTheBlocks) {
  const PipelineProblem problem = chain(5, 4, 8);  // an embedding and four blocks
  const auto layers = [&](bool shifted) {
    std::vector<std::size_t> sizes;
    const auto outcome = expert_plan(problem, {.stages = 2, .width = 1, .replicas = 2, .blocks = 4}, shifted);
    for (const PipelineStage& s : std::get<PipelinePlan>(outcome).stages) sizes.push_back(s.layers.size());
    return sizes;
  };
  EXPECT_THAT(layers(false), ElementsAre(3, 2));
  EXPECT_THAT(layers(true), ElementsAre(2, 3));
  EXPECT_EQ(why_not(expert_plan(problem, {.stages = 0}, false)), "an expert plan has stages and blocks");
}

TEST(Baselines, DataParallelKeepsTheModelWhole) {
  const PipelineProblem problem = chain(3, 4, 8);
  const auto plan = std::get<PipelinePlan>(data_parallel_plan(problem));
  EXPECT_EQ(plan.replicas, 4);
  EXPECT_EQ(plan.stages.size(), 1u);
  EXPECT_DOUBLE_EQ(plan.time.value(), 2 * 9 + 2 * 3.0 / 4 * 3);
}

TEST(Baselines, MegatronUsesTensorParallelismInANodeThenStages) {
  PipelineProblem problem = chain(8, 16, 64);
  problem.network = {{2, BytesPerSec(1e10), Seconds(0)}, {16, BytesPerSec(1e9), Seconds(0)}};
  for (const int width : {2, 4}) {
    WidthProfile profile = problem.widths.front();
    profile.width = width;
    for (LayerCost& layer : profile.layers) {
      layer.tensor_parallel = true;
      layer.parameters /= width;
      layer.activations /= width;
    }
    problem.widths.push_back(profile);
  }
  const auto shape = [&](double memory) {
    problem.pools.front().memory = Bytes(memory);
    const auto plan = std::get<PipelinePlan>(megatron_plan(problem));
    return std::vector<int>{plan.stages.front().width, static_cast<int>(plan.stages.size()), plan.replicas};
  };
  EXPECT_THAT(shape(8 * 6e9), ElementsAre(1, 1, 16));
  EXPECT_THAT(shape(8 * 3e9), ElementsAre(2, 1, 8));
  EXPECT_THAT(shape(4 * 2e9 + 2 * 4 * 1e9), ElementsAre(2, 2, 4));
  problem.pools.front().memory = Bytes(1e9);
  EXPECT_THAT(why_not(megatron_plan(problem)), HasSubstr("per device, of"));
}

TEST(Baselines, MetisCutsWhereFewBytesPass) {
  PipelineProblem problem = chain(4, 2, 64);
  problem.pools.front().memory = Bytes(4 * 6e9 - 1);  // two stages at least
  problem.widths[0].edges[0].bytes = problem.widths[0].edges[2].bytes = Bytes(50e9);
  const auto plan = std::get<PipelinePlan>(metis_plan(problem));
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_THAT(plan.stages[0].layers, ElementsAre(0, 1));
  EXPECT_EQ(plan.time, std::get<PlanFigures>(evaluate(problem, plan)).time);
  problem.pools.front().memory = Bytes(1e9);
  EXPECT_THAT(why_not(metis_plan(problem)), HasSubstr("per device, of"));
}

// --- files ---

class PhazeFile : public testing::Test {
 protected:
  PhazeProblem read(const std::string& text) {
    const auto path = std::filesystem::path(testing::TempDir()) /
                      (std::string("phaze-") + testing::UnitTest::GetInstance()->current_test_info()->name() + ".json");
    std::ofstream(path) << text;
    return read_phaze_problem(path);
  }
  std::string error(const std::string& text) {
    try {
      read(text);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  }
  static std::string file(const std::string& nodes, const std::string& edges) {
    return R"({"maxMemoryPerDevice": 10, "maxDevices": 3, "bandwidth": 2, "mbsInBatch": 5, "activationRecomputation": true,
      "optimizerAlgorithm": "Adam", "fixedPP": 1, "fixedTMPC": 2, "fixedDP": 3, "numTransformerLayers": 4,
      "nodes": {)" +
           nodes + R"(}, "edges": {)" + edges + "}}";
  }
  static std::string node(int id) {
    return R"({"id": )" + std::to_string(id) +
           R"(, "parameterSize": 1, "activationSize": 2, "optimalLatencyFw": 3, "optimalLatencyBw": 4,
        "isTensorParallelized": false})";
  }
};

TEST_F(PhazeFile, IsReadInTopologicalOrder) {
  const auto input = read(file(R"("1": [)" + node(7) + "," + node(-2) + "]",
                               R"("1": [{"sourceId": 7, "destId": -2, "communicationCost": 9}])"));
  EXPECT_THAT(input.ids, ElementsAre(7, -2));
  EXPECT_EQ(input.problem.devices(), 3);
  EXPECT_EQ(input.problem.micro_batches, 5);
  EXPECT_EQ(input.problem.optimizer, PipelineOptimizer::adam);
  EXPECT_TRUE(input.problem.recomputation);
  ASSERT_EQ(input.problem.widths.size(), 1u);
  EXPECT_EQ(input.problem.widths[0].edges[0].bytes, Bytes(9));
  EXPECT_EQ(input.problem.widths[0].layers[1].backward, Seconds(4));
  EXPECT_EQ(input.expert.width, 2);
}

TEST_F(PhazeFile, SaysWhatIsWrong) {
  const std::string edge = R"({"sourceId": 0, "destId": 1, "communicationCost": 9})";
  EXPECT_THAT(error("{"), HasSubstr(":1:"));
  EXPECT_THAT(error("{}"), HasSubstr("nodes"));
  EXPECT_THAT(error(file("", "")), HasSubstr("no nodes"));
  EXPECT_THAT(error(file(R"("x": [)" + node(0) + "]", R"("x": [])")), HasSubstr("'x' is no tensor width"));
  EXPECT_THAT(error(file(R"("1": [)" + node(0) + "], \"2\": [" + node(5) + "]", R"("1": [], "2": [])")),
              HasSubstr("width 2: there is no layer 5"));
  EXPECT_THAT(error(file(R"("1": [)" + node(0) + "," + node(1) + "]",
                         R"("1": [)" + edge + R"(, {"sourceId": 1, "destId": 0, "communicationCost": 9}])")),
              HasSubstr("the edges form a cycle"));
}

}  // namespace
}  // namespace tessera
