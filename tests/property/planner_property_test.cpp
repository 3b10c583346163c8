// The corrected placement search: exhaustive search of all plans on small problems, the original's plans, the schedule.
#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "sim/place/pipeline/baselines.hpp"
#include "sim/place/pipeline/downsets.hpp"
#include "sim/place/pipeline/one_f_one_b.hpp"
#include "sim/place/pipeline/placement.hpp"
#include "sim/place/pipeline/seats.hpp"
#include "tests/property/random_placement.hpp"

namespace tessera {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Tries every plan without interleaving and judges it by `evaluate`.
class EveryPlan {
 public:
  EveryPlan(const PipelineProblem& problem, const PlacementRules& rules)
      : problem_(problem), rules_(rules), sets_(*Downsets::of(problem, 512)) {}

  double best() {
    for (plan_.replicas = 1; plan_.replicas <= std::min<std::int64_t>(problem_.devices(), problem_.micro_batches);
         ++plan_.replicas)
      for (const auto order : {DeviceOrder::replicas_adjacent, DeviceOrder::stages_adjacent}) {
        plan_.order = order;
        add_stages(sets_.size() - 1, problem_.devices() / plan_.replicas);
      }
    return best_;
  }

 private:
  void add_stages(std::size_t left, int devices) {
    if (left == 0) {
      const auto figures = evaluate(problem_, plan_, rules_);
      if (const auto* found = std::get_if<PlanFigures>(&figures)) best_ = std::min(best_, found->time.value());
      return;
    }
    for (std::size_t rest = 0; rest < left; ++rest)
      if (sets_.inside(rest, left)) add_stage(left, rest, devices);
  }
  void add_stage(std::size_t left, std::size_t rest, int devices) {
    for (const WidthProfile& profile : problem_.widths)
      for (int replicas = 1; replicas <= 4; ++replicas)
        for (int pool = 0; pool < static_cast<int>(problem_.pools.size()); ++pool)
          for (const bool recompute : {false, true}) {
            if (replicas > devices || (recompute && !problem_.recomputation)) continue;
            plan_.stages.push_back({sets_.between(rest, left), profile.width, replicas, pool, recompute});
            if (plan_.replicas * replicas <= problem_.micro_batches) add_stages(rest, devices - replicas);
            plan_.stages.pop_back();
          }
  }

  const PipelineProblem& problem_;
  const PlacementRules& rules_;
  Downsets sets_;
  PipelinePlan plan_;
  double best_ = kNever;
};

/// Two network levels, mixed-precision optimizer, perhaps ZeRO.
PipelineProblem hierarchical(Rng& rng, int layers, int devices) {
  PipelineProblem problem = random_placement(rng, {.most_layers = layers, .widths = {1, 2}});
  Bytes total;
  for (const LayerCost& layer : problem.widths.front().layers) total += 8.0 * layer.parameters + layer.activations;
  problem.pools = {{"a", 1 + static_cast<int>(rng.below(static_cast<std::uint32_t>(devices))),
                    total * detail::between(rng, 0.15, 1.5)}};
  problem.network = {{2, BytesPerSec(1e11), Seconds(1e-6)}, {devices, BytesPerSec(1e9), Seconds(1e-4)}};
  problem.micro_batches = 1 + rng.below(12);
  problem.zero_stage = static_cast<int>(rng.below(4));
  return problem;
}

/// Drops edges of the chain, so that layers stand beside each other.
void branch(Rng& rng, PipelineProblem& problem) {
  const auto edges = problem.widths.front().edges.size();
  for (std::size_t e = edges; e-- > 0;) {
    if (rng.below(3) > 0) continue;
    for (WidthProfile& profile : problem.widths) profile.edges.erase(profile.edges.begin() + static_cast<long>(e));
  }
}

/// Counts the problems that have a plan.
void expect_best(const PipelineProblem& problem, const PlacementRules& rules, int number, int& feasible) {
  const double best = EveryPlan(problem, rules).best();
  const PlanOutcome outcome = plan_pipeline(problem, {.rules = rules, .interleaving = false});
  const auto* plan = std::get_if<PipelinePlan>(&outcome);
  ASSERT_EQ(plan != nullptr, best < kNever) << "case " << number;
  if (plan == nullptr) return;
  ++feasible;
  EXPECT_TRUE(plan->exact) << "case " << number;
  ASSERT_NEAR(plan->time.value() / best, 1, 1e-12) << "case " << number;
  const auto figures = evaluate(problem, *plan, rules);
  ASSERT_TRUE(std::holds_alternative<PlanFigures>(figures)) << std::get<NoPlan>(figures).why;
  ASSERT_NEAR(std::get<PlanFigures>(figures).time / plan->time, 1, 1e-12) << "case " << number;
}

TEST(Planner, IsTheBestOfAllPlansOnAHierarchicalNetwork) {
  Rng rng(1);
  int feasible = 0;
  for (int i = 0; i < 200; ++i) expect_best(hierarchical(rng, 5, 6), {}, i, feasible);
  EXPECT_GT(feasible, 100);
}

TEST(Planner, IsTheBestOfAllPlansOfBranchingLayers) {
  Rng rng(2);
  int feasible = 0;
  for (int i = 0; i < 150; ++i) {
    PipelineProblem problem = hierarchical(rng, 4, 4);
    branch(rng, problem);
    expect_best(problem, {}, i, feasible);
  }
  EXPECT_GT(feasible, 75);
}

TEST(Planner, IsTheBestOfAllPlansOnTwoKindsOfDevices) {
  Rng rng(3);
  int feasible = 0;
  for (int i = 0; i < 60; ++i) {
    PipelineProblem problem = hierarchical(rng, 3, 3);
    DevicePool slow = problem.pools.front();
    slow.speed_ratio = 0.5;
    slow.memory *= 2;
    problem.pools.push_back(slow);
    expect_best(problem, {}, i, feasible);
  }
  EXPECT_GT(feasible, 30);
}

TEST(Planner, IsTheBestOfAllPlansUnderTheOriginalsRules) {
  Rng rng(4);
  int feasible = 0;
  for (int i = 0; i < 150; ++i) {
    PipelineProblem problem = random_placement(rng, {.most_layers = 4, .widths = {1, 2}});
    problem.pools.front().devices = 1 + static_cast<int>(rng.below(5));
    problem.network.front().devices = 5;
    problem.micro_batches = 1 + rng.below(12);
    expect_best(problem, PlacementRules::phaze(), i, feasible);
  }
  EXPECT_GT(feasible, 75);
}

TEST(Planner, IsNeverWorseThanTheOriginalsPlan) {
  Rng rng(5);
  int better = 0, compared = 0;
  for (int i = 0; i < 500; ++i) {
    const PipelineProblem problem = random_placement(rng, {.most_layers = 9});
    const PlanOutcome original = solve_phaze(problem);
    for (const auto& rules : {PlacementRules::phaze(), PlacementRules{}}) {
      if (std::holds_alternative<NoPlan>(original)) continue;
      const auto figures = evaluate(problem, std::get<PipelinePlan>(original), rules);
      if (std::holds_alternative<NoPlan>(figures)) continue;
      const PlanOutcome ours = plan_pipeline(problem, {.rules = rules});
      ASSERT_TRUE(std::holds_alternative<PipelinePlan>(ours)) << "case " << i;
      const double ratio = std::get<PipelinePlan>(ours).time / std::get<PlanFigures>(figures).time;
      ASSERT_LE(ratio, 1 + 1e-12) << "case " << i;
      better += ratio < 0.999 ? 1 : 0;
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
  EXPECT_GT(better, compared / 4);
}

TEST(Planner, IsNeverWorseThanPlansMadeWithoutASearch) {
  Rng rng(9);
  int compared = 0;
  for (int i = 0; i < 300; ++i) {
    const PipelineProblem problem = hierarchical(rng, 7, 16);
    const PlanOutcome ours = plan_pipeline(problem, {.interleaving = false});
    for (const auto& baseline : {data_parallel_plan(problem), megatron_plan(problem), metis_plan(problem)}) {
      const auto* plan = std::get_if<PipelinePlan>(&baseline);
      if (plan == nullptr) continue;
      ++compared;
      ASSERT_TRUE(std::holds_alternative<PipelinePlan>(ours)) << "case " << i;
      EXPECT_LE(std::get<PipelinePlan>(ours).time / plan->time, 1 + 1e-12) << "case " << i;
    }
  }
  EXPECT_GT(compared, 300);
}

TEST(Planner, MoreMemoryOrBandwidthNeverHurts) {
  Rng rng(6);
  for (int i = 0; i < 200; ++i) {
    PipelineProblem problem = hierarchical(rng, 6, 8);
    const auto time = [&] {
      const PlanOutcome outcome = plan_pipeline(problem, {.interleaving = false});
      const auto* plan = std::get_if<PipelinePlan>(&outcome);
      return plan != nullptr ? plan->time.value() : kNever;
    };
    const double before = time();
    problem.pools.front().memory *= 1.5;
    const double roomy = time();
    EXPECT_LE(roomy, before * (1 + 1e-12)) << "case " << i;
    for (NetworkLevel& level : problem.network) level.bandwidth *= 2;
    EXPECT_LE(time(), roomy * (1 + 1e-12)) << "case " << i;
  }
}

TEST(Planner, ACutoffAboveTheOptimumChangesNothing) {
  Rng rng(11);
  int found = 0;
  for (int n = 0; n < 300; ++n) {
    const PipelineProblem problem = hierarchical(rng, 6, 12);
    PlannerOptions options{.stage_widths = n % 2 == 0, .interleaving = false};
    const PlanOutcome free = plan_pipeline(problem, options);
    const auto* best = std::get_if<PipelinePlan>(&free);
    if (best == nullptr) continue;
    ++found;
    options.cutoff = best->time * (1 + 1e-9);
    const PlanOutcome above = plan_pipeline(problem, options);
    ASSERT_TRUE(std::holds_alternative<PipelinePlan>(above));
    EXPECT_EQ(std::get<PipelinePlan>(above).time, best->time);
    options.cutoff = best->time * 0.9;
    const PlanOutcome below = plan_pipeline(problem, options);
    if (const auto* plan = std::get_if<PipelinePlan>(&below)) {
      EXPECT_GE(plan->time, best->time);
    }
  }
  EXPECT_GT(found, 100);
}

TEST(Planner, OneWidthIsTheBestOfTheWidthsAlone) {
  Rng rng(12);
  for (int n = 0; n < 200; ++n) {
    const PipelineProblem problem = hierarchical(rng, 6, 12);
    const PlannerOptions options{.stage_widths = false, .interleaving = false};
    double best = kNever;
    for (const WidthProfile& profile : problem.widths) {
      PipelineProblem alone = problem;
      alone.widths = {profile};
      const PlanOutcome outcome = plan_pipeline(alone, options);
      if (const auto* plan = std::get_if<PipelinePlan>(&outcome)) best = std::min(best, plan->time.value());
    }
    const PlanOutcome outcome = plan_pipeline(problem, options);
    const auto* plan = std::get_if<PipelinePlan>(&outcome);
    EXPECT_EQ(plan == nullptr ? kNever : plan->time.value(), best);
  }
}

TEST(Planner, TheStatedShortageOfMemoryIsWhatIsMissing) {
  Rng rng(7);
  int checked = 0;
  for (int i = 0; i < 400; ++i) {
    PipelineProblem problem = random_placement(rng, {.widths = {1}});
    problem.pools.front().memory *= 0.5;
    const PlannerOptions options{.stage_replicas = false, .interleaving = false};
    const PlanOutcome outcome = plan_pipeline(problem, options);
    const auto* none = std::get_if<NoPlan>(&outcome);
    if (none == nullptr) continue;
    ++checked;
    problem.pools.front().memory += none->short_of * (1 - 1e-6);
    EXPECT_TRUE(std::holds_alternative<NoPlan>(plan_pipeline(problem, options))) << "case " << i;
    problem.pools.front().memory += none->short_of * 2e-6;
    EXPECT_TRUE(std::holds_alternative<PipelinePlan>(plan_pipeline(problem, options))) << "case " << i;
  }
  EXPECT_GT(checked, 30);
}

struct RandomStages {
  std::vector<PassTimes> passes;
  PipelineTime closed;
};
RandomStages random_stages(Rng& rng, std::int64_t micro_batches, double ratio) {
  RandomStages stages;
  for (std::uint32_t s = 1 + rng.below(8); s > 0; --s) {
    const Seconds forward(detail::between(rng, 0.01, 1));
    stages.passes.push_back({forward, forward * ratio});
    stages.closed.add(forward * (1 + ratio), micro_batches);
  }
  return stages;
}

TEST(OneForwardOneBackward, TakesAtMostTheClosedFormForStagesOfOneProportion) {
  Rng rng(8);
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t micro_batches = 1 + rng.below(40);
    const auto stages = random_stages(rng, micro_batches, detail::between(rng, 0.5, 3));
    const Seconds closed = stages.closed.total({}, 0), time = one_f_one_b_time(stages.passes, 1, micro_batches);
    ASSERT_LE(time / closed, 1 + 1e-12) << "case " << i;
    ASSERT_GE(time, stages.closed.rest) << "case " << i;
  }
}

TEST(OneForwardOneBackward, EqualStagesTakeTheClosedFormExactly) {
  for (const int devices : {1, 2, 3, 5, 8})
    for (const int rounds : {1, 2, 7}) {
      const std::int64_t micro_batches = std::int64_t{rounds} * devices;
      const std::vector<PassTimes> stages(static_cast<std::size_t>(devices), {Seconds(1), Seconds(2)});
      EXPECT_DOUBLE_EQ(one_f_one_b_time(stages, 1, micro_batches).value(),
                       3.0 * static_cast<double>(micro_batches + devices - 1));
    }
}

// Narayanan et al. (arXiv 2104.04473), section 2.2: the bubble of p - 1 passes shrinks by the number of chunks.
TEST(OneForwardOneBackward, ChunksShrinkTheBubble) {
  for (const int devices : {2, 3, 5, 8})
    for (const int chunks : {2, 3, 4}) {
      const std::int64_t micro_batches = 3 * devices;
      const std::vector<PassTimes> stages(static_cast<std::size_t>(devices * chunks), {Seconds(1), Seconds(2)});
      EXPECT_DOUBLE_EQ(one_f_one_b_time(stages, chunks, micro_batches).value(),
                       3.0 * static_cast<double>(micro_batches * chunks + devices - 1));
    }
}

/// Chunks that a device has open at once, from the order of its passes.
TEST(OneForwardOneBackward, KeepsAsManyMicroBatchesAsTheMemoryModelSays) {
  for (const int devices : {1, 2, 4, 7})
    for (int device = 0; device < devices; ++device)
      for (const std::int64_t micro_batches : {1, 3, 20}) {
        int open = 0, most = 0;
        for (const Pass& pass : one_f_one_b_order(device, devices, 1, micro_batches))
          most = std::max(most, open += pass.forward ? 1 : -1);
        EXPECT_EQ(open, 0);
        EXPECT_EQ(most, in_flight(devices - device, 1, micro_batches, {}));
      }
}

}  // namespace
}  // namespace tessera
