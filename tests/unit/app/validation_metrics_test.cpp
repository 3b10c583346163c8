#include "sim/app/validation/metrics.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

Scored row(double measured, double p10, double p50, double p90) {
  return {.measured = Seconds(measured), .predicted = {Seconds(p10), Seconds(p50), Seconds(p90)}};
}

TEST(Metrics, AreZeroWithoutRows) {
  const Metrics m = score({});
  EXPECT_EQ(m.n, 0u);
  EXPECT_EQ(m.mape, 0.0);
  EXPECT_EQ(m.pinball, 0.0);
}

TEST(Metrics, FollowTheirFormulas) {
  // e = +20 %, -10 %, 0 %
  const std::vector<Scored> rows{row(1.0, 0.9, 1.2, 1.3), row(2.0, 1.0, 1.8, 1.9), row(4.0, 2.0, 4.0, 8.0)};
  const Metrics m = score(rows);
  EXPECT_EQ(m.n, 3u);
  EXPECT_NEAR(m.mape, (20.0 + 10.0 + 0.0) / 3, 1e-12);
  EXPECT_NEAR(m.median_ape, 10.0, 1e-12);
  EXPECT_NEAR(m.bias, (20.0 - 10.0 + 0.0) / 3, 1e-12);
  EXPECT_NEAR(m.coverage, 100.0 * 2 / 3, 1e-12);  // 2.0 lies above its p90 of 1.9
  EXPECT_NEAR(m.band_width, (1.3 / 0.9 + 1.9 / 1.0 + 8.0 / 2.0) / 3, 1e-12);
}

TEST(Metrics, PinballWeighsEachSideOfEachQuantile) {
  // d = log(measured / quantile): log 2, 0, -log 2 at q = 0.1, 0.5, 0.9; 0.1 log 2 each side.
  const std::vector<Scored> rows{row(2.0, 1.0, 2.0, 4.0)};
  EXPECT_NEAR(score(rows).pinball, (0.1 * std::log(2.0) + 0.0 + 0.1 * std::log(2.0)) / 3, 1e-12);
  const std::vector<Scored> low{row(8.0, 2.0, 4.0, 4.0)};  // all below: q d
  EXPECT_NEAR(score(low).pinball, (0.1 * std::log(4.0) + 0.5 * std::log(2.0) + 0.9 * std::log(2.0)) / 3, 1e-12);
}

TEST(Metrics, MedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  std::vector<Scored> rows;
  for (const double error : {0.4, 0.1, 0.3, 0.2}) rows.push_back(row(1.0, 1.0, 1.0 + error, 2.0));
  EXPECT_NEAR(score(rows).median_ape, (20.0 + 30.0) / 2, 1e-10);
}

TEST(Metrics, NinetiethPercentileIsTheNearestRank) {
  // The smallest error that at least 90 % of n rows do not exceed: rank ceil(0.9 n).
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{9}, std::size_t{10}, std::size_t{11}, std::size_t{20}, std::size_t{100}}) {
    std::vector<Scored> rows;
    for (std::size_t i = 1; i <= n; ++i) rows.push_back(row(1.0, 1.0, 1.0 + 0.01 * static_cast<double>(i), 2.0));
    std::size_t rank = 1;
    while (10 * rank < 9 * n) ++rank;
    EXPECT_NEAR(score(rows).p90_ape, static_cast<double>(rank), 1e-9) << n << " rows";
  }
}

TEST(Metrics, BandIsClosed) {
  EXPECT_EQ(score(std::vector<Scored>{row(1.0, 1.0, 1.5, 2.0)}).coverage, 100.0);
  EXPECT_EQ(score(std::vector<Scored>{row(2.0, 1.0, 1.5, 2.0)}).coverage, 100.0);
}

}  // namespace
}  // namespace tessera
