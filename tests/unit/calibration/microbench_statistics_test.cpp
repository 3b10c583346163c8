// How often a benchmark repeats, and what is kept.
#include <gtest/gtest.h>

#include <algorithm>

#include "calibration/microbench/statistics.hpp"
#include "sim/base/rng.hpp"

namespace tessera::microbench {
namespace {

TEST(MicrobenchStatistics, NearestRanks) {
  std::vector<Seconds> samples;
  for (int i = 10; i >= 1; --i) samples.push_back(Seconds(i));  // 1 to 10, backwards
  const Statistics s = summarise(samples);
  EXPECT_EQ(s.median, Seconds(5));  // the smallest that half of the samples do not exceed
  EXPECT_EQ(s.p10, Seconds(1));
  EXPECT_EQ(s.p90, Seconds(9));
  EXPECT_EQ(s.repeats, 10U);
  EXPECT_DOUBLE_EQ(s.spread(), 8.0 / 5.0);
  EXPECT_EQ(summarise({Seconds(3)}).p90, Seconds(3));
}

TEST(MicrobenchStatistics, QuantilesAreSamplesInOrderWhateverTheSamples) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Seconds> samples(1 + rng.below(40));
    for (Seconds& s : samples) s = Seconds(rng.uniform());
    const Statistics s = summarise(samples);
    EXPECT_LE(s.p10, s.median);
    EXPECT_LE(s.median, s.p90);
    for (const Seconds q : {s.p10, s.median, s.p90}) EXPECT_NE(std::ranges::find(samples, q), samples.end());
  }
}

TEST(MicrobenchStatistics, CallsFillASample) {
  const Sampling sampling{.sample = Seconds(1e-3), .max_calls = 200};
  EXPECT_EQ(calls_per_sample(sampling, Seconds(1e-4), Timing::graph), 10);
  EXPECT_EQ(calls_per_sample(sampling, Seconds(1e-2), Timing::graph), 1);
  EXPECT_EQ(calls_per_sample(sampling, Seconds(1e-9), Timing::graph), 200);
  EXPECT_EQ(calls_per_sample(sampling, Seconds(0), Timing::graph), 200);
  EXPECT_EQ(calls_per_sample(sampling, Seconds(1e-9), Timing::eager), 1);
}

TEST(MicrobenchStatistics, RepeatsUntilCountAndTimeAreReached) {
  const Sampling sampling{
      .warm_up = Seconds(1), .time = Seconds(2), .sample = Seconds(1e-3), .min_repeats = 10, .max_repeats = 50};
  int timed = 0;
  const auto constant = [&](double seconds) {
    return [&timed, seconds](int calls) {
      timed += calls;
      return Seconds(seconds);
    };
  };
  // 1/8 s a call: 8 warm it up, 16 fill the time, and two came first.
  EXPECT_EQ(take_samples(sampling, Timing::graph, Seconds(0), constant(0.125)).size(), 16U);
  EXPECT_EQ(timed, 2 + 8 + 16);
  // 0.5 s a call: the least number of repeats counts.
  EXPECT_EQ(take_samples(sampling, Timing::graph, Seconds(0), constant(0.5)).size(), 10U);
  // 1 ms a call: the greatest number does.
  EXPECT_EQ(take_samples(sampling, Timing::graph, Seconds(0), constant(1e-3)).size(), 50U);
}

TEST(MicrobenchStatistics, AHeldLoadKeepsTheLaterHalf) {
  // Cools down by then: the early calls last 1 s, those after 16 s last 2 s.
  Seconds spent;
  const auto throttling = [&](int calls) {
    const Seconds one(spent < Seconds(16) ? 1 : 2);
    spent += calls * one;
    return one;
  };
  const auto samples = take_samples({}, Timing::graph, Seconds(60), throttling);
  for (const Seconds s : samples) EXPECT_EQ(s, Seconds(2));
}

TEST(MicrobenchStatistics, ExpectedTimeIsWhatConstantCallsTake) {
  const Sampling sampling;
  for (const double one : {2e-6, 1e-4, 5e-3, 0.04}) {
    for (const Timing timing : {Timing::graph, Timing::eager}) {
      for (const Seconds hold : {Seconds(0), Seconds(6)}) {
        Seconds spent;
        take_samples(sampling, timing, hold, [&](int calls) {
          spent += calls * Seconds(one) + sampling.between;
          return Seconds(one);
        });
        const Seconds expected = sampling_time(sampling, timing, hold, Seconds(one));
        const Seconds sample = calls_per_sample(held(sampling, hold), Seconds(one), timing) * Seconds(one);
        // The two first calls, and each loop ends on a whole sample, or one later where the sum falls short by
        // rounding.
        const Seconds slack = 6 * (sample + sampling.between);
        EXPECT_NEAR(spent.value(), expected.value(), slack.value()) << one;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::microbench
