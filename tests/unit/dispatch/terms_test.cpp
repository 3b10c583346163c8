// Each limit of an SM and each term of interference in a whole timeline, with its switch: tenants whose slowdown
// follows from the formula of sim/dispatch/README.md.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/device.hpp"
#include "sim/dispatch/evaluate.hpp"
#include "tests/unit/dispatch/bench_tenants.hpp"

namespace tessera {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

constexpr double kTime = 1e-3;

std::vector<double> ends(const std::vector<Tenant>& tenants, const GpuSpec& gpu, const SharingTerms& terms,
                         std::string_view policy = "streams") {
  SharingOptions options = undisturbed();
  options.terms = terms;
  return ends_of(evaluate(tenants, gpu, policy, options), tenants.size());
}

constexpr SharingTerms kNone{.hbm = false, .issue = false, .l2 = false, .clock = false, .launch = false};

/// Two tenants, each on half of the SMs with blocks of 2,048 threads, drawing `hbm` of the bandwidth alone.
std::vector<Tenant> halves(const GpuSpec& gpu, double hbm) {
  TenantKernel kernel = spin(gpu, gpu.sms / 2, Seconds(kTime), 2048);
  kernel.cost.hbm_bytes = gpu.memory_bandwidth * Seconds(kTime) * hbm;
  return {tenant({kernel}), tenant({kernel})};
}

void expect_all(const std::vector<double>& found, double expected) {
  EXPECT_THAT(found, testing::Each(DoubleNear(expected, 1e-9 * expected)));
}

/// What one block takes of an SM, and whether two of them fit.
struct Limit {
  const char* name;
  int threads, registers;
  double shared_memory;
  int slots;
  bool fit;
};

class SmLimit : public testing::TestWithParam<Limit> {};

TEST_P(SmLimit, TwoKernelsRunTogetherOnlyIfBothFit) {
  const Limit& limit = GetParam();
  GpuSpec gpu = spin_gpu(1);
  gpu.blocks_per_sm = limit.slots;
  TenantKernel kernel = spin(gpu, 1, Seconds(kTime), limit.threads);
  kernel.cost.footprint = {limit.threads, limit.registers, Bytes(limit.shared_memory)};
  kernel.cost.blocks_per_sm = occupancy(sm_limits(gpu), kernel.cost.footprint);
  const std::vector both{tenant({kernel}), tenant({kernel})};
  EXPECT_THAT(ends(both, gpu, kNone), Pointwise(DoubleNear(1e-12), {kTime, limit.fit ? kTime : 2 * kTime}));
}

// An SM of 2,048 threads, 65,536 registers and 100 KiB of shared memory.
INSTANTIATE_TEST_SUITE_P(Each, SmLimit,
                         testing::Values(Limit{"threads_fit", 1024, 0, 0, 32, true},
                                         Limit{"threads", 1025, 0, 0, 32, false},
                                         Limit{"registers_fit", 256, 128, 0, 32, true},
                                         Limit{"registers", 256, 129, 0, 32, false},
                                         Limit{"shared_memory_fits", 32, 0, 51200, 32, true},
                                         Limit{"shared_memory", 32, 0, 51201, 32, false},
                                         Limit{"slots_fit", 32, 0, 0, 2, true}, Limit{"slots", 32, 0, 0, 1, false}),
                         [](const auto& instance) { return instance.param.name; });

TEST(TermsTest, BandwidthIsSharedAlike) {
  const GpuSpec gpu = spin_gpu(80);
  SharingTerms hbm = kNone;
  hbm.hbm = true;
  expect_all(ends(halves(gpu, 0.8), gpu, hbm), 1.6 * kTime);
  expect_all(ends(halves(gpu, 0.4), gpu, hbm), kTime);
  expect_all(ends(halves(gpu, 0.8), gpu, kNone), kTime);
}

// One block of a kernel that leaves no shared memory, and one of a kernel that fills half the threads: 1.5 SMs of work.
TEST(TermsTest, BlocksThatFillMoreThanTheSmsShareItsIssueSlots) {
  const GpuSpec gpu = spin_gpu(1);
  TenantKernel staged = spin(gpu, 1, Seconds(kTime), 512);
  staged.cost.footprint.shared_memory = gpu.shared_memory_per_sm;
  staged.cost.blocks_per_sm = 1;
  const std::vector both{tenant({staged}), tenant({spin(gpu, 1, Seconds(kTime), 1024)})};
  SharingTerms issue = kNone;
  issue.issue = true;
  expect_all(ends(both, gpu, issue), 1.5 * kTime);
  expect_all(ends(both, gpu, kNone), kTime);
}

TEST(TermsTest, OthersTrafficPollutesTheL2) {
  const GpuSpec gpu = spin_gpu(80);
  SharingTerms l2 = kNone;
  l2.l2 = true;
  expect_all(ends(halves(gpu, 0.3), gpu, l2), (1 + 0.716 * 0.51 * 0.3) * kTime);
  expect_all(ends(halves(gpu, 0), gpu, l2), kTime);
  expect_all(ends(halves(gpu, 0.3), gpu, kNone), kTime);
}

TEST(TermsTest, PowerOverTheCapLowersTheClockOfAll) {
  const GpuSpec gpu = spin_gpu(80);
  std::vector<Tenant> both = halves(gpu, 0);
  for (Tenant& one : both)
    one.kernels[0].cost.energy = (gpu.power_cap - derive_device(gpu).idle) * 0.8 * Seconds(kTime);
  SharingTerms clock = kNone;
  clock.clock = true;
  expect_all(ends(both, gpu, clock), std::cbrt(1.6) * kTime);
  expect_all(ends(both, gpu, kNone), kTime);
}

TEST(TermsTest, DependentKernelsFollowLaterTheMoreTenantsAreActive) {
  const GpuSpec gpu = spin_gpu(80);
  std::vector<Tenant> both = halves(gpu, 0);
  for (Tenant& one : both) one.kernels.push_back(one.kernels[0]);
  SharingTerms launch = kNone;
  launch.launch = true;
  expect_all(ends({both[0]}, gpu, launch), 2 * kTime + 1.4e-6);
  expect_all(ends(both, gpu, launch), 2 * kTime + 1.7e-6);
  expect_all(ends(both, gpu, kNone), 2 * kTime);
}

// A slice of 3g has 42 of 108 SMs and half of the bandwidth: 84 blocks take two waves, each as long as all 84 at once
// on the whole GPU. A tenant on the other slice changes nothing; under streams it takes bandwidth and evicts lines.
TEST(TermsTest, MigSlicesKeepTheirBandwidthAndTheirL2) {
  GpuSpec a100 = spin_gpu(108);
  a100.architecture = "Ampere GA100";
  TenantKernel streaming = spin(a100, 84, Seconds(kTime), 2048);
  streaming.cost.hbm_bytes = a100.memory_bandwidth * Seconds(kTime);
  std::vector both{tenant({streaming}), tenant({streaming})};
  for (Tenant& one : both) one.mig_slice = "3g";
  const SharingTerms shared{.hbm = true, .issue = true, .l2 = true, .clock = false, .launch = false};
  expect_all(ends({both[0]}, a100, shared, "mig"), 2 * kTime);
  expect_all(ends(both, a100, shared, "mig"), 2 * kTime);
  EXPECT_GT(ends(both, a100, shared)[1], 2 * kTime * 1.05);
}

}  // namespace
}  // namespace tessera
