// The certified search, its state, and the searches to compare with.
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/gaussian_process.hpp"
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/place/search/baselines.hpp"
#include "sim/place/search/certified_search.hpp"
#include "sim/place/search/parallel.hpp"

namespace tessera {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

/// Random scores below random bounds; every seventh candidate is infeasible.
struct RandomTask {
  std::vector<double> bounds, tight, scores;
  RandomTask(std::uint64_t seed, std::size_t count) {
    Rng rng(seed);
    for (std::size_t i = 0; i < count; ++i) {
      scores.push_back(i % 7 == 0 ? kNone : rng.uniform());
      const double floor = std::max(scores.back(), 0.0);
      tight.push_back(floor + 0.1 * rng.uniform());
      bounds.push_back(tight.back() + 0.3 * rng.uniform());
    }
  }
  [[nodiscard]] SearchTask task() const {
    return {.candidates = scores.size(),
            .bound = [this](std::size_t i) { return bounds[i]; },
            .tighter_bound = [this](std::size_t i, double) { return tight[i]; },
            .exact = [this](std::size_t i) { return SearchScore(scores[i]); }};
  }
};

TEST(CertifiedSearch, FindsTheBestOfAllAndProvesIt) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const RandomTask random(seed, 500);
    SearchState state;
    certified_search(random.task(), {.threads = 2}, state);
    const Certificate proof = certificate(state);
    ASSERT_TRUE(proof.feasible && proof.complete);
    EXPECT_EQ(proof.score, *std::ranges::max_element(random.scores));
    EXPECT_EQ(random.scores[proof.best], proof.score);
    EXPECT_LE(proof.next_bound, proof.score);
    EXPECT_LT(proof.solved, 500u);  // bounds spare work
    EXPECT_EQ(proof.open, 0u);
  }
}

TEST(CertifiedSearch, ThreadsDoNotChangeTheState) {
  const RandomTask random(5, 1000);
  SearchState one, four;
  certified_search(random.task(), {.threads = 1}, one);
  certified_search(random.task(), {.threads = 4}, four);
  EXPECT_EQ(one, four);
}

TEST(CertifiedSearch, GoesOnWhereItWasInterrupted) {
  const RandomTask random(9, 3000);
  SearchState whole;
  certified_search(random.task(), {}, whole);
  SearchState state;
  int interruptions = 0;
  while (!state.complete) {
    bool first = true;  // one batch each time
    certified_search(random.task(), {.stop = [&] { return !std::exchange(first, false); }}, state);
    state = search_state(parse_json(to_json(state).dump(), "state"), 3000);
    const Certificate proof = certificate(state, 3000);  // what it says so far is never wrong
    EXPECT_GE(std::max(proof.score, proof.next_bound), *std::ranges::max_element(random.scores));
    EXPECT_EQ(std::isinf(proof.next_bound) && proof.next_bound > 0, state.bounds.size() < 3000);
    ++interruptions;
  }
  EXPECT_GT(interruptions, 3);
  EXPECT_EQ(state, whole);
}

TEST(CertifiedSearch, SaysWhatIsNotProven) {
  SearchState state;
  certified_search({.candidates = 2,
                    .bound = [](std::size_t) { return 2.0; },
                    .exact = [](std::size_t i) { return i == 0 ? SearchScore(1.0, 1.5) : SearchScore(1.2, 1.2); }},
                   {}, state);
  const Certificate proof = certificate(state);
  EXPECT_EQ(proof.best, 1u);
  EXPECT_EQ(proof.open, 1u);
  EXPECT_DOUBLE_EQ(proof.next_bound, 1.5);
}

TEST(CertifiedSearch, NothingFeasibleIsSaid) {
  SearchState state;
  certified_search({.candidates = 5,
                    .bound = [](std::size_t) { return 1.0; },
                    .exact = [](std::size_t) { return SearchScore(kNone); }},
                   {}, state);
  const Certificate proof = certificate(state);
  EXPECT_TRUE(proof.complete);
  EXPECT_FALSE(proof.feasible);
  EXPECT_EQ(proof.infeasible, 5u);
}

TEST(CertifiedSearch, RefusesTheStateOfAnotherSearch) {
  const RandomTask random(1, 50);
  SearchState state;
  certified_search(random.task(), {}, state);
  EXPECT_THROW(search_state(to_json(state), 20), RunError);
}

TEST(StopRule, StopsWhereFiveBucketsDoNotIncrease) {
  // One chip per bucket, largest first: 5, 4, 3, 2, 1 stop before 9 is seen.
  const std::vector<Area> areas{Area(6), Area(5), Area(4), Area(3), Area(2), Area(1)};
  const std::vector<double> scores{5, 4, 3, 2, 1, 9};
  const StopRuleResult result = stop_rule_search(areas, [&](std::size_t i) { return scores[i]; });
  EXPECT_EQ(result.buckets, 5u);
  EXPECT_EQ(result.score, 5);
}

TEST(StopRule, FiveInfeasibleBucketsEndItEmptyHanded) {
  const std::vector<Area> areas{Area(6), Area(5), Area(4), Area(3), Area(2), Area(1)};
  const StopRuleResult result = stop_rule_search(areas, [&](std::size_t i) { return i == 5 ? 1.0 : kNone; });
  EXPECT_EQ(result.score, kNone);
}

TEST(StopRule, AllMembersOfABucketAreSolved) {
  const std::vector<Area> areas{Area(1.001), Area(1.009), Area(0.5)};
  const std::vector<double> scores{1, 3, 2};
  const StopRuleResult result = stop_rule_search(areas, [&](std::size_t i) { return scores[i]; });
  EXPECT_EQ(result.explored, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(result.buckets, 2u);
  EXPECT_EQ(result.best, 1u);
}

/// A smooth hill over a grid of 40 x 40.
std::vector<std::vector<double>> grid() {
  std::vector<std::vector<double>> points;
  for (int x = 0; x < 40; ++x)
    for (int y = 0; y < 40; ++y) points.push_back({static_cast<double>(x), static_cast<double>(y)});
  return points;
}
double hill(const std::vector<double>& p) {
  return std::exp(-((p[0] - 29) * (p[0] - 29) + (p[1] - 7) * (p[1] - 7)) / 200);
}

TEST(Baselines, BayesianBeatsRandomOnASmoothHillUnderOneBudget) {
  const auto points = grid();
  double random = 0, bayesian = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const ExactScore score = [&](std::size_t i) { return hill(points[i]); };
    Rng a(seed), b(seed);
    const BaselineResult by_chance = random_search(points.size(), 30, score, a);
    const BaselineResult by_model = bayesian_search(points, 30, score, b);
    EXPECT_EQ(by_chance.explored.size(), 30u);
    EXPECT_EQ(by_model.explored.size(), 30u);
    random += by_chance.score;
    bayesian += by_model.score;
  }
  EXPECT_GT(bayesian, random);
  EXPECT_GT(bayesian / 5, 0.99);
}

TEST(Baselines, SameSeedSameTrail) {
  const auto points = grid();
  Rng a(3), b(3);
  const ExactScore score = [&](std::size_t i) { return hill(points[i]); };
  EXPECT_EQ(bayesian_search(points, 20, score, a).explored, bayesian_search(points, 20, score, b).explored);
}

TEST(GaussianProcess, PassesThroughItsPointsAndIsUnsureFarAway) {
  const std::vector<std::vector<double>> x{{0}, {1}, {2}, {3}, {4}};
  std::vector<double> y;
  for (const auto& p : x) y.push_back(std::sin(p[0]));
  const GaussianProcess process(x, y);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(process.predict(x[i]).mean, y[i], 0.05);
  EXPECT_NEAR(process.predict(std::vector{1.5}).mean, std::sin(1.5), 0.1);
  EXPECT_GT(process.predict(std::vector{40.0}).deviation, 10 * process.predict(std::vector{2.0}).deviation);
}

TEST(GaussianProcess, ExpectedImprovementIsTheIntegral) {
  // E[max(x - best, 0)] for x ~ N(mean, s): by the trapezoid rule.
  const GaussianProcess::Prediction p{0.3, 0.7};
  double sum = 0;
  constexpr double kStep = 1e-3;
  for (double z = -8; z < 8; z += kStep)
    sum +=
        std::max(p.mean + p.deviation * z - 1.0, 0.0) * std::exp(-z * z / 2) / std::sqrt(2 * 3.14159265358979) * kStep;
  EXPECT_NEAR(expected_improvement(p, 1.0), sum, 1e-5);
  EXPECT_EQ(expected_improvement({2, 0}, 1.5), 0.5);
}

TEST(Parallel, CallsEachOnceAndPassesExceptionsOn) {
  std::vector<int> calls(1000, 0);
  parallel_for(calls.size(), 4, [&](std::size_t i) { ++calls[i]; });
  EXPECT_THAT(calls, ::testing::Each(1));
  EXPECT_THROW(parallel_for(100, 4,
                            [](std::size_t i) {
                              if (i == 57) throw RunError("no");
                            }),
               RunError);
}

}  // namespace
}  // namespace tessera
