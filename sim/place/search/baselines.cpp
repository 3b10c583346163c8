#include "sim/place/search/baselines.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <set>

#include "models/gaussian_process.hpp"

namespace tessera {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr double kBucket = 0.01;  // mm^2
constexpr std::size_t kLooksBack = 5;
constexpr std::size_t kFirstRandom = 10, kPool = 1000;
constexpr double kInfeasibleLog = 10;  // below the worst feasible logarithm

void explore(BaselineResult& result, std::size_t candidate, double score) {
  result.explored.push_back(candidate);
  if (score > result.score) {
    result.score = score;
    result.best = candidate;
  }
}

std::size_t unexplored(std::size_t candidates, const std::set<std::size_t>& seen, Rng& rng) {
  std::size_t candidate = rng.below(static_cast<std::uint32_t>(candidates));
  while (seen.contains(candidate)) candidate = (candidate + 1) % candidates;
  return candidate;
}

/// The scores' logarithms; infeasible ones far below all others.
std::vector<double> log_scores(const std::vector<double>& scores) {
  double least = 0;
  bool any = false;
  for (const double s : scores)
    if (s > 0) {
      least = any ? std::min(least, std::log(s)) : std::log(s);
      any = true;
    }
  std::vector<double> result;
  for (const double s : scores) result.push_back(s > 0 ? std::log(s) : least - kInfeasibleLog);
  return result;
}

}  // namespace

StopRuleResult stop_rule_search(std::span<const Area> areas, const ExactScore& exact) {
  std::map<long long, std::vector<std::size_t>, std::greater<>> buckets;
  for (std::size_t i = 0; i < areas.size(); ++i)
    buckets[static_cast<long long>(std::floor(areas[i].value() / kBucket))].push_back(i);
  StopRuleResult result;
  result.score = kNone;
  std::deque<double> last;
  for (const auto& [bucket, members] : buckets) {
    double best = -1;
    for (const std::size_t candidate : members) {
      const double score = exact(candidate);
      explore(result, candidate, score);
      best = std::max(best, score);
    }
    ++result.buckets;
    last.push_back(best);
    if (last.size() > kLooksBack) last.pop_front();
    if (last.size() == kLooksBack && std::ranges::is_sorted(last, std::greater<>())) break;
  }
  return result;
}

BaselineResult random_search(std::size_t candidates, std::size_t budget, const ExactScore& exact, Rng& rng) {
  BaselineResult result{.score = kNone, .explored = {}};
  std::set<std::size_t> seen;
  while (seen.size() < std::min(budget, candidates)) {
    const std::size_t candidate = unexplored(candidates, seen, rng);
    seen.insert(candidate);
    explore(result, candidate, exact(candidate));
  }
  return result;
}

BaselineResult bayesian_search(const std::vector<std::vector<double>>& features, std::size_t budget,
                               const ExactScore& exact, Rng& rng) {
  BaselineResult result{.score = kNone, .explored = {}};
  std::set<std::size_t> seen;
  std::vector<std::vector<double>> inputs;
  std::vector<double> scores;
  const auto solve = [&](std::size_t candidate) {
    seen.insert(candidate);
    inputs.push_back(features[candidate]);
    scores.push_back(exact(candidate));
    explore(result, candidate, scores.back());
  };
  const std::size_t most = std::min(budget, features.size());
  while (seen.size() < std::min(kFirstRandom, most)) solve(unexplored(features.size(), seen, rng));
  while (seen.size() < most) {
    const std::vector<double> outputs = log_scores(scores);
    const GaussianProcess process(inputs, outputs);
    const double best = *std::ranges::max_element(outputs);
    std::size_t chosen = unexplored(features.size(), seen, rng);
    double most_gain = -1;
    for (std::size_t p = 0; p < kPool; ++p) {
      const std::size_t candidate = unexplored(features.size(), seen, rng);
      const double gain = expected_improvement(process.predict(features[candidate]), best);
      if (gain > most_gain) {
        most_gain = gain;
        chosen = candidate;
      }
    }
    solve(chosen);
  }
  return result;
}

std::vector<double> chip_features(const SystolicChip& chip) {
  const double macs = static_cast<double>(chip.tensor_cores) * chip.width * chip.depth;
  const double lanes = static_cast<double>(chip.vector_cores) * chip.lanes;
  std::vector<double> features;
  for (const double v :
       {static_cast<double>(chip.tensor_cores), static_cast<double>(chip.vector_cores), static_cast<double>(chip.width),
        static_cast<double>(chip.depth), chip.buffer.value(), macs, lanes,
        chip.tensor_cores * tensor_sram(chip).value(), area(chip).value(), hbm_bandwidth(chip).value()})
    features.push_back(std::log(v));
  return features;
}

}  // namespace tessera
