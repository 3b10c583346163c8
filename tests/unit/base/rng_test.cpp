#include "sim/base/rng.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tessera {
namespace {

TEST(Rng, GivesThePublishedNumbers) {
  // First outputs of pcg32 seeded with 42 in stream 54, printed by the generator's own demo (pcg-random.org).
  constexpr std::array<std::uint32_t, 6> kDemo{0xa15c02b7, 0x7b47f409, 0xba1d3330, 0x83d2f293, 0xbfa4784b, 0xcbed606e};
  Rng rng(42, 54);
  for (const std::uint32_t expected : kDemo) EXPECT_EQ(rng.next(), expected);
}

TEST(Rng, RangesAndMoments) {
  Rng rng(7);
  constexpr int kDraws = 20000;
  double sum = 0, normal_sum = 0, normal_squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = rng.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    ASSERT_LT(rng.below(6), 6U);
    const double z = rng.normal();
    sum += u;
    normal_sum += z;
    normal_squares += z * z;
  }
  const double sigma = 1 / std::sqrt(kDraws);  // of the mean of a normal; bounds at 5 sigma
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * sigma / std::sqrt(12));
  EXPECT_NEAR(normal_sum / kDraws, 0, 5 * sigma);
  EXPECT_NEAR(normal_squares / kDraws, 1, 5 * sigma * std::sqrt(2));
}

TEST(Rng, StreamsDiffer) {
  EXPECT_NE(Rng(1, 1).next(), Rng(1, 2).next());
}

}  // namespace
}  // namespace tessera
