// Searches to compare with: the original's stop rule, random and Bayesian search under a budget of exact evaluations.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "sim/base/amount.hpp"
#include "sim/base/rng.hpp"
#include "sim/place/chip/systolic.hpp"

namespace tessera {

struct BaselineResult {
  std::size_t best = 0;
  double score = 0;                   // minus infinity: nothing feasible was found
  std::vector<std::size_t> explored;  // in order
};
using ExactScore = std::function<double(std::size_t)>;

/// Phaze's outer search: buckets of 10,000 um^2, largest area first, all members of a bucket are solved; it ends where
/// the best scores of the last five buckets do not increase (an infeasible bucket counts as -1).
struct StopRuleResult : BaselineResult {
  std::size_t buckets = 0;
};
StopRuleResult stop_rule_search(std::span<const Area> areas, const ExactScore& exact);

/// `budget` different candidates, uniformly.
BaselineResult random_search(std::size_t candidates, std::size_t budget, const ExactScore& exact, Rng& rng);

/// Bayesian optimisation with domain features, after Spotlight (HPCA 2023): a Gaussian process on the logarithm of the
/// score, expected improvement over a random pool of candidates, ten random ones to begin with.
BaselineResult bayesian_search(const std::vector<std::vector<double>>& features, std::size_t budget,
                               const ExactScore& exact, Rng& rng);

/// Logarithms of a chip's core counts, array sides and buffer, and of what performance follows: MACs, lanes, SRAM,
/// area.
std::vector<double> chip_features(const SystolicChip& chip);

}  // namespace tessera
