// Error bars from errors whose distribution is known.
#include "calibration/bars.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sim/base/rng.hpp"

namespace tessera {
namespace {

/// Normal errors, wider for kernels near the floor, around an offset per GPU.
std::vector<Residue> made_up(Rng& rng, const std::vector<double>& offsets, std::size_t rows) {
  std::vector<Residue> residues;
  for (std::size_t gpu = 0; gpu < offsets.size(); ++gpu) {
    for (std::size_t i = 0; i < rows; ++i) {
      const double floor_share = rng.uniform();
      const double deviation = 0.05 * std::exp(floor_share);
      residues.push_back(
          {static_cast<std::uint16_t>(gpu), {.floor_share = floor_share}, offsets[gpu] + deviation * rng.normal()});
    }
  }
  return residues;
}

double coverage(const Bar& bar, const std::vector<Residue>& residues, double floor_share_below) {
  double inside = 0, all = 0;
  for (const Residue& r : residues) {
    if (r.inputs.floor_share >= floor_share_below) continue;
    const double t = r.error / bar_scale(bar, r.inputs);
    inside += t >= bar.p10 && t <= bar.p90 ? 1 : 0;
    ++all;
  }
  return inside / all;
}

TEST(Bars, FollowTheWidthAndHoldEightyPercentOfNewRows) {
  Rng rng(3);
  const Bar bar = fit_bar(made_up(rng, {0}, 20000));
  EXPECT_NEAR(bar.log_scale[1], 1, 0.1);  // exp(floor share), as made up
  const std::vector<Residue> fresh = made_up(rng, {0}, 20000);
  EXPECT_NEAR(coverage(bar, fresh, 1), 0.8, 0.02);
  EXPECT_NEAR(coverage(bar, fresh, 0.3), 0.8, 0.03);
}

TEST(Bars, SplitTheVarianceIntoTheGpusAndTheKernels) {
  Rng rng(4);
  const Bar bar = fit_bar(made_up(rng, {0.2, -0.1, 0.1, -0.2}, 4000));
  EXPECT_NEAR(bar.shared, std::sqrt((0.04 + 0.01 + 0.01 + 0.04) / 4), 0.01);
  // Mean of (0.05 e^s)^2 over s in [0, 1] is 0.0025 (e^2 - 1) / 2.
  EXPECT_NEAR(bar.own, std::sqrt(0.0025 * (std::exp(2.0) - 1) / 2), 0.005);
}

TEST(Bars, EveryGpuCountsAlike) {
  Rng rng(5);
  std::vector<Residue> few = made_up(rng, {0, 0.3}, 300), many = few;
  for (int copy = 0; copy < 20; ++copy) {
    for (const Residue& r : few) {
      if (r.gpu == 0) many.push_back(r);
    }
  }
  EXPECT_NEAR(fit_bar(many).p90 * std::exp(fit_bar(many).log_scale[0]),
              fit_bar(few).p90 * std::exp(fit_bar(few).log_scale[0]), 0.02);
}

}  // namespace
}  // namespace tessera
