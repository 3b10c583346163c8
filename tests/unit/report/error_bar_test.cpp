#include <cmath>

#include <gtest/gtest.h>

#include "sim/report/error_bar.hpp"
#include "tests/unit/report/tiny_run.hpp"

namespace tessera {
namespace {

constexpr double kSquaredShare = 1 - kCommonErrorShare;

FamilyTimes two_families(double first, double second, double low, double high) {
  FamilyTimes times{};
  times[0] = {Seconds(first * (1 - low)), Seconds(first), Seconds(first * (1 + high))};
  times[1] = {Seconds(second * (1 - low)), Seconds(second), Seconds(second * (1 + high))};
  return times;
}

TEST(FamilyTimes, SumsQuantilesPerFamily) {
  const TinyRun run;
  const FamilyTimes times = family_times(run.plan, run.costs);
  const auto& gemm = times[static_cast<std::size_t>(KernelFamily::gemm)];
  const auto& memory = times[static_cast<std::size_t>(KernelFamily::memory)];
  EXPECT_DOUBLE_EQ(gemm.p10.value(), 2 * 0.9);
  EXPECT_DOUBLE_EQ(gemm.p90.value(), 2 * 1.2);
  EXPECT_DOUBLE_EQ(memory.p50.value(), 2.0);
  EXPECT_EQ(times[static_cast<std::size_t>(KernelFamily::vector)].p50, Seconds());
}

TEST(StepErrorBar, OneFamilyKeepsItsRelativeBand) {
  const auto bar = step_error_bar(Seconds(10), two_families(10, 0, 0.1, 0.2), Seconds(10), Seconds());
  EXPECT_DOUBLE_EQ(bar.p10.value(), 9);
  EXPECT_DOUBLE_EQ(bar.p50.value(), 10);
  EXPECT_DOUBLE_EQ(bar.p90.value(), 12);
}

TEST(StepErrorBar, TwoFamiliesArePartlyCorrelated) {
  const auto bar = step_error_bar(Seconds(10), two_families(6, 4, 0.1, 0.1), Seconds(10), Seconds());
  const double deviation = std::sqrt(kSquaredShare * (0.6 * 0.6 + 0.4 * 0.4) + kCommonErrorShare * 1.0);
  EXPECT_DOUBLE_EQ(bar.p90.value(), 10 + deviation);
  EXPECT_LT(deviation, 1.0);                               // fully correlated
  EXPECT_GT(deviation, std::sqrt(0.6 * 0.6 + 0.4 * 0.4));  // independent
}

TEST(StepErrorBar, CommunicationIsIndependentOfCompute) {
  const auto bar = step_error_bar(Seconds(14), two_families(10, 0, 0.1, 0.1), Seconds(10), Seconds(4));
  EXPECT_DOUBLE_EQ(bar.p10.value(), 14 - std::hypot(1.0, 4 * kCommunicationLow));
  EXPECT_DOUBLE_EQ(bar.p90.value(), 14 + std::hypot(1.0, 4 * kCommunicationHigh));
}

TEST(StepErrorBar, ScalesToTheComputeTimeThatTheSimulationSaw) {
  const auto bar = step_error_bar(Seconds(6), two_families(10, 0, 0.1, 0.1), Seconds(5), Seconds());
  EXPECT_DOUBLE_EQ(bar.p90.value(), 6 + 0.5);
}

TEST(StepErrorBar, NoKernelsNoBand) {
  const auto bar = step_error_bar(Seconds(3), FamilyTimes{}, Seconds(), Seconds());
  EXPECT_EQ(bar.p10, Seconds(3));
  EXPECT_EQ(bar.p90, Seconds(3));
}

TEST(KernelFamily, EveryOperatorHasOne) {
  EXPECT_EQ(family_of(Op::bmm), KernelFamily::gemm);
  EXPECT_EQ(family_of(Op::attention_backward), KernelFamily::attention);
  EXPECT_EQ(family_of(Op::optimizer), KernelFamily::memory);
  EXPECT_EQ(family_of(Op::gelu), KernelFamily::vector);
}

}  // namespace
}  // namespace tessera
