// A kernel's error bar: its scale, and how far outside the fitted range widens it.
#include "models/bar.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

const Bar kBar{.log_scale = {std::log(0.1), 1, 2, 0.5}, .p10 = -1, .p90 = 2, .shared = 0.3, .own = 0.4};

TEST(Bar, ScaleIsTheExponentialOfItsTerms) {
  EXPECT_NEAR(bar_scale(kBar, {}), 0.1, 1e-12);
  EXPECT_NEAR(bar_scale(kBar, {.floor_share = 0.5}), 0.1 * std::exp(0.5), 1e-12);
  EXPECT_NEAR(bar_scale(kBar, {.floor_share = 0.2, .spread = 0.1, .narrow = 1}), 0.1 * std::exp(0.2 + 0.2 + 0.5),
              1e-12);
}

TEST(Bar, TermsAreHeldWhereTheDataEnds) {
  EXPECT_EQ(bar_scale(kBar, {.spread = 100}), bar_scale(kBar, {.spread = 0.5}));
  EXPECT_EQ(bar_scale(kBar, {.narrow = -1}), bar_scale(kBar, {}));
  EXPECT_NEAR(bar_scale(kBar, {.floor_share = 1, .spread = 1, .narrow = 2}), 0.1 * std::exp(1.5), 1e-12);
}

TEST(Bar, OutsideTheFittedRangeItWidensUpToFourTimes) {
  EXPECT_NEAR(widened_scale(kBar, {.out_of_range = 0.5}), 0.15, 1e-12);
  EXPECT_NEAR(widened_scale(kBar, {.out_of_range = 50}), 0.4, 1e-12);
}

}  // namespace
}  // namespace tessera
