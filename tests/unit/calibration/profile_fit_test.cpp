// Shrinkage of measured offsets, against the closed form of a normal prior and a normal likelihood.
#include <cmath>

#include <gtest/gtest.h>

#include "calibration/profile_fit.hpp"
#include "models/calibrated_model.hpp"
#include "models/shared_error.hpp"

namespace tessera {
namespace {

constexpr double kShared = 0.12, kOwn = 0.09;

std::vector<Observation> rows(std::size_t count, double log_ratio, FamilyId family = FamilyId::gemm_matrix) {
  return std::vector<Observation>(
      count, {.family = family, .dtype = Dtype::bf16, .log_ratio = log_ratio, .error = {kShared, kOwn}});
}

SharedDeviations priors() {
  return SharedDeviations(families().size(), 0.1);
}

const FamilyOffset& find(const std::vector<FamilyOffset>& offsets, FamilyId family, std::optional<Dtype> dtype) {
  for (const FamilyOffset& offset : offsets)
    if (offset.family == family && offset.dtype == dtype) return offset;
  throw std::out_of_range("no such offset");
}

TEST(FitOffsets, OneRowIsShrunkTowardsThePrior) {
  const auto offsets = fit_offsets(rows(1, 0.2), priors());
  const FamilyOffset& gemm = find(offsets, FamilyId::gemm_matrix, Dtype::bf16);
  const double shrinkage = kShared * kShared / (kShared * kShared + kOwn * kOwn);
  EXPECT_NEAR(gemm.log_offset, 0.2 * shrinkage, 1e-12);
  EXPECT_NEAR(gemm.deviation, kShared * std::sqrt(1 - shrinkage), 1e-12);
  EXPECT_EQ(gemm.rows, 1);
}

TEST(FitOffsets, MoreRowsRecoverTheOffsetAndNarrow) {
  double deviation = kShared, error = 0.2;
  for (const std::size_t count : {1, 3, 10, 100}) {
    const auto offsets = fit_offsets(rows(count, 0.2), priors());
    const FamilyOffset& gemm = find(offsets, FamilyId::gemm_matrix, Dtype::bf16);
    EXPECT_LT(gemm.deviation, deviation);
    EXPECT_LT(std::abs(gemm.log_offset - 0.2), error);
    deviation = gemm.deviation;
    error = std::abs(gemm.log_offset - 0.2);
  }
  EXPECT_LT(error, 0.002);
  EXPECT_NEAR(deviation, kOwn / 10, 0.001);
}

TEST(FitOffsets, NoRowsLeaveThePrior) {
  for (const FamilyOffset& offset : fit_offsets({}, priors())) {
    EXPECT_EQ(offset.log_offset, 0);
    EXPECT_DOUBLE_EQ(offset.deviation, 0.1);
    EXPECT_EQ(offset.rows, 0);
    EXPECT_FALSE(offset.dtype);
  }
}

TEST(FitOffsets, OtherFamiliesFollowByTheirCorrelation) {
  const auto offsets = fit_offsets(rows(1, 0.2), priors());
  const double rho = error_correlation(FamilyId::gemm_matrix, FamilyId::prefill) * kDtypeCorrelation;
  const double gain = rho * 0.1 * kShared / (kShared * kShared + kOwn * kOwn);
  const FamilyOffset& prefill = find(offsets, FamilyId::prefill, std::nullopt);
  EXPECT_NEAR(prefill.log_offset, 0.2 * gain, 1e-12);
  EXPECT_NEAR(prefill.deviation, std::sqrt(0.01 - gain * rho * 0.1 * kShared), 1e-12);
  EXPECT_LT(find(offsets, FamilyId::memory, std::nullopt).log_offset, prefill.log_offset);
}

TEST(FitOffsets, AnOutlierCountsLess) {
  std::vector<Observation> measured = rows(9, 0.1);
  measured.push_back(rows(1, 3).front());  // twenty times as slow
  const auto offsets = fit_offsets(measured, priors());
  EXPECT_NEAR(find(offsets, FamilyId::gemm_matrix, Dtype::bf16).log_offset, 0.1, 0.025);
}

TEST(FitOffsets, DoesNotDependOnTheOrderOfRows) {
  std::vector<Observation> measured;
  for (int i = 0; i < 20; ++i) measured.push_back(rows(1, 0.01 * i * (i % 3)).front());
  const auto forward = fit_offsets(measured, priors());
  std::reverse(measured.begin(), measured.end());
  const auto backward = fit_offsets(measured, priors());
  for (std::size_t i = 0; i < forward.size(); ++i) EXPECT_NEAR(forward[i].log_offset, backward[i].log_offset, 1e-12);
}

/// A GPU that is 15 % slower than predicted at everything, measured on a few kernels, is predicted right.
TEST(FitOffsets, SyntheticMeasurementsOfARealModelAreRecovered) {
  const auto model = make_latency_model();
  const GpuSpec gpu = find_gpu("L40S");
  const Device device = derive_device(gpu);
  std::vector<Observation> measured;
  for (std::int64_t side = 1024; side <= 8192; side += 64) {
    const Kernel kernel{Op::gemm, Dtype::bf16, GemmShape{.m = side, .n = side, .k = side}};
    const KernelCost cost = model->predict(std::span(&kernel, 1), gpu, {}).front();
    measured.push_back(observe(kernel, cost, cost.time.p50 * 1.15, device));
  }
  Profile profile;
  profile.gpu = gpu.name;
  profile.offsets = fit_offsets(measured, shared_deviations(*model, gpu));
  const Kernel other{Op::linear, Dtype::bf16, GemmShape{.m = 3000, .n = 5000, .k = 2048}};
  const CalibratedModel calibrated(*model, {profile});
  const KernelCost before = model->predict(std::span(&other, 1), gpu, {}).front();
  const KernelCost after = calibrated.predict(std::span(&other, 1), gpu, {}).front();
  EXPECT_NEAR(after.time.p50 / before.time.p50, 1.15, 0.02);
  EXPECT_EQ(after.provenance, Provenance::calibrated);
}

TEST(SharedDeviations, EveryFamilyThatTheGpuRunsHasOne) {
  const SharedDeviations deviations = shared_deviations(*make_latency_model(), find_gpu("H100-SXM-80GB"));
  ASSERT_EQ(deviations.size(), families().size());
  for (const double deviation : deviations) EXPECT_GT(deviation, 0);
}

}  // namespace
}  // namespace tessera
