// Requests, arrivals, rounds of pointers, pieces, shares and the terms of interference, by hand.
#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "sim/dispatch/interference.hpp"
#include "tests/unit/dispatch/bench_tenants.hpp"

namespace tessera {
namespace {

const GpuSpec kGpu = spin_gpu(2);

/// The hardware's rules under a given deployment.
class Deployed final : public DispatchPolicy {
 public:
  explicit Deployed(Deployment deployment) : deployment_(std::move(deployment)) {}
  [[nodiscard]] Deployment deploy(const TenantSet&) override { return deployment_; }
  [[nodiscard]] Decision next(const DispatchView& view) override { return streams_->next(view); }

 private:
  Deployment deployment_;
  std::unique_ptr<DispatchPolicy> streams_ = make_dispatch_policy("streams");
};

TEST(TenantsTest, ClosedLoopAndDates) {
  std::vector tenants{tenant({spin(kGpu, 4, Seconds(1.0))}, 0, {Seconds(0.5), Seconds(0.6), Seconds(5.0)})};
  const Timeline open = evaluate(tenants, kGpu, "streams", undisturbed());
  ASSERT_EQ(open.requests.size(), 3u);
  EXPECT_NEAR(open.requests[1].arrival.value(), 0.6, 1e-12);
  EXPECT_NEAR(open.requests[1].start.value(), 1.5, 1e-12);
  EXPECT_NEAR(open.requests[1].end.value(), 2.5, 1e-12);
  EXPECT_NEAR(open.requests[2].end.value(), 6.0, 1e-12);
  tenants[0].arrivals = {.requests = 100, .until = Seconds(2.5)};
  EXPECT_EQ(evaluate(tenants, kGpu, "streams", undisturbed()).requests.size(), 3u);  // begin at 0, 1, 2
}

TEST(TenantsTest, HostLaunchesOneKernelAfterTheOther) {
  std::vector tenants{tenant({spin(kGpu, 4, Seconds(1e-6)), spin(kGpu, 4, Seconds(1e-6))})};
  tenants[0].launch = Seconds(5e-6);
  EXPECT_NEAR(evaluate(tenants, kGpu, "streams", undisturbed()).makespan.value(), 11e-6, 1e-12);
}

// Halves of the GPU. Without pointers both end after 3 s and 1 s; with one after the first kernel, B's second waits for
// A's first, and the switch takes 0.1 s.
TEST(TenantsTest, PointersMakeTenantsWaitForEachOther) {
  const TenantKernel one = spin(kGpu, 2, Seconds(1.0)), two = spin(kGpu, 2, Seconds(2.0));
  const std::vector tenants{tenant({two, one}), tenant({one, one})};
  const SharingOptions options = undisturbed();
  Deployment deployment = shared_streams({tenants, kGpu, options});
  deployment.pointer_cost = Seconds(0.1);
  for (TenantDeployment& of : deployment.tenants) of.pointers = {1};
  Deployed policy(deployment);
  const auto ends = ends_of(evaluate(tenants, kGpu, policy, options), 2);
  EXPECT_NEAR(ends[0], 3.1, 1e-9);
  EXPECT_NEAR(ends[1], 3.1, 1e-9);
}

// A kernel of two waves cut in two lets B's kernel in between, at the price of the copy: 2 x 1 GB over what HBM gives.
TEST(TenantsTest, PiecesLetOthersInBetween) {
  TenantKernel wide = spin(kGpu, 8, Seconds(1.0));
  wide.output = Bytes(1e9);
  const std::vector tenants{tenant({wide}), tenant({spin(kGpu, 4, Seconds(1.0))})};
  const SharingOptions options = undisturbed();
  Deployment deployment = shared_streams({tenants, kGpu, options});
  deployment.concat_cost = 0;
  deployment.tenants[0].pieces = {2};
  Deployed free_copy(deployment);
  const auto ends = ends_of(evaluate(tenants, kGpu, free_copy, options), 2);
  EXPECT_NEAR(ends[0], 3.0, 1e-9);
  EXPECT_NEAR(ends[1], 2.0, 1e-9);
  deployment.concat_cost = 1;
  Deployed paid_copy(deployment);
  const double copy = evaluate(tenants, kGpu, paid_copy, options).makespan.value() - 3.0;
  EXPECT_GE(copy, 2e-3);
  EXPECT_LE(copy, 2.5e-3);
}

// Four waves: B goes after the first of them, or before the last.
TEST(TenantsTest, UnequalPieces) {
  const std::vector tenants{tenant({spin(kGpu, 16, Seconds(1.0))}), tenant({spin(kGpu, 4, Seconds(1.0))})};
  const SharingOptions options = undisturbed();
  Deployment deployment = shared_streams({tenants, kGpu, options});
  deployment.concat_cost = 0;
  for (const auto& [pieces, end] : {std::pair{kQuarterFirst, 2.0}, {kQuarterLast, 4.0}}) {
    deployment.tenants[0].pieces = {pieces};
    Deployed policy(deployment);
    const auto ends = ends_of(evaluate(tenants, kGpu, policy, options), 2);
    EXPECT_NEAR(ends[0], 5.0, 1e-9);
    EXPECT_NEAR(ends[1], end, 1e-9);
  }
}

// Kernel i of n streams comes at instant 0; 33 streams share 32 connections, so the last waits behind the first's two.
TEST(TenantsTest, ThirtyThirdStreamWaitsInAConnection) {
  const GpuSpec gpu = spin_gpu(64);
  std::vector<Tenant> tenants(33, tenant({spin(gpu, 1, Seconds(1.0)), spin(gpu, 1, Seconds(1.0))}));
  const auto ends = ends_of(evaluate(tenants, gpu, "streams", undisturbed()), 33);
  for (std::size_t t = 0; t < 32; ++t) EXPECT_NEAR(ends[t], 2.0, 1e-9);
  EXPECT_NEAR(ends[32], 3.0, 1e-9);  // its first starts when the other's second has started, at 1
}

TEST(TenantsTest, PolicyThatSendsNothingIsARunError) {
  class Idle final : public DispatchPolicy {
   public:
    [[nodiscard]] Decision next(const DispatchView&) override { return {}; }
    [[nodiscard]] bool lone_stream_is_free() const override { return false; }
  } idle;
  EXPECT_THROW(evaluate(std::vector{tenant({spin(kGpu, 1, Seconds(1.0))})}, kGpu, idle), RunError);
}

// Alone on half of the SMs: twice the waves. A kernel that only waits for memory takes as long as on all of them, as
// long as half of the SMs can draw the whole bandwidth.
TEST(DeviceKernelTest, OnAShareComputeScalesAndMemoryDoesNot) {
  const GpuSpec gpu = spin_gpu(64);
  const TenantKernel spinning = spin(gpu, 1280, Seconds(1e-3));
  const Seconds whole = device_kernel(spinning.cost, gpu).time();
  EXPECT_NEAR(device_kernel(spinning.cost, gpu, {32, 1}).time() / whole, 2.0, 1e-9);
  TenantKernel streaming = spinning;
  streaming.cost.hbm_bytes = gpu.memory_bandwidth * whole;  // capped at what HBM gives
  EXPECT_NEAR(device_kernel(streaming.cost, gpu).time() / whole, 1.0, 1e-9);
  EXPECT_LT(device_kernel(streaming.cost, gpu, {32, 1}).time() / whole, 1.5);
  EXPECT_NEAR(device_kernel(streaming.cost, gpu, {32, 0.5}).time() / whole, 2.0, 1e-6);  // a slice has half of both
}

TEST(InterferenceTest, OneAloneAndEachTermHasItsSwitch) {
  const GpuSpec gpu = spin_gpu(80);
  const Interference::Company alone{BytesPerSec(0.0), Watts(500.0), Watts(500.0), true};
  const Interference::Company crowd{gpu.memory_bandwidth / 2, Watts(200.0), Watts(800.0), true};
  EXPECT_EQ(Interference(gpu, {}).factor(alone), 1.0);
  const double l2 = Interference(gpu, {.clock = false}).factor(crowd);
  const double clock = Interference(gpu, {.l2 = false}).factor(crowd);
  EXPECT_NEAR(l2, 1 + 0.716 * 0.51 * 0.5, 1e-12);
  EXPECT_GT(clock, 1.3);
  EXPECT_NEAR(Interference(gpu, {}).factor(crowd), l2 * clock, 1e-12);
  EXPECT_EQ(Interference(gpu, {.l2 = false, .clock = false}).factor(crowd), 1.0);
  EXPECT_NEAR(Interference(gpu, {}).gap(1).value(), 1.4e-6, 1e-15);
  EXPECT_NEAR(Interference(gpu, {}).gap(9).value(), 17e-6, 1e-15);
  EXPECT_EQ(Interference(gpu, {.launch = false}).gap(3), Seconds(0.0));
}

// XSched's medians on a GV100 at kernels of 0.5 and 1 ms: throttling 4.71 and 10.0 ms, flush 0.435 and 0.891 ms.
TEST(InterferenceTest, PreemptionFollowsTheMeasuredLaw) {
  EXPECT_NEAR(preemption_latency(Preemption::throttle, Seconds(0.5e-3)) / Seconds(4.706e-3), 1.0, 0.15);
  EXPECT_NEAR(preemption_latency(Preemption::throttle, Seconds(1e-3)) / Seconds(10.044e-3), 1.0, 0.15);
  EXPECT_NEAR(preemption_latency(Preemption::flush, Seconds(0.5e-3)) / Seconds(0.4347e-3), 1.0, 0.15);
  EXPECT_NEAR(preemption_latency(Preemption::flush, Seconds(1e-3)) / Seconds(0.8912e-3), 1.0, 0.15);
  EXPECT_NEAR(preemption_latency(Preemption::interrupt, Seconds(1e-3)) / Seconds(25.4e-6), 1.0, 0.15);
}

}  // namespace
}  // namespace tessera
