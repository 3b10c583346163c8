#include <algorithm>
#include <array>
#include <ctime>
#include <limits>

#include <fmt/format.h>

#include "sim/app/reproduce/phaze.hpp"
#include "sim/base/paths.hpp"
#include "sim/base/rng.hpp"
#include "sim/place/search/baselines.hpp"
#include "sim/place/search/parallel.hpp"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 9> kSuite{"opt-350m",         "bert-large",       "gpt2-xl",
                                                 "llama-2-7b",       "megatron-bert",    "megatron-gpt2-xl",
                                                 "megatron-gpt2-54", "megatron-gpt2-72", "gpt3-175b"};
constexpr std::size_t kBudget = 64;  // exact evaluations of random and Bayesian search
constexpr std::uint64_t kSeed = 1;
constexpr int kThreads = 4;  // models at once

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
  if (stopped.score > 0) row.stopped_chip = study.evaluate(chips[stopped.best]);
}

/// Of the calling thread.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

PhazeSuiteRow search_model(std::string_view model, bool corrected) {
  const SearchScenario scenario = phaze_scenario(model, corrected);
  const std::vector<SystolicChip> chips = candidates_of(scenario);
  const ChipStudy study = study_of(scenario, PlanKinds::exact), full = study_of(scenario, PlanKinds::full);
  const double begin = processor_seconds();
  SearchState state;
  certified_search(study.task(chips), {.threads = 1}, state);
  const double end = processor_seconds();
  PhazeSuiteRow row{.model = std::string(model),
                    .corrected = corrected,
                    .expert = expert_of(scenario).value_or(StudiedChip{}),
                    .reference = full.evaluate(reference_chip(scenario)),
                    .a100 = {},
                    .best = {},
                    .certificate = certificate(state),
                    .seconds = end - begin};
  SystolicChip a100 = baseline_chip("A100-like");
  a100.hbm_stacks = reference_chip(scenario).hbm_stacks;
  row.a100 = full.evaluate(a100);
  row.best = full.evaluate(chips[row.certificate.best]);
  baselines(chips, study, row);
  return row;
}

}  // namespace

SearchScenario phaze_scenario(std::string_view model, bool corrected) {
  std::vector<std::string> settings;
  if (!corrected) settings = {"mode=phaze-fork", "space.hbm_stacks=[0]"};
  return read_search(home() / "scenarios" / "papers" / "phaze" / (std::string(model) + ".yaml"), settings).scenario;
}

std::vector<PhazeSuiteRow> phaze_suite(const PhazeProgress& progress) {
  progress(fmt::format("{} models, as the original computes and corrected", kSuite.size()));
  std::vector<PhazeSuiteRow> rows(2 * kSuite.size());
  parallel_for(rows.size(), kThreads, [&](std::size_t i) {
    const std::size_t n = rows.size() - 1 - i;  // the longest first
    rows[n] = search_model(kSuite[n % kSuite.size()], n >= kSuite.size());
  });
  return rows;
}

}  // namespace tessera
