#include "sim/place/search/chip_study.hpp"

#include <algorithm>
#include <limits>

#include "sim/place/chip/economics.hpp"

namespace tessera {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

double joules_per_sample(const ChipResult& result, const TrainingSystem& system) {
  return result.energy.value() / static_cast<double>(system.batch);
}

}  // namespace

ChipStudy::ChipStudy(std::vector<StudyWorkload> workloads, Objective objective, Combination combination,
                     StudyLimits limits, const SystolicChip& reference)
    : workloads_(std::move(workloads)), objective_(objective), combination_(combination), limits_(limits) {
  if (workloads_.size() == 1) {
    reference_ = {1};
    return;
  }
  for (const StudyWorkload& workload : workloads_) {
    double best = 0;
    for (const ChipWorkload& choice : workload.choices)
      best = std::max(best, choice.evaluate(reference).samples_per_second);
    reference_.push_back(best > 0 ? best : 1);
  }
}

/// The workloads' best values, relative to the reference, in one number.
template <class Value>
double ChipStudy::combine(const SystolicChip& chip, Value value) const {
  double sum = 0, weights = 0, least = std::numeric_limits<double>::infinity();
  for (std::size_t w = 0; w < workloads_.size(); ++w) {
    double best = kNone;
    for (std::size_t c = 0; c < workloads_[w].choices.size(); ++c)
      best = std::max(best, value(workloads_[w].choices[c], w, c) / reference_[w]);
    sum += workloads_[w].weight * best;
    weights += workloads_[w].weight;
    least = std::min(least, best);
  }
  const double all = combination_ == Combination::weighted ? sum / weights : least;
  if (objective_ == Objective::per_area) return all / area(chip).value();
  if (objective_ == Objective::per_cost)
    return all / price(chip, workloads_.front().choices.front().system().memory).value();
  return all;
}

double ChipStudy::bound(const SystolicChip& chip) const {
  if (limits_.price && price(chip, workloads_.front().choices.front().system().memory) > *limits_.price) return kNone;
  if (limits_.power && idle_power(chip) > *limits_.power) return kNone;  // whatever it runs
  return combine(chip, [&](const ChipWorkload& choice, std::size_t, std::size_t) {
    const ChipWorkload::Ideal ideal = choice.ideal(chip);
    return objective_ == Objective::per_watt ? ideal.samples_per_joule : ideal.samples_per_second;
  });
}

double ChipStudy::least_rate(const SystolicChip& chip, double least) const {
  if (workloads_.size() > 1 || !(least > 0)) return 0;
  const double rate = least * reference_.front();
  if (objective_ == Objective::per_area) return rate * area(chip).value();
  if (objective_ == Objective::per_cost)
    return rate * price(chip, workloads_.front().choices.front().system().memory).value();
  return rate;
}

double ChipStudy::tighter_bound(const SystolicChip& chip, double least) const {
  const double rate = least_rate(chip, least);
  return combine(chip, [&](const ChipWorkload& choice, std::size_t, std::size_t) {
    if (objective_ == Objective::per_watt) return choice.ideal(chip).samples_per_joule;
    return choice.bound_samples_per_second(chip, rate);
  });
}

StudiedChip ChipStudy::evaluate(const SystolicChip& chip) const {
  StudiedChip studied{.chip = chip, .workloads = {}, .die = area(chip)};
  studied.price = price(chip, workloads_.front().choices.front().system().memory);
  studied.workloads.resize(workloads_.size());
  std::vector<double> best(workloads_.size(), kNone);
  double gap = 0;
  studied.score = combine(chip, [&](const ChipWorkload& choice, std::size_t w, std::size_t c) {
    ChipResult result = choice.evaluate(chip);
    gap = std::max(gap, result.gap);
    double value = kNone;
    if (result.feasible && !(limits_.power && result.power > *limits_.power))
      value = objective_ == Objective::per_watt ? 1 / joules_per_sample(result, choice.system())
                                                : result.samples_per_second;
    if (c == 0 || value > best[w]) {
      best[w] = value;
      studied.workloads[w] = {c, std::move(result)};
    }
    return value;
  });
  studied.bound = studied.score / (1 - gap);
  return studied;
}

double ChipStudy::score(const StudiedChip& studied, std::span<const double> ratios) const {
  return combine(studied.chip, [&](const ChipWorkload& choice, std::size_t w, std::size_t c) {
    const auto& [chosen, result] = studied.workloads[w];
    if (c != chosen || !result.feasible) return kNone;
    return ratios[w] * (objective_ == Objective::per_watt ? 1 / joules_per_sample(result, choice.system())
                                                          : result.samples_per_second);
  });
}

SearchTask ChipStudy::task(std::span<const SystolicChip> chips) const {
  return {.candidates = chips.size(),
          .bound = [this, chips](std::size_t i) { return bound(chips[i]); },
          .tighter_bound = [this, chips](std::size_t i, double least) { return tighter_bound(chips[i], least); },
          .exact =
              [this, chips](std::size_t i) {
                const StudiedChip studied = evaluate(chips[i]);
                if (studied.score == studied.bound || studied.score == kNone) return SearchScore(studied.score);
                return SearchScore(studied.score, studied.bound);
              }};
}

Bytes ChipStudy::smallest_miss(const SystolicChip& chip) const {
  Bytes miss;
  for (const StudyWorkload& workload : workloads_) {
    Bytes least(std::numeric_limits<double>::infinity());
    for (const ChipWorkload& choice : workload.choices) {
      const ChipResult result = choice.evaluate(chip);
      least = min(least, result.feasible ? Bytes() : result.short_of);
    }
    miss = max(miss, least);
  }
  return miss;
}

}  // namespace tessera
