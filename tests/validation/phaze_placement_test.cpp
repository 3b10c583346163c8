// The placement solver against recorded answers of the program released with Phaze (ICML 2024): TESSERA_DATA/phaze.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/config/json.hpp"
#include "sim/place/pipeline/baselines.hpp"
#include "sim/place/pipeline/phaze_file.hpp"
#include "sim/place/pipeline/placement.hpp"

namespace tessera {
namespace {

constexpr double kSame = 1e-12;
constexpr double kNone = 1e29;  // recorded time of a case without a plan is 1e30

struct Case {
  std::string name;
  PhazeProblem input;
  double time = 0, seconds = 0;  // of the batch; that the original took
  Json recorded, answer;         // answer: null where there is none
};

std::vector<Case> cases() {
  const std::filesystem::path folder = std::filesystem::path(std::getenv("TESSERA_DATA")) / "phaze";
  std::vector<Case> all;
  const Json manifest = read_json(folder / "manifest.json");
  for (const auto& [name, recorded] : manifest.fields()) {
    Case one{.name = name,
             .input = read_phaze_problem(folder / "dp" / (name + ".in.json")),
             .time = recorded.at("time_per_batch").number(),
             .seconds = recorded.at("seconds").number(),
             .recorded = recorded,
             .answer = {}};
    for (const char* end : {".out.json", ".dponly.json"})
      if (const auto file = folder / "dp" / (name + end); exists(file)) one.answer = read_json(file);
    all.push_back(std::move(one));
  }
  return all;
}

double relative(double a, double b) {
  return std::abs(a / b - 1);
}

PipelinePlan plan_of(const Json& answer, const PhazeProblem& input) {
  PipelinePlan plan;
  plan.replicas = static_cast<int>(answer.at("dataParallelDegree").integer());
  std::map<std::int64_t, int> places;
  for (std::size_t i = 0; i < input.ids.size(); ++i) places[input.ids[i]] = static_cast<int>(i);
  const auto& stages = answer.at("stages").items();
  for (const Json& stage : stages) {
    PipelineStage& added = plan.stages.emplace_back();
    added.width = static_cast<int>(answer.at("tensorParallelDegree").integer());
    added.recompute = input.problem.recomputation && plan.stages.size() < stages.size();
    for (const Json& id : stage.at("nodes").items()) added.layers.push_back(places.at(id.integer()));
    std::ranges::sort(added.layers);
  }
  return plan;
}

double time_of(const PipelineProblem& problem, const PipelinePlan& plan, const PlacementRules& rules) {
  const auto figures = evaluate(problem, plan, rules);
  if (const auto* none = std::get_if<NoPlan>(&figures)) ADD_FAILURE() << none->why;
  const auto* found = std::get_if<PlanFigures>(&figures);
  return found != nullptr ? found->time.value() : NAN;
}

class PhazePlacement : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TESSERA_DATA") == nullptr) GTEST_SKIP() << "set TESSERA_DATA to the folder of measurements";
  }
};

TEST_F(PhazePlacement, EveryRecordedOptimumIsFoundAndEveryInfeasibleCaseSaysWhy) {
  const auto all = cases();
  EXPECT_EQ(all.size(), 45u);
  int infeasible = 0;
  for (const Case& c : all) {
    const PlanOutcome outcome = solve_phaze(c.input.problem);
    if (c.time > kNone) {
      ++infeasible;
      const auto* none = std::get_if<NoPlan>(&outcome);
      ASSERT_NE(none, nullptr) << c.name;
      EXPECT_GT(none->short_of, Bytes(0)) << c.name;
      EXPECT_NE(none->why.find("per device, of"), std::string::npos) << c.name << ": " << none->why;
      continue;
    }
    const auto* plan = std::get_if<PipelinePlan>(&outcome);
    ASSERT_NE(plan, nullptr) << c.name;
    EXPECT_LE(relative(plan->time.value(), c.time), kSame) << c.name;
    EXPECT_LE(relative(time_of(c.input.problem, *plan, PlacementRules::phaze()), c.time), kSame) << c.name;
  }
  EXPECT_EQ(infeasible, 5);
}

TEST_F(PhazePlacement, MoreMemoryByTheStatedShortageMakesAPlanPossible) {
  for (const Case& c : cases()) {
    if (c.time < kNone) continue;
    PipelineProblem problem = c.input.problem;
    const Bytes missing = std::get<NoPlan>(solve_phaze(problem)).short_of;
    problem.pools.front().memory += missing * (1 - 1e-6);
    EXPECT_TRUE(std::holds_alternative<NoPlan>(solve_phaze(problem))) << c.name;
    problem.pools.front().memory += missing * 2e-6;
    EXPECT_TRUE(std::holds_alternative<PipelinePlan>(solve_phaze(problem))) << c.name;
  }
}

TEST_F(PhazePlacement, RecordedPlansEvaluateToTheirTime) {
  int plans = 0;
  for (const Case& c : cases()) {
    if (c.answer.is_null()) continue;
    ++plans;
    const double recorded = c.answer.at("finalTimePerBatch").number();
    const PipelinePlan plan = plan_of(c.answer, c.input);
    EXPECT_LE(relative(time_of(c.input.problem, plan, PlacementRules::phaze()), recorded), kSame) << c.name;
  }
  EXPECT_EQ(plans, 40);
}

TEST_F(PhazePlacement, ExpertPlansInTheOriginalNumberingMatch) {
  int experts = 0;
  for (const Case& c : cases()) {
    if (c.answer.is_null()) continue;
    const Json* recorded = c.answer.find("fixedStrategyTimePerBatch");
    if (recorded == nullptr) continue;
    ++experts;
    const PlanOutcome shifted = expert_plan(c.input.problem, c.input.expert, true, PlacementRules::phaze());
    const auto* plan = std::get_if<PipelinePlan>(&shifted);
    ASSERT_NE(plan, nullptr) << c.name << ": " << std::get<NoPlan>(shifted).why;
    EXPECT_LE(relative(plan->time.value(), recorded->number()), kSame) << c.name;
  }
  EXPECT_EQ(experts, 34);
}

// 64.11 s as coded, 50.49 s as meant (read from the same input with the embedding left out of the count).
TEST_F(PhazePlacement, TheShiftedNumberingIsWhatMakesTheExpertPlanSlow) {
  for (const Case& c : cases()) {
    if (c.name != "llama2_mbs2_ar") continue;
    const auto meant = expert_plan(c.input.problem, c.input.expert, false, PlacementRules::phaze());
    EXPECT_NEAR(std::get<PipelinePlan>(meant).time.value(), 50.49, 0.005);
  }
}

constexpr PlannerOptions kUniform{.rules = PlacementRules::phaze(),
                                  .stage_widths = false,
                                  .stage_replicas = false,
                                  .stage_recompute = false,
                                  .interleaving = false,
                                  .device_orders = false};

TEST_F(PhazePlacement, ThePlannerHeldToTheOriginalsFreedomsFindsTheSame) {
  for (const Case& c : cases()) {
    const PlanOutcome outcome = plan_pipeline(c.input.problem, kUniform);
    ASSERT_EQ(std::holds_alternative<PipelinePlan>(outcome), c.time < kNone) << c.name;
    if (c.time > kNone) continue;
    EXPECT_LE(relative(std::get<PipelinePlan>(outcome).time.value(), c.time), kSame) << c.name;
  }
}

TEST_F(PhazePlacement, EveryFreedomTogetherIsNeverWorse) {
  double logs = 0;
  int plans = 0;
  for (const Case& c : cases()) {
    if (c.time > kNone) continue;
    const auto start = std::chrono::steady_clock::now();
    const PlanOutcome outcome = plan_pipeline(c.input.problem, {.rules = PlacementRules::phaze()});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto* plan = std::get_if<PipelinePlan>(&outcome);
    ASSERT_NE(plan, nullptr) << c.name;
    EXPECT_LE(plan->time.value(), c.time * (1 + kSame)) << c.name;
    EXPECT_LE(relative(time_of(c.input.problem, *plan, PlacementRules::phaze()), plan->time.value()), kSame) << c.name;
    std::printf("%-28s %8.4f of the original's time, %6.3f s, %zu stages, %d replicas, %d chunks%s\n", c.name.c_str(),
                plan->time.value() / c.time, seconds, plan->stages.size(), plan->replicas, plan->chunks,
                plan->exact ? "" : ", labels capped");
    logs += std::log(c.time / plan->time.value());
    ++plans;
  }
  std::printf("geometric mean of %d cases: %.4f times as fast\n", plans, std::exp(logs / plans));
}

TEST_F(PhazePlacement, TheCorrectedSearchIsNeverWorseThanAnyPlanMadeWithoutIt) {
  std::map<std::string, std::pair<double, int>> logs;
  for (const Case& c : cases()) {
    const PipelineProblem& problem = c.input.problem;
    PlanOutcome original = solve_phaze(problem);
    if (auto* plan = std::get_if<PipelinePlan>(&original)) {
      const auto figures = evaluate(problem, *plan);
      if (std::holds_alternative<NoPlan>(figures)) original = std::get<NoPlan>(figures);
      if (std::holds_alternative<PlanFigures>(figures)) plan->time = std::get<PlanFigures>(figures).time;
    }
    const std::map<std::string, PlanOutcome> others{{"the original's plan", original},
                                                    {"data parallel", data_parallel_plan(problem)},
                                                    {"Megatron-LM's advice", megatron_plan(problem)},
                                                    {"METIS", metis_plan(problem)},
                                                    {"expert", expert_plan(problem, c.input.expert, false)}};
    const PlanOutcome ours = plan_pipeline(problem);
    for (const auto& [name, outcome] : others) {
      const auto* plan = std::get_if<PipelinePlan>(&outcome);
      if (plan == nullptr) continue;
      ASSERT_TRUE(std::holds_alternative<PipelinePlan>(ours)) << c.name << ", " << name;
      const double ratio = plan->time / std::get<PipelinePlan>(ours).time;
      EXPECT_GE(ratio, 1 - kSame) << c.name << ", " << name;
      logs[name].first += std::log(ratio);
      ++logs[name].second;
    }
    logs["(ours)"].second += std::holds_alternative<PipelinePlan>(ours) ? 1 : 0;
  }
  for (const auto& [name, sum] : logs)
    std::printf("%-22s fits %2d cases; ours is %.4f times as fast there\n", name.c_str(), sum.second,
                std::exp(sum.first / sum.second));
}

// The bar is 100; a machine that is busy with something else may halve what an idle one does.
TEST_F(PhazePlacement, IsFarFasterThanTheOriginal) {
  double logs = 0;
  int counted = 0;
  for (const Case& c : cases()) {
    if (c.seconds < 0.1) continue;
    double best = 1e9;
    for (int repetition = 0; repetition < 3; ++repetition) {
      const auto start = std::chrono::steady_clock::now();
      const PlanOutcome outcome = solve_phaze(c.input.problem);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      ASSERT_EQ(std::holds_alternative<PipelinePlan>(outcome), c.time < kNone);
    }
    logs += std::log(c.seconds / best);
    ++counted;
    RecordProperty(c.name, std::to_string(c.seconds / best));
    std::printf("%-28s %8.3f s there, %9.6f s here, %7.0f times\n", c.name.c_str(), c.seconds, best, c.seconds / best);
  }
  const double ratio = std::exp(logs / counted);
  std::printf("geometric mean of %d cases: %.0f times\n", counted, ratio);
  EXPECT_GE(ratio, 100);
}

}  // namespace
}  // namespace tessera
