#include <algorithm>

#include <fmt/format.h>

#include "sim/app/reproduce/phaze.hpp"
#include "sim/app/search/replay.hpp"

namespace tessera {
namespace {

constexpr std::size_t kPlans = 6;  // of ours, simulated for the fastest

/// As many stacks as the others have, if the die's edges hold them: the original's chips have none.
SystolicChip with_memory(SystolicChip chip, int stacks) {
  chip.hbm_stacks = stacks;
  while (chip.hbm_stacks > 1 && beachfront_ratio(chip) > 1) --chip.hbm_stacks;
  return chip;
}

/// The original counts the head to the last block; here it is a layer of its own.
PipelinePlan with_head(PipelinePlan plan, int layers) {
  std::vector<int>& last = plan.stages.back().layers;
  while (last.back() + 1 < layers) last.push_back(last.back() + 1);
  return plan;
}

class Replays {
 public:
  Replays(const SearchScenario& scenario, const PhazeSuiteRow& original, const PhazeSuiteRow& corrected)
      : scenario_(scenario),
        original_(original),
        corrected_(corrected),
        study_(study_of(scenario, PlanKinds::replayable)) {}

  PhazeReplayRow run() {
    const int stacks = reference_chip(scenario_).hbm_stacks;
    PhazeReplayRow row{.model = original_.model};
    if (original_.stopped_chip.workloads.empty()) return row;
    const SystolicChip theirs = with_memory(original_.stopped_chip.chip, stacks);
    row.original = under(theirs, original_.stopped_chip);
    row.original_chip = placed(theirs);
    row.reference = under(reference_chip(scenario_), original_.reference);
    row.reference_chip = placed(reference_chip(scenario_));
    row.ours = placed(corrected_.best.chip);
    return row;
  }

 private:
  /// A plan that was made by the original's costs.
  PhazeReplay under(const SystolicChip& chip, const StudiedChip& planned) {
    const ChipResult& theirs = planned.workloads.front().result;
    if (!theirs.feasible) return {.chip = chip, .result = theirs};
    const ChipWorkload& costs = study_.workloads().front().choices[planned.workloads.front().choice];
    const int layers = static_cast<int>(costs.layer_order(theirs.plan.stages.front().width).size());
    return replayed(chip, costs, costs.evaluate_plan(chip, with_head(theirs.plan, layers)));
  }
  PhazeReplay placed(const SystolicChip& chip) {
    std::vector<PlanReplay> plans = replay_plans(scenario_, study_, chip, 0, kPlans);
    if (plans.empty()) return {.chip = chip, .result = study_.evaluate(chip).workloads.front().result};
    PlanReplay& best = plans.front();
    return {.chip = chip, .result = std::move(best.result), .replay = std::move(best.replay), .rank = best.rank};
  }
  PhazeReplay replayed(const SystolicChip& chip, const ChipWorkload& costs, ChipResult result) {
    PhazeReplay replay_of{.chip = chip, .result = std::move(result)};
    replay_of.replay = replay({scenario_, scenario_.workloads.front(), costs, chip, replay_of.result});
    return replay_of;
  }

  const SearchScenario& scenario_;
  const PhazeSuiteRow &original_, &corrected_;
  ChipStudy study_;
};

}  // namespace

std::vector<PhazeReplayRow> phaze_replays(const std::vector<PhazeSuiteRow>& suite, const PhazeProgress& progress) {
  std::vector<PhazeReplayRow> rows;
  for (const PhazeSuiteRow& original : suite) {
    if (original.corrected) continue;
    const auto corrected = std::ranges::find_if(
        suite, [&](const PhazeSuiteRow& row) { return row.corrected && row.model == original.model; });
    if (corrected == suite.end()) continue;
    progress(fmt::format("{} in the event loop", original.model));
    const SearchScenario scenario = phaze_scenario(original.model, true);
    rows.push_back(Replays(scenario, original, *corrected).run());
  }
  return rows;
}

}  // namespace tessera
