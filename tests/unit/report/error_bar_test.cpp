#include <cmath>

#include <gtest/gtest.h>

#include "models/shared_error.hpp"
#include "sim/report/error_bar.hpp"
#include "tests/unit/report/tiny_run.hpp"

namespace tessera {
namespace {

/// `distinct` GEMM shapes, each called `calls` times for 1 s, wrong by -0.1 and +0.2 s; `ratio` of the variance shared.
struct EqualKernels {
  Plan plan;
  CostTable costs;
  GpuSpec gpu = TinyRun().cluster.gpu;

  EqualKernels(int distinct, int calls, double ratio) {
    for (int k = 0; k < distinct; ++k) {
      plan.kernels.push_back({Op::linear, Dtype::bf16, GemmShape{.m = 10 + k, .n = 10, .k = 10}});
      costs.emplace_back();
      costs.back().time = {Seconds(0.9), Seconds(1), Seconds(1.2)};
      costs.back().shared_ratio = ratio;
      for (int call = 0; call < calls; ++call) plan.tasks.emplace_back().work = KernelId(static_cast<unsigned>(k));
    }
  }
  [[nodiscard]] Estimate<Seconds> bar() const {
    const KernelErrors errors = kernel_errors(plan, costs, gpu);
    return step_error_bar(errors.total, errors, errors.total, Seconds());
  }
};

TEST(KernelErrors, CallsOfOneKernelAreWrongTogetherWhateverIsShared) {
  for (const double ratio : {0.0, 0.3, 1.0}) {
    const auto bar = EqualKernels(1, 9, ratio).bar();
    EXPECT_NEAR(bar.p10.value(), 9 * 0.9, 1e-12) << ratio;
    EXPECT_NEAR(bar.p90.value(), 9 * 1.2, 1e-12) << ratio;
  }
}

TEST(KernelErrors, OwnErrorsOfDistinctKernelsAddInQuadrature) {
  const auto bar = EqualKernels(9, 1, 0).bar();
  EXPECT_NEAR(bar.p10.value(), 9 - 0.1 * 3, 1e-12);
  EXPECT_NEAR(bar.p90.value(), 9 + 0.2 * 3, 1e-12);
}

TEST(KernelErrors, SharedErrorsAddLinearly) {
  const auto bar = EqualKernels(9, 1, 1).bar();
  EXPECT_NEAR(bar.p10.value(), 9 * 0.9, 1e-12);
  EXPECT_NEAR(bar.p90.value(), 9 * 1.2, 1e-12);
}

TEST(KernelErrors, TheSharedPartIsWhatManyKernelsKeep) {
  double before = 1;
  for (const int distinct : {1, 4, 16, 64}) {
    const auto bar = EqualKernels(distinct, 1, 0.25).bar();
    const double relative = bar.p90 / bar.p50 - 1;
    EXPECT_NEAR(relative, 0.2 * std::sqrt(0.25 + 0.75 / distinct), 1e-12);
    EXPECT_LT(relative, before);
    before = relative;
  }
}

TEST(KernelErrors, CountsTheChosenTasksAlone) {
  EqualKernels run(2, 3, 1);
  run.plan.tasks[0].phase = Phase::backward;
  const KernelErrors forward =
      kernel_errors(run.plan, run.costs, run.gpu, [](const Task& task) { return task.phase == Phase::forward; });
  EXPECT_DOUBLE_EQ(forward.total.value(), 5);
}

TEST(StepErrorBar, FamiliesArePartlyCorrelated) {
  const TinyRun run;  // a GEMM of 2 x 1 s and a copy of 2 s, each -10 / +20 %, wrong together
  const KernelErrors errors = kernel_errors(run.plan, run.costs, run.cluster.gpu);
  const double rho = error_correlation(FamilyId::gemm_simt, FamilyId::memory);
  const double deviation = std::sqrt(0.4 * 0.4 + 0.4 * 0.4 + 2 * rho * 0.4 * 0.4);
  EXPECT_NEAR(step_error_bar(Seconds(4), errors, Seconds(4), Seconds()).p90.value(), 4 + deviation, 1e-12);
  EXPECT_LT(deviation, 0.8);                   // fully correlated
  EXPECT_GT(deviation, std::hypot(0.4, 0.4));  // independent
}

TEST(StepErrorBar, CorrelationsAreThoseOfSomeDistribution) {
  for (std::size_t f = 0; f < families().size(); ++f) {
    for (std::size_t g = 0; g < families().size(); ++g) {
      const auto a = static_cast<FamilyId>(f), b = static_cast<FamilyId>(g);
      EXPECT_EQ(error_correlation(a, b), error_correlation(b, a));
      EXPECT_EQ(error_correlation(a, b) == 1, a == b);
      EXPECT_GT(error_correlation(a, b), 0);
    }
  }
}

TEST(StepErrorBar, CommunicationIsIndependentOfCompute) {
  const EqualKernels run(1, 10, 1);
  const auto bar = step_error_bar(Seconds(14), kernel_errors(run.plan, run.costs, run.gpu), Seconds(10), Seconds(4));
  EXPECT_NEAR(bar.p10.value(), 14 - std::hypot(1.0, 4 * kCommunicationLow), 1e-12);
  EXPECT_NEAR(bar.p90.value(), 14 + std::hypot(2.0, 4 * kCommunicationHigh), 1e-12);
}

TEST(StepErrorBar, ScalesToTheComputeTimeThatTheSimulationSaw) {
  const EqualKernels run(1, 10, 1);
  const auto bar = step_error_bar(Seconds(6), kernel_errors(run.plan, run.costs, run.gpu), Seconds(5), Seconds());
  EXPECT_NEAR(bar.p90.value(), 6 + 1.0, 1e-12);
}

TEST(StepErrorBar, NoKernelsNoBand) {
  const auto bar = step_error_bar(Seconds(3), kernel_errors({}, {}, TinyRun().cluster.gpu), Seconds(), Seconds());
  EXPECT_EQ(bar.p10, Seconds(3));
  EXPECT_EQ(bar.p90, Seconds(3));
}

}  // namespace
}  // namespace tessera
