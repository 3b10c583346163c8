#include <cmath>

#include <gtest/gtest.h>

#include "models/device.hpp"
#include "models/shared_error.hpp"
#include "sim/report/error_bar.hpp"
#include "tests/unit/report/tiny_run.hpp"

namespace tessera {
namespace {

TEST(Summary, TokensRatesAndTheirErrorBars) {
  const Summary s = TinyRun().summary();
  EXPECT_EQ(s.samples_per_step, 3 * 2 * 2);  // micro-batch x micro-batches x replicas
  EXPECT_EQ(s.tokens_per_step, 12 * 7);
  EXPECT_EQ(s.gpus, 2);
  EXPECT_DOUBLE_EQ(s.tokens_per_second.p50, 84 / 5.5);
  EXPECT_DOUBLE_EQ(s.tokens_per_second.p10, 84 / s.step_time.p90.value());
  EXPECT_DOUBLE_EQ(s.tokens_per_second_per_gpu.p90, 42 / s.step_time.p10.value());
}

TEST(Summary, StepBandCombinesKernelsAndCommunication) {
  const Summary s = TinyRun().summary();
  // Families deviate by 2 x 0.2 and 0.4 above, the exposed second of communication by its constant.
  const double rho = error_correlation(FamilyId::gemm_simt, FamilyId::memory);
  const double kernels = 0.4 * 0.4 + 0.4 * 0.4 + 2 * rho * 0.4 * 0.4;
  EXPECT_DOUBLE_EQ(s.step_time.p90.value(), 5.5 + std::sqrt(kernels + kCommunicationHigh * kCommunicationHigh));
}

TEST(Summary, MfuCountsThreeForwardsInTraining) {
  TinyRun run;
  const double forward = 2.0 * 10 * 10 * 10;  // the copy has no useful FLOPs
  EXPECT_DOUBLE_EQ(run.summary().model_flops.value(), 3 * forward * 2 * 2);
  EXPECT_DOUBLE_EQ(run.summary().mfu_ratio.p50, 3 * forward * 4 / (5.5 * 2 * 1000));
  run.build.mode = Mode::inference;
  EXPECT_DOUBLE_EQ(run.summary().model_flops.value(), forward * 2 * 2);
}

TEST(Summary, TimeSplitAddsUpToTheStep) {
  const Summary s = TinyRun().summary();
  EXPECT_DOUBLE_EQ((s.compute + s.exposed_communication + s.idle).value(), s.step_time.p50.value());
}

TEST(Summary, OperatorsByFallingTimeWithCollectives) {
  const Summary s = TinyRun().summary();
  ASSERT_EQ(s.operators.size(), 3u);
  EXPECT_EQ(s.operators[0].time.p50, Seconds(2));
  EXPECT_EQ(s.operators[1].time.p50, Seconds(2));
  EXPECT_EQ(s.operators[2].name, "all_reduce over dp");
  EXPECT_EQ(s.operators[2].time.p50, Seconds(1));
  const auto& matmul = s.operators[0].name == "matmul" ? s.operators[0] : s.operators[1];
  EXPECT_EQ(matmul.calls, 2);
  EXPECT_DOUBLE_EQ(matmul.time.p90.value(), 2.4);
  EXPECT_DOUBLE_EQ(matmul.share_ratio, 2 / 5.5);
  EXPECT_EQ(matmul.provenance, Provenance::fitted);
}

TEST(Summary, BusiestLink) {
  const Summary s = TinyRun().summary();
  EXPECT_EQ(s.busiest_link, "wire");
  EXPECT_DOUBLE_EQ(s.busiest_link_ratio, 1.1 / 5.5);
}

TEST(Summary, DeviceMemoryAgainstItsBandwidth) {
  TinyRun run;
  run.trace.gpus[0].hbm_carried = Bytes(55);
  EXPECT_DOUBLE_EQ(run.summary().hbm_ratio, 55 / (100 * 5.5));
}

TEST(Summary, NoLinkIsBusyWhereNothingIsSent) {
  TinyRun run;
  run.trace.links.pop_back();
  EXPECT_EQ(run.summary().busiest_link, "");
}

TEST(Summary, ProvenanceIsTheWorstThatMatters) {
  TinyRun run;
  EXPECT_EQ(run.summary().provenance, Provenance::closed_form);
  run.costs[1].provenance = Provenance::extrapolated;
  EXPECT_EQ(run.summary().provenance, Provenance::extrapolated);
  EXPECT_DOUBLE_EQ(run.summary().extrapolated_ratio, 0.5);
  run.costs[1].time = Estimate<Seconds>::exact(Seconds(0.01));  // 0.5 % of the compute time
  EXPECT_EQ(run.summary().provenance, Provenance::fitted);
}

TEST(Energy, KernelsIdleAndHosts) {
  const Summary s = TinyRun().summary();
  EXPECT_DOUBLE_EQ(s.energy.kernels.value(), 2 * (10 + 10 + 5));
  EXPECT_DOUBLE_EQ(s.energy.idle_gpus.value(), 2 * derive_device(TinyRun().cluster.gpu).idle.value() * 1.5);
  EXPECT_DOUBLE_EQ(s.energy.hosts.value(), 100 * 5.5 * 2 / 4);
  const double total = s.energy.kernels.value() + s.energy.idle_gpus.value() + s.energy.hosts.value();
  EXPECT_DOUBLE_EQ(s.energy.total.p50.value(), total);
  const double lasting = (s.energy.idle_gpus + s.energy.hosts).value() * (s.step_time.p90.value() / 5.5 - 1);
  EXPECT_NEAR(s.energy.total.p90.value(), total + std::hypot(lasting, kEnergyError * 50), 1e-9);
}

}  // namespace
}  // namespace tessera
