// A search's plans as runs of the event loop, and what is said about where they differ.
#include "sim/app/search/replay.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/place/chip/chip_platform.hpp"
#include "sim/place/chip/economics.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SearchScenario small_scenario() {
  SearchScenario s;
  s.name = "small";
  SearchWorkload& workload = s.workloads.emplace_back();
  workload.model = "bert-large";
  workload.sequence = 128;
  workload.widest = 2;
  s.system.devices = 64;
  s.system.batch = 250;
  NetworkSection& level = s.system.network.emplace_back();
  level.devices = 64;
  level.bandwidth = BytesPerSec(25e9);
  return s;
}

class Replayed : public testing::Test {
 protected:
  [[nodiscard]] PlannedChip planned(const ChipResult& result) const {
    return {scenario_, scenario_.workloads.front(), costs(), chip_, result};
  }
  [[nodiscard]] const ChipWorkload& costs() const { return study_.workloads().front().choices.front(); }
  /// So many stages: the embedding, blocks, the head.
  [[nodiscard]] ChipResult of(std::vector<std::vector<int>> stages, int width = 1, int replicas = 4) const {
    PipelinePlan plan;
    plan.replicas = replicas;
    for (auto& layers : stages) plan.stages.push_back({.layers = std::move(layers), .width = width});
    return costs().evaluate_plan(chip_, plan);
  }
  static std::vector<int> range(int from, int to) {
    std::vector<int> layers;
    for (int i = from; i < to; ++i) layers.push_back(i);
    return layers;
  }

  SearchScenario scenario_ = small_scenario();
  ChipStudy study_ = study_of(scenario_, PlanKinds::replayable);
  SystolicChip chip_ = reference_chip(scenario_);
};

TEST_F(Replayed, APlanIsARun) {
  const ChipResult result = of({{0}, range(1, 25), {25}});
  ASSERT_TRUE(result.feasible) << result.why;
  const auto made = replay_spec(planned(result));
  ASSERT_TRUE(std::holds_alternative<RunSpec>(made));
  const auto& spec = std::get<RunSpec>(made);
  EXPECT_EQ(spec.parallel.pp, 3);
  EXPECT_EQ(spec.parallel.dp, 4);
  EXPECT_EQ(spec.parallel.micro_batches, 63);  // of 250 samples, over four replicas
  EXPECT_THAT(spec.parallel.stage_layers, ElementsAre(0, 24, 0));
  EXPECT_EQ(spec.cluster.gpus(), 64);
  EXPECT_EQ(spec.cluster.node.nic_bandwidth, BytesPerSec(25e9));
  ASSERT_TRUE(spec.sections);
  EXPECT_GT(spec.sections->block.backward, spec.sections->block.forward);
}

TEST_F(Replayed, OneStageTakesItsLayersAndNothingElse) {
  const ChipResult result = of({range(0, 26)}, 1, 1);
  const Replay r = replay(planned(result));
  ASSERT_TRUE(r.ran) << r.why;
  EXPECT_NEAR(r.seen.compute / (r.expected.compute + r.optimizer), 1, 1e-6);
  EXPECT_NEAR(r.seen.step() / r.seen.compute, 1, 1e-6);
  EXPECT_NEAR(r.expected.step() / r.expected.compute, 1, 1e-9);
}

TEST_F(Replayed, EqualStagesAgreeWithTheClosedForm) {
  // Two stages of the same work on a fast network: (m + 1) loads.
  scenario_.system.network.front().bandwidth = BytesPerSec(1e14);
  study_ = study_of(scenario_, PlanKinds::replayable);
  const Replay r = replay(planned(of({range(0, 13), range(13, 26)}, 1, 2)));
  ASSERT_TRUE(r.ran) << r.why;
  EXPECT_NEAR(r.seen.step() / (r.expected.step() + r.optimizer), 1, 0.03);  // the head makes the second one longer
}

TEST_F(Replayed, TensorParallelSumsRunOnTheNetwork) {
  const Replay r = replay(planned(of({range(0, 26)}, 2, 2)));
  ASSERT_TRUE(r.ran) << r.why;
  EXPECT_GT(r.seen.transfers, 0.5 * r.expected.transfers);
  EXPECT_LT(r.seen.transfers, 2.0 * r.expected.transfers);
}

TEST_F(Replayed, SimulationAndSearchHaveOneModelOfPower) {
  const ChipResult result = of({range(0, 13), range(13, 26)}, 1, 8);
  const Replay r = replay(planned(result));
  ASSERT_TRUE(r.ran) << r.why;
  // Energy of a step on all devices: the simulation adds the optimizer's, and waits of another length.
  const Joules idle = idle_power(chip_) * (r.seen.step() - r.expected.step()) * 16.0;
  const Joules seen = r.power * r.seen.step() * 16.0 - idle;
  EXPECT_NEAR(seen / result.energy, 1, 0.02);
}

TEST_F(Replayed, InterleavedStagesRunAsTheirClosedForm) {
  // Two devices of two chunks on a fast network: busiest x micro-batches + the largest chunk.
  scenario_.system.network.front().bandwidth = BytesPerSec(1e14);
  scenario_.system.batch = 256;
  study_ = study_of(scenario_, PlanKinds::replayable);
  ChipResult result = of({range(0, 7), range(7, 13), range(13, 19), range(19, 26)}, 1, 2);
  result.plan.chunks = 2;
  result = costs().evaluate_plan(chip_, result.plan);
  ASSERT_TRUE(result.feasible) << result.why;
  const auto made = replay_spec(planned(result));
  ASSERT_TRUE(std::holds_alternative<RunSpec>(made));
  const auto& spec = std::get<RunSpec>(made);
  EXPECT_EQ(spec.parallel.pp, 2);
  EXPECT_EQ(spec.parallel.chunks, 2);
  EXPECT_NEAR(result.power * result.step * 4.0 / result.energy, 1, 1e-12);  // of four devices
  EXPECT_THAT(spec.parallel.stage_layers, ElementsAre(6, 6, 6, 6));
  const Replay r = replay(planned(result));
  ASSERT_TRUE(r.ran) << r.why;
  EXPECT_NEAR(r.seen.step() / (r.expected.step() + r.optimizer), 1, 0.03);
}

TEST_F(Replayed, ReplicasOfAStageRunAsTheirClosedForm) {
  // A stage of one third of the work, and one of two thirds with two replicas, on a fast network.
  scenario_.system.network.front().bandwidth = BytesPerSec(1e14);
  scenario_.system.batch = 256;
  study_ = study_of(scenario_, PlanKinds::replayable);
  ChipResult result = of({range(0, 9), range(9, 26)}, 1, 2);
  result.plan.stages.back().replicas = 2;
  result = costs().evaluate_plan(chip_, result.plan);
  ASSERT_TRUE(result.feasible) << result.why;
  const auto made = replay_spec(planned(result));
  ASSERT_TRUE(std::holds_alternative<RunSpec>(made));
  const auto& spec = std::get<RunSpec>(made);
  EXPECT_THAT(spec.parallel.stage_replicas, ElementsAre(1, 2));
  EXPECT_EQ(spec.parallel.world_size(), 6);
  const Replay r = replay(planned(result));
  ASSERT_TRUE(r.ran) << r.why;
  EXPECT_NEAR(r.seen.step() / (r.expected.step() + r.optimizer), 1, 0.03);
  const Joules idle = idle_power(chip_) * (r.seen.step() - r.expected.step()) * 6.0;
  EXPECT_NEAR((r.power * r.seen.step() * 6.0 - idle) / result.energy, 1, 0.02);
}

TEST_F(Replayed, PlansAreRankedBySimulation) {
  const std::vector<PlanReplay> plans = replay_plans(scenario_, study_, chip_, 0, 4);
  ASSERT_GE(plans.size(), 2u);
  std::set<std::size_t> ranks;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    ranks.insert(plans[i].rank);
    EXPECT_LE(plans[i].replay.seen_rate, plans[i == 0 ? 0 : i - 1].replay.seen_rate);
  }
  EXPECT_EQ(ranks.size(), plans.size());
  // The best by the analytical cost is the search's own.
  const auto first = std::ranges::find(plans, 1u, &PlanReplay::rank);
  EXPECT_NEAR(first->result.samples_per_second / study_.evaluate(chip_).workloads.front().result.samples_per_second, 1,
              1e-12);
  for (const PlanReplay& p : plans) EXPECT_LE(p.result.samples_per_second, first->result.samples_per_second);
}

TEST_F(Replayed, WhatTheEventLoopCannotRunIsSaid) {
  ChipResult mixed = of({range(0, 13), range(13, 26)});
  mixed.plan.stages.back().width = 2;
  EXPECT_THAT(std::get<std::string>(replay_spec(planned(mixed))), HasSubstr("different tensor widths"));
  NetworkSection level = scenario_.system.network.front();
  scenario_.system.network.insert(scenario_.system.network.begin(), 2, level);
  scenario_.system.network[0].devices = 4;
  scenario_.system.network[1].devices = 16;
  study_ = study_of(scenario_, PlanKinds::replayable);
  const ChipResult result = of({range(0, 26)});
  EXPECT_THAT(std::get<std::string>(replay_spec(planned(result))), HasSubstr("the network has 3 levels"));
}

TEST(Difference, NamesPartsByTheirShareOfTheExpectedStep) {
  Replay r;
  r.expected = {Seconds(8), Seconds(1), Seconds(1)};
  r.seen = {Seconds(8.5), Seconds(0.5), Seconds(2)};
  r.optimizer = Seconds(0.5);
  EXPECT_EQ(r.difference(), "10.0 % slower: idle +10.0 %, optimizer +5.0 %, transfers -5.0 %");
  r.seen = r.expected;
  r.optimizer = Seconds();
  EXPECT_EQ(r.difference(), "the same");
}

TEST(ChipCluster, NodesAreTheInnermostOfTwoLevels) {
  const GpuSpec chip = to_spec(baseline_chip("TPUv4-like"), Bytes(80e9));
  const NetworkLevel node{8, BytesPerSec(1e11), Seconds(1e-6)}, all{64, BytesPerSec(1e10), Seconds(4e-6)};
  const auto two = std::get<ClusterSpec>(chip_cluster(chip, 64, std::vector{node, all}));
  EXPECT_EQ(two.node.gpus, 8);
  EXPECT_EQ(two.nodes, 8);
  EXPECT_EQ(two.node.gpu_link, node.bandwidth);
  EXPECT_EQ(two.node.nic_latency, Seconds(2e-6));
  EXPECT_FALSE(find_problem(two));
  const auto one = std::get<ClusterSpec>(chip_cluster(chip, 64, std::vector{all}));
  EXPECT_EQ(one.node.gpus, 1);
  EXPECT_EQ(one.nodes, 64);
  EXPECT_FALSE(find_problem(one));
  EXPECT_EQ(std::get<std::string>(chip_cluster(chip, 60, std::vector{node, all})), "60 devices do not fill nodes of 8");
}

TEST(Candidates, AWiderAreaKeepsTheSmallChips) {
  SearchScenario s = small_scenario();
  const std::vector<SystolicChip> usual = candidates_of(s);
  s.space.area = Area(2000);
  const std::vector<SystolicChip> wide = candidates_of(s);
  EXPECT_GT(wide.size(), usual.size());
  std::set<std::string> names;
  for (const SystolicChip& chip : wide) names.insert(describe(chip));
  for (const SystolicChip& chip : usual) EXPECT_TRUE(names.contains(describe(chip))) << describe(chip);
}

}  // namespace
}  // namespace tessera
