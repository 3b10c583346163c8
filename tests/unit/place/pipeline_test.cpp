#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/place/pipeline/placement.hpp"
#include "tests/unit/place/chain_problem.hpp"

namespace tessera {
namespace {

using testing::IsEmpty;

PlanFigures figures(const PipelineProblem& problem, const PipelinePlan& plan, const PlacementRules& rules = {}) {
  const auto result = evaluate(problem, plan, rules);
  if (const auto* none = std::get_if<NoPlan>(&result)) ADD_FAILURE() << none->why;
  return std::get<PlanFigures>(result);
}
double time_of(const PipelineProblem& problem, const PipelinePlan& plan, const PlacementRules& rules = {}) {
  return figures(problem, plan, rules).time.value();
}
std::string refusal(const PipelineProblem& problem, const PipelinePlan& plan) {
  const auto result = evaluate(problem, plan);
  const auto* none = std::get_if<NoPlan>(&result);
  return none != nullptr ? none->why : "";
}

// --- evaluation, by hand ---

TEST(Evaluate, TwoStagesTakeLoadsThenTheSlowestStageTheRest) {
  // Stage 0: 2 layers 6 s + 0.5 s gradient; stage 1: 1 layer 3 s + 0.5 s activation. 10 micro-batches.
  const auto result = figures(chain(3, 2, 10), plan_of({stage(0, 1), stage(2, 2)}));
  EXPECT_DOUBLE_EQ(result.stages[0].load.value(), 6.5);
  EXPECT_DOUBLE_EQ(result.stages[1].load.value(), 3.5);
  EXPECT_DOUBLE_EQ(result.time.value(), 6.5 + 3.5 + 9 * 6.5);
}

TEST(Evaluate, RecomputingAddsAForwardBesideTheIncomingGradient) {
  PipelineProblem problem = chain(3, 2, 10);
  problem.recomputation = true;
  EXPECT_DOUBLE_EQ(figures(problem, plan_of({stage(0, 1, 1, true), stage(2, 2)})).stages[0].load.value(), 2 + 2 + 4);
  problem.network.front().bandwidth = BytesPerSec(1e8);  // the gradient takes 5 s now, longer than 2 s of forward
  EXPECT_DOUBLE_EQ(figures(problem, plan_of({stage(0, 1, 1, true), stage(2, 2)})).stages[0].load.value(), 2 + 5 + 4);
}

TEST(Evaluate, MemoryCountsWhatTheScheduleKeeps) {
  // Mixed precision: 2 B parameters cost 8 times their size for Adam (16 B per parameter), 4 times for SGD.
  PipelineProblem problem = chain(2, 2, 10);
  auto result = figures(problem, plan_of({stage(0, 0), stage(1, 1)}));
  EXPECT_EQ(result.stages[0].in_flight, 2);
  EXPECT_EQ(result.stages[1].in_flight, 1);
  EXPECT_DOUBLE_EQ(result.stages[0].memory.value(), 4e9 + 2 * 2e9);
  problem.optimizer = PipelineOptimizer::adam;
  EXPECT_DOUBLE_EQ(figures(problem, plan_of({stage(0, 1)})).stages[0].memory.value(), 2 * (8e9 + 2e9));
  problem.recomputation = true;
  result = figures(problem, plan_of({stage(0, 0, 1, true), stage(1, 1, 1, false)}));
  EXPECT_DOUBLE_EQ(result.stages[0].memory.value(), 8e9 + 2e9);  // the first layer's input is no tensor of another
  problem.parameter_element = Bytes(4);                          // fp32: gradients and two moments, no master weights
  EXPECT_DOUBLE_EQ(figures(problem, plan_of({stage(0, 1)})).stages[0].memory.value(), 2 * (4e9 + 2e9));
}

TEST(Evaluate, ZeroDividesStateGradientsAndWeights) {
  PipelineProblem problem = chain(1, 4, 8);
  problem.optimizer = PipelineOptimizer::adam;
  const auto memory = [&](int zero_stage) {
    problem.zero_stage = zero_stage;
    return figures(problem, plan_of({stage(0, 0)}, 4)).stages[0].memory.value() - 2e9;
  };
  EXPECT_DOUBLE_EQ(memory(0), 8e9);
  EXPECT_DOUBLE_EQ(memory(1), 2e9 + 6e9 / 4);
  EXPECT_DOUBLE_EQ(memory(2), 1e9 + 7e9 / 4);
  EXPECT_DOUBLE_EQ(memory(3), 8e9 / 4);
  // Weights are gathered forward and backward, gradients scattered once: 3/4 GB each.
  EXPECT_DOUBLE_EQ(time_of(problem, plan_of({stage(0, 0)}, 4)), 2 * (3 + 2 * 0.75) + 0.75);
}

TEST(Evaluate, ReplicasOfAStageTakeTurns) {
  // Stage 0 twice: 5 of 10 micro-batches each; in flight ceil(3 / 2).
  const auto result = figures(chain(3, 3, 10), plan_of({stage(0, 1, 2), stage(2, 2)}));
  EXPECT_EQ(result.stages[0].in_flight, 2);
  EXPECT_DOUBLE_EQ(result.stages[0].sync.value(), 2.0 * 1 / 2 * 2);
  EXPECT_DOUBLE_EQ(result.time.value(), 6.5 + 3.5 + std::max(4 * 6.5, 9 * 3.5) + 2);
}

TEST(Evaluate, ALevelOfTheNetworkIsChosenByTheSpan) {
  PipelineProblem problem = chain(2, 8, 4);
  problem.network = {{2, BytesPerSec(1e10), Seconds(0.001)}, {8, BytesPerSec(1e9), Seconds(0.1)}};
  PipelinePlan plan = plan_of({stage(0, 0), stage(1, 1)}, 2);
  // Replicas side by side: gradient sums over 2 devices inside, transfers to the next pair outside.
  EXPECT_DOUBLE_EQ(time_of(problem, plan), 2 * (3 + 0.5 + 0.1) + 1 * 3.6 + (0.1 + 2 * 0.001));
  plan.order = DeviceOrder::stages_adjacent;  // 4 devices for each replica, sums over all 8
  EXPECT_DOUBLE_EQ(time_of(problem, plan), 2 * (3 + 0.5 + 0.1) + 1 * 3.6 + (1 + 2 * 0.1));
}

TEST(Evaluate, SlowDevicesTakeLonger) {
  PipelineProblem problem = chain(2, 1, 4);
  problem.pools.push_back({"slow", 1, Bytes(1e15), 0.5});
  PipelinePlan plan = plan_of({stage(0, 0), stage(1, 1)});
  plan.stages[1].pool = 1;
  EXPECT_DOUBLE_EQ(time_of(problem, plan), 3.5 + 6.5 + 3 * 6.5);
}

TEST(Evaluate, InterleavedStagesShareADevice) {
  PipelinePlan plan = plan_of({stage(0, 0), stage(1, 1), stage(2, 2), stage(3, 3)});
  plan.chunks = 2;
  // Loads 3.5, 4, 4, 3.5: 7.5 s for each device and micro-batch, and one chunk of 4 s to fill.
  EXPECT_DOUBLE_EQ(time_of(chain(4, 2, 10), plan), 10 * 7.5 + 4);
}

// --- the original's rules, one by one ---

TEST(PlacementRules, EachSwitchHasItsEffect) {
  PipelineProblem problem = chain(3, 4, 10);
  const PipelinePlan plan = plan_of({stage(0, 0), stage(1, 2)}, 2);  // loads 3.5 and 6.5; 5 micro-batches each
  EXPECT_DOUBLE_EQ(time_of(problem, plan), 3.5 + 6.5 + 4 * 6.5 + 2);
  EXPECT_DOUBLE_EQ(time_of(problem, plan, {.slowest_stage_fill = true}), 6 * 6.5 + 2);
  EXPECT_DOUBLE_EQ(time_of(problem, plan, {.first_stage_sync_only = true}), 10 + 4 * 6.5 + 1);
  EXPECT_DOUBLE_EQ(time_of(problem, plan, {.doubled_sync = true}), 10 + 4 * 6.5 + 4);
  EXPECT_DOUBLE_EQ(figures(problem, plan, {.lean_optimizer = true}).stages[0].memory.value(), 2e9 + 2 * 2e9);
  problem.micro_batches = 1;
  const PipelinePlan once = plan_of({stage(0, 0), stage(1, 2)});
  EXPECT_EQ(figures(problem, once).stages[0].in_flight, 1);
  EXPECT_EQ(figures(problem, once, {.endless_micro_batches = true}).stages[0].in_flight, 2);
}

TEST(PlacementRules, SkipEdgesHideOnlyInTheOriginal) {
  PipelineProblem problem = chain(3, 2, 1);
  problem.widths[0].edges.push_back({0, 2, Bytes(0.8e9)});  // a second reader of layer 0's tensor
  const PipelinePlan plan = plan_of({stage(0, 0), stage(1, 2)});
  // Each tensor once, of its largest size; in the original 0 -> 1 arrives after 0.5 s and 0 -> 2 beside layer 1.
  EXPECT_DOUBLE_EQ(figures(problem, plan).stages[1].load.value(), 6 + 0.8);
  EXPECT_DOUBLE_EQ(figures(problem, plan, {.overlapped_skip_edges = true}).stages[1].load.value(), 6 + 0.5);
}

// --- what is no plan or no problem ---

TEST(Evaluate, SaysWhatIsWrongWithAPlan) {
  const PipelineProblem problem = chain(3, 2, 4);
  EXPECT_EQ(refusal(problem, plan_of({stage(0, 1)})), "layer 2 is in no stage");
  EXPECT_EQ(refusal(problem, plan_of({stage(0, 1), stage(1, 2)})), "layer 1 is in stages 0 and 1");
  EXPECT_EQ(refusal(problem, plan_of({stage(0, 3)})), "stage 0 has layer 3, which is none");
  EXPECT_EQ(refusal(problem, plan_of({stage(1, 2), stage(0, 0)})), "layer 0 of stage 1 feeds stage 0");
  EXPECT_EQ(refusal(problem, plan_of({stage(0, 0), stage(1, 1), stage(2, 2)})), "3 devices are needed, there are 2");
  EXPECT_EQ(refusal(problem, plan_of({stage(0, 2)}, 5)), "5 replicas for 4 micro-batches");
  EXPECT_EQ(refusal(problem, plan_of({stage(0, 2, 0)})), "stage 0 has 0 replicas");
  EXPECT_EQ(refusal(problem, plan_of({stage(0, 2, 1, true)})), "stage 0 recomputes, which is off");
  PipelinePlan plan = plan_of({stage(0, 2)});
  plan.stages[0].width = 2;
  EXPECT_EQ(refusal(problem, plan), "stage 0 has tensor width 2, for which there are no costs");
  plan = plan_of({stage(0, 2)});
  plan.stages[0].pool = 1;
  EXPECT_EQ(refusal(problem, plan), "stage 0 is on pool 1 of 1");
  plan = plan_of({stage(0, 2)});
  plan.stages[0].layers = {0, 2, 1};
  EXPECT_EQ(refusal(problem, plan), "the layers of stage 0 are not ascending");
  plan = plan_of({stage(0, 0), stage(1, 1), stage(2, 2)});
  plan.chunks = 2;
  EXPECT_EQ(refusal(problem, plan), "3 stages in 2 chunks per device");
  plan = plan_of({stage(0, 0), stage(1, 2, 2)});
  plan.chunks = 2;
  EXPECT_EQ(refusal(problem, plan), "stages 0 and 1 are chunks of one device, but sit differently");
}

TEST(Evaluate, SaysHowMuchMemoryIsMissing) {
  PipelineProblem problem = chain(1, 1, 1);
  problem.pools.front().memory = Bytes(5.0 * 1073741824);
  const auto result = evaluate(problem, plan_of({stage(0, 0)}));
  EXPECT_EQ(std::get<NoPlan>(result).why, "stage 0 needs 5.59 GiB per device, of 5.00 GiB that there are");
  EXPECT_DOUBLE_EQ(std::get<NoPlan>(result).short_of.value(), 6e9 - 5.0 * 1073741824);
}

TEST(PipelineProblem, SaysWhatIsWrong) {
  const auto error = [](const std::function<void(PipelineProblem&)>& change) {
    PipelineProblem problem = chain(3, 2, 4);
    problem.widths.push_back(problem.widths.front());
    problem.widths.back().width = 2;
    change(problem);
    return problem_error(problem);
  };
  using P = PipelineProblem;
  EXPECT_THAT(error([](P&) {}), IsEmpty());
  EXPECT_EQ(error([](P& p) { p.widths.clear(); }), "no layers");
  EXPECT_EQ(error([](P& p) { p.widths[0].width = 0; }), "a tensor width of 0, expected 1 or more");
  EXPECT_EQ(error([](P& p) { p.widths[1].layers.pop_back(); }), "width 2 has 2 layers, width 1 has 3");
  EXPECT_EQ(error([](P& p) { p.widths[1].layers[2].forward = Seconds(-1); }), "width 2: layer 2 has a negative cost");
  EXPECT_EQ(error([](P& p) { p.widths[0].edges[0].to = 0; }),
            "width 1: an edge of 500000000 B from layer 0 to 0, expected from a lower to a higher of 3 layers");
  EXPECT_EQ(error([](P& p) { p.widths[1].edges.pop_back(); }), "width 2 has other edges than width 1");
  EXPECT_EQ(error([](P& p) { p.widths[1].width = 1; }), "width 1 after width 1, expected ascending");
  EXPECT_EQ(error([](P& p) { p.pools.clear(); }), "no devices");
  EXPECT_EQ(error([](P& p) { p.pools[0].devices = 0; }), "a pool of 0 devices, expected 1 or more");
  EXPECT_EQ(error([](P& p) { p.pools[0].speed_ratio = 0; }), "a pool of speed 0, expected more than 0");
  EXPECT_EQ(error([](P& p) { p.micro_batches = 0; }), "0 micro-batches, expected 1 or more");
  EXPECT_EQ(error([](P& p) { p.zero_stage = 4; }), "ZeRO stage 4, expected 0 to 3");
  EXPECT_EQ(error([](P& p) { p.network.clear(); }), "no network level");
  EXPECT_EQ(error([](P& p) { p.network.push_back(p.network[0]); }), "a network level of 2 devices outside one of 2");
  EXPECT_EQ(error([](P& p) { p.network[0].bandwidth = BytesPerSec(0); }), "a network level without bandwidth");
  EXPECT_EQ(error([](P& p) { p.network[0].latency = Seconds(-1); }), "a network level with a negative latency");
}

}  // namespace
}  // namespace tessera
