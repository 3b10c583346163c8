#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <thread>

#include <fmt/format.h>

#include "sim/app/reproduce/phaze.hpp"
#include "sim/base/paths.hpp"
#include "sim/base/rng.hpp"
#include "sim/place/search/baselines.hpp"

namespace tessera {
namespace {

// The models of one tensor width; the others take minutes to an hour each: `tessera search scenarios/papers/phaze/...`.
constexpr std::array<std::string_view, 4> kSuite{"opt-350m", "bert-large", "gpt2-xl", "llama-2-7b"};
constexpr std::size_t kBudget = 64;  // exact evaluations of random and Bayesian search
constexpr std::uint64_t kSeed = 1;

SearchScenario scenario_of(std::string_view model, bool corrected) {
  std::vector<std::string> settings;
  if (!corrected) settings = {"mode=phaze-fork", "space.hbm_stacks=[0]"};
  return read_search(home() / "scenarios" / "papers" / "phaze" / (std::string(model) + ".yaml"), settings).scenario;
}

void baselines(const std::vector<SystolicChip>& chips, const ChipStudy& study, PhazeSuiteRow& row) {
  const ExactScore exact = [&](std::size_t i) { return study.evaluate(chips[i]).score; };
  std::vector<std::vector<double>> features;
  std::vector<Area> areas;
  for (const SystolicChip& chip : chips) {
    features.push_back(chip_features(chip));
    areas.push_back(area(chip));
  }
  Rng by_chance(kSeed), by_model(kSeed);
  row.budget = kBudget;
  row.random = random_search(chips.size(), kBudget, exact, by_chance).score;
  row.bayesian = bayesian_search(features, kBudget, exact, by_model).score;
  const StopRuleResult stopped = stop_rule_search(areas, exact);
  row.stopped = stopped.score;
  row.stop_chips = stopped.explored.size();
}

PhazeSuiteRow search_model(std::string_view model, bool corrected) {
  const SearchScenario scenario = scenario_of(model, corrected);
  const std::vector<SystolicChip> chips = candidates_of(scenario);
  const ChipStudy study = study_of(scenario, PlanKinds::exact), full = study_of(scenario, PlanKinds::full);
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto begin = std::chrono::steady_clock::now();
  SearchState state;
  certified_search(study.task(chips), {.threads = threads}, state);
  const auto end = std::chrono::steady_clock::now();
  PhazeSuiteRow row{.model = std::string(model),
                    .corrected = corrected,
                    .expert = expert_of(scenario).value_or(StudiedChip{}),
                    .reference = full.evaluate(reference_chip(scenario)),
                    .a100 = {},
                    .best = {},
                    .certificate = certificate(state),
                    .seconds = std::chrono::duration<double>(end - begin).count()};
  SystolicChip a100 = baseline_chip("A100-like");
  a100.hbm_stacks = reference_chip(scenario).hbm_stacks;
  row.a100 = full.evaluate(a100);
  row.best = full.evaluate(chips[row.certificate.best]);
  baselines(chips, study, row);
  return row;
}

}  // namespace

std::vector<PhazeSuiteRow> phaze_suite(const PhazeProgress& progress) {
  std::vector<PhazeSuiteRow> rows;
  for (const bool corrected : {false, true})
    for (const std::string_view model : kSuite) {
      progress(fmt::format("{}, {}", model, corrected ? "corrected" : "as the original computes"));
      rows.push_back(search_model(model, corrected));
    }
  return rows;
}

}  // namespace tessera
