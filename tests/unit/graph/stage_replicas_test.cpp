// Replicas of a pipeline's stages: turns, how many micro-batches they keep, whom they meet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/graph/model_config.hpp"
#include "sim/graph/pipeline.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Graph training_graph(const char* model) {
  return build_graph(
      find_model(model),
      {.mode = Mode::training, .batch = 1, .sequence = 64, .dtype = Dtype::bf16, .optimizer = OptimizerKind::adam});
}

ParallelSpec uneven() {
  ParallelSpec spec{.tp = 2, .dp = 2, .pp = 3, .micro_batches = 11};
  spec.stage_replicas = {2, 3, 1};
  return spec;
}

TEST(StageReplicas, ProgramsAreNumberedByStage) {
  const ParallelSpec spec = uneven();
  EXPECT_EQ(spec.programs(), 6);
  EXPECT_EQ(spec.world_size(), 24);
  std::vector<int> stages;
  for (int program = 0; program < 6; ++program) stages.push_back(spec.stage_of(program));
  EXPECT_THAT(stages, ElementsAre(0, 0, 1, 1, 1, 2));
}

TEST(StageReplicas, TakeTurnsAndKeepNoMoreThanTheRestOfThePipelineNeeds) {
  const ParallelSpec spec = uneven();
  for (int stage = 0; stage < spec.pp; ++stage) {
    std::vector<std::int64_t> all;
    const int replicas = spec.replicas_of(stage);
    const std::int64_t to_the_end = spec.programs() - spec.first_program(stage);
    for (int k = 0; k < replicas; ++k) {
      std::int64_t kept = 0, most = 0;
      std::map<std::int64_t, bool> open;
      for (const Pass& pass : pass_order(spec, stage, k)) {
        EXPECT_EQ(pass.micro_batch % replicas, k);
        kept += pass.forward ? 1 : -1;
        most = std::max(most, kept);
        EXPECT_NE(open[pass.micro_batch], pass.forward);  // forward, then backward
        open[pass.micro_batch] = pass.forward;
        if (pass.forward) all.push_back(pass.micro_batch);
      }
      EXPECT_EQ(most, (to_the_end + replicas - 1) / replicas) << stage;
    }
    std::ranges::sort(all);
    std::vector<std::int64_t> expected(static_cast<std::size_t>(spec.micro_batches));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(all, expected);
  }
}

TEST(StageReplicas, OneOfEachIsThePlainPlan) {
  const Graph graph = training_graph("gpt2");
  ParallelSpec spec{.tp = 2, .dp = 2, .pp = 3, .micro_batches = 4};
  const Plan plain = make_plan(graph, spec);
  spec.stage_replicas = {1, 1, 1};
  const Plan same = make_plan(graph, spec);
  EXPECT_EQ(same.program_ends, plain.program_ends);
  ASSERT_EQ(same.tasks.size(), plain.tasks.size());
  for (std::size_t t = 0; t < plain.tasks.size(); ++t) {
    EXPECT_EQ(same.tasks[t].after, plain.tasks[t].after);
    EXPECT_EQ(same.tasks[t].micro_batch, plain.tasks[t].micro_batch);
    const auto *a = std::get_if<Collective>(&same.tasks[t].work), *b = std::get_if<Collective>(&plain.tasks[t].work);
    ASSERT_EQ(a == nullptr, b == nullptr);
    if (a == nullptr) continue;
    EXPECT_EQ(a->message, b->message);
    EXPECT_EQ(a->away, b->away);
  }
}

// gpt2 ties its embeddings: the last stage's message to the first goes round.
TEST(StageReplicas, EveryMessageHasASenderAndTheReceiverThatItNames) {
  const Plan plan = make_plan(training_graph("gpt2"), uneven());
  struct Side {
    int program, other;
    Bytes bytes;
    bool operator==(const Side&) const = default;
  };
  std::map<std::uint32_t, std::vector<Side>> sent, received;
  for (int program = 0; program < plan.spec.programs(); ++program) {
    for (std::size_t t = plan.program_begin(program); t < plan.program_end(program); ++t) {
      const auto* message = std::get_if<Collective>(&plan.tasks[t].work);
      if (message == nullptr || !is_message(*message)) continue;
      const Rank rank{static_cast<std::uint32_t>(program * plan.spec.ranks_per_program() + 1)};
      const bool onwards = (message->over == Dimension::next) != message->receives;
      const auto pair = plan.group(rank, onwards ? Dimension::next : Dimension::previous, message->away);
      ASSERT_EQ(pair.size(), 2u);
      const int other = plan.program_of(pair.back());
      if (message->receives)
        received[message->message].push_back({other, program, message->bytes});
      else
        sent[message->message].push_back({program, other, message->bytes});
    }
  }
  EXPECT_EQ(sent, received);
  for (const auto& [number, sides] : sent) EXPECT_EQ(sides.size(), 1u) << number;
  // 2 boundaries, both ways; the table to 2 and to 1 replicas.
  EXPECT_EQ(sent.size(), 2u * 2 * 11 + 2 + 1);
}

TEST(StageReplicas, SumTheirGradientsTogether) {
  const Plan plan = make_plan(training_graph("llama-2-7b"), uneven());
  std::vector<std::map<std::uint32_t, Bytes>> sums(6);
  for (int program = 0; program < 6; ++program)
    for (std::size_t t = plan.program_begin(program); t < plan.program_end(program); ++t)
      if (const auto* c = std::get_if<Collective>(&plan.tasks[t].work); c != nullptr && c->over == Dimension::dp)
        if (meets_by_number(*c)) sums[static_cast<std::size_t>(program)][c->message] = c->bytes;
  EXPECT_FALSE(sums[0].empty());
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[2], sums[3]);
  EXPECT_EQ(sums[2], sums[4]);
  EXPECT_TRUE(sums[5].empty());  // alone in its stage: its ranks meet at their task
  const auto ranks = [&](int rank) {
    std::vector<int> found;
    for (const Rank r : plan.group(static_cast<Rank>(rank), Dimension::dp)) found.push_back(static_cast<int>(r));
    return found;
  };
  EXPECT_THAT(ranks(3), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(ranks(8), ElementsAre(8, 10, 12, 14, 16, 18));
  EXPECT_THAT(ranks(23), ElementsAre(21, 23));
}

std::string refusal(const ParallelSpec& spec) {
  try {
    (void)make_plan(training_graph("gpt2"), spec);
  } catch (const RunError& error) {
    return error.what();
  }
  return "";
}

TEST(StageReplicas, WhatIsNotModelledIsRefused) {
  ParallelSpec spec = uneven();
  spec.micro_batches = 2;
  EXPECT_EQ(refusal(spec), "stage_replicas [2, 3, 1] are no 3 counts of 1 to 2, the micro-batches");
  spec = uneven();
  spec.stage_replicas.pop_back();
  EXPECT_THAT(refusal(spec), HasSubstr("stage_replicas [2, 3] are no 3 counts"));
  const std::string only =
      "stage_replicas: replicas of a stage take turns under plain 1F1B, without chunks and sharding";
  spec = uneven();
  spec.chunks = 2;
  EXPECT_EQ(refusal(spec), only);
  spec = uneven();
  spec.schedule = PipelineSchedule::gpipe;
  EXPECT_EQ(refusal(spec), only);
  spec = uneven();
  spec.sharding = Sharding::zero1;
  EXPECT_EQ(refusal(spec), only);
}

}  // namespace
}  // namespace tessera
