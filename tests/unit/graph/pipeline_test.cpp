// Pipelines in the plan: who has which layers, and that every message has its sender and its receiver.
#include "sim/graph/pipeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/graph/model_config.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const RunError& error) {
    return error.what();
  }
  return "";
}

Graph training_graph(const char* model) {
  return build_graph(
      find_model(model),
      {.mode = Mode::training, .batch = 2, .sequence = 64, .dtype = Dtype::bf16, .optimizer = OptimizerKind::adam});
}

TEST(StageOfLayers, AreAsEqualAsCanBeOrAsGiven) {
  EXPECT_THAT(stage_of_layers(5, 2, {}), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(stage_of_layers(4, 3, {1, 2, 1}), ElementsAre(0, 1, 1, 2));
  EXPECT_EQ(refusal([] { stage_of_layers(2, 3, {}); }), "2 layers are fewer than the 3 stages of pp");
  EXPECT_EQ(refusal([] { stage_of_layers(4, 0, {}); }), "pp is 0, expected 1 or more");
  EXPECT_EQ(refusal([] {
              stage_of_layers(4, 2, {3, 2});
            }),
            "stage_layers [3, 2] are no 2 counts that add up to 4 layers");
  EXPECT_EQ(refusal([] { stage_of_layers(4, 2, {4}); }), "stage_layers [4] are no 2 counts that add up to 4 layers");
  EXPECT_EQ(refusal([] {
              stage_of_layers(4, 3, {2, 0, 2});
            }),
            "stage_layers [2, 0, 2] are no 3 counts that add up to 4 layers");
}

TEST(StageOfLayers, TheEndsMayHoldNoLayer) {
  EXPECT_EQ(stage_of_layers(4, 3, {0, 4, 0}), std::vector<int>(4, 1));
  const Graph graph = training_graph("gpt2");
  const StageMap map = assign_stages(graph, 3, {0, 12, 0});
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    const Operator& op = graph.operators[i];
    EXPECT_EQ(op.layer >= 0, map.of_operator[i] == 1) << graph.names[op.name];
  }
}

TEST(AssignStages, EmbeddingComesFirstAndTheHeadLast) {
  const Graph graph = training_graph("gpt2");
  const StageMap map = assign_stages(graph, 3, {});
  int layered = 0;
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    const Operator& op = graph.operators[i];
    if (op.layer >= 0) {
      ++layered;
      EXPECT_EQ(map.of_operator[i], op.layer / 4);
    } else {
      EXPECT_NE(map.of_operator[i], 1) << graph.names[op.name];
    }
    const Op kind = op.kernel.op;
    const bool table = kind == Op::embedding || kind == Op::embedding_backward;
    EXPECT_TRUE(!table || map.of_operator[i] == 0);
    EXPECT_TRUE(!graph.names[op.name].starts_with("language model head") || map.of_operator[i] == 2);
  }
  EXPECT_GT(layered, 100);
  EXPECT_EQ(map.of_parameter.front(), 0);
  EXPECT_EQ(map.of_parameter.back(), 2);
}

TEST(AssignStages, EncoderDecodersAreRefused) {
  const Graph graph = training_graph("switchxl4");
  EXPECT_EQ(refusal([&] { assign_stages(graph, 2, {}); }),
            "switchxl4: pipelines of encoder-decoder models are not modelled");
}

/// Of one rank of each stage together.
std::map<Phase, std::map<KernelId, int>> kernels_of(const Plan& plan) {
  std::map<Phase, std::map<KernelId, int>> calls;
  for (const Task& task : plan.tasks)
    if (const auto* id = std::get_if<KernelId>(&task.work)) ++calls[task.phase][*id];
  return calls;
}

TEST(PipelinePlan, StagesTogetherDoWhatOneDoes) {
  const Graph graph = training_graph("llama-2-7b");
  ParallelSpec spec{.tp = 2, .dp = 2, .micro_batches = 3};
  const auto whole = kernels_of(make_plan(graph, spec));
  for (const int pp : {2, 3, 5, 12}) {
    spec.pp = pp;
    const Plan plan = make_plan(graph, spec);
    EXPECT_EQ(kernels_of(plan), whole) << pp;
    EXPECT_EQ(plan.program_ends.size(), static_cast<std::size_t>(pp));
    EXPECT_EQ(plan.program_end(pp - 1), plan.tasks.size());
  }
}

TEST(PipelinePlan, DependenciesStayInTheStage) {
  const Plan plan = make_plan(training_graph("gpt2"), {.tp = 2, .dp = 2, .pp = 4, .micro_batches = 5});
  for (int stage = 0; stage < 4; ++stage)
    for (std::size_t t = plan.program_begin(stage); t < plan.program_end(stage); ++t)
      for (const TaskId before : plan.tasks[t].after) {
        EXPECT_GE(static_cast<std::size_t>(before), plan.program_begin(stage));
        EXPECT_LT(static_cast<std::size_t>(before), t);
      }
}

TEST(PipelinePlan, EveryMessageIsSentToANeighbourAndReceivedThere) {
  const int pp = 4, micro_batches = 5;
  const Plan plan = make_plan(training_graph("llama-2-7b"), {.pp = pp, .micro_batches = micro_batches});
  std::map<std::uint32_t, std::vector<int>> senders, receivers;
  for (int stage = 0; stage < pp; ++stage)
    for (std::size_t t = plan.program_begin(stage); t < plan.program_end(stage); ++t) {
      const auto* message = std::get_if<Collective>(&plan.tasks[t].work);
      if (message == nullptr || message->kind != CollectiveKind::send_recv) continue;
      EXPECT_EQ(message->bytes, Bytes(2.0 * 64 * 4096 * 2));  // batch x sequence x hidden x 2 B
      const int step = message->over == Dimension::next ? 1 : -1;
      (message->receives ? receivers : senders)[message->message].push_back(message->receives ? stage - step : stage);
    }
  EXPECT_EQ(senders.size(), static_cast<std::size_t>(2 * (pp - 1) * micro_batches));
  EXPECT_EQ(senders, receivers);
  for (const auto& [number, stages] : senders) EXPECT_EQ(stages.size(), 1u);
}

TEST(PipelinePlan, GroupsStayInTheStageAndMessagesCrossIt) {
  Plan plan;
  plan.spec = {.tp = 2, .dp = 3, .pp = 2};
  const auto group = [&](int rank, Dimension over) {
    std::vector<int> ranks;
    for (const Rank r : plan.group(static_cast<Rank>(rank), over)) ranks.push_back(static_cast<int>(r));
    return ranks;
  };
  EXPECT_THAT(group(9, Dimension::tp), ElementsAre(8, 9));
  EXPECT_THAT(group(9, Dimension::dp), ElementsAre(7, 9, 11));
  EXPECT_THAT(group(3, Dimension::dp), ElementsAre(1, 3, 5));
  EXPECT_THAT(group(3, Dimension::next), ElementsAre(3, 9));
  EXPECT_THAT(group(9, Dimension::previous), ElementsAre(9, 3));
  EXPECT_THAT(group(9, Dimension::next), ElementsAre());
  EXPECT_THAT(group(3, Dimension::previous), ElementsAre());
  EXPECT_EQ(plan.program_of(static_cast<Rank>(5)), 0);
  EXPECT_EQ(plan.program_of(static_cast<Rank>(6)), 1);
}

}  // namespace
}  // namespace tessera
