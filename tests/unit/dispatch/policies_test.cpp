// Every policy on tenants whose timeline follows by hand from its rule. Two SMs hold four blocks of 1,024 threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "sim/dispatch/cpp.hpp"
#include "sim/dispatch/gacer.hpp"
#include "sim/dispatch/gacer_packing.hpp"
#include "sim/dispatch/mig.hpp"
#include "tests/unit/dispatch/bench_tenants.hpp"

namespace tessera {

std::unique_ptr<DispatchPolicy> make_shortest_kernel();

namespace {

using testing::DoubleNear;
using testing::Pointwise;

const GpuSpec kGpu = spin_gpu(2);

std::vector<double> ends(const std::vector<Tenant>& tenants, std::string_view policy, const GpuSpec& gpu = kGpu) {
  return ends_of(evaluate(tenants, gpu, policy, undisturbed()), tenants.size());
}

void expect_ends(const std::vector<Tenant>& tenants, std::string_view policy, const std::vector<double>& expected,
                 const GpuSpec& gpu = kGpu) {
  EXPECT_THAT(ends(tenants, policy, gpu), Pointwise(testing::DoubleNear(1e-9), expected)) << policy;
}

TEST(PoliciesTest, SequentialRunsOneRequestAfterTheOther) {
  const std::vector tenants{tenant({spin(kGpu, 2, Seconds(1.0))}), tenant({spin(kGpu, 2, Seconds(1.0))})};
  expect_ends(tenants, "sequential", {1, 2});
  expect_ends(tenants, "streams", {1, 1});
}

// B comes at 0.5 during the first of A's two waves; plain streams finish A first.
TEST(PoliciesTest, StreamsWithPriorityLetTheUrgentCutAhead) {
  const std::vector tenants{tenant({spin(kGpu, 8, Seconds(1.0))}),
                            tenant({spin(kGpu, 4, Seconds(1.0))}, -1, {Seconds(0.5)})};
  expect_ends(tenants, "streams", {2, 3});
  expect_ends(tenants, "streams+priority", {3, 2});
}

// Slices of 2 ms, s = 2 ms x 0.094 / 0.906 between them. A runs 2 + 2 + 1 ms, B the same, in turn.
TEST(PoliciesTest, TimeSlicesTakeTurns) {
  const std::vector tenants{tenant({spin(kGpu, 4, Seconds(5e-3))}), tenant({spin(kGpu, 4, Seconds(5e-3))})};
  const double s = 2e-3 * 0.094 / 0.906;
  expect_ends(tenants, "timeslice", {9e-3 + 4 * s, 10e-3 + 5 * s});
}

// UNC's volta_mps_base: 160 blocks each, 75 % of 80 SMs hold 120 of them (two waves), 25 % hold 40 (four).
TEST(PoliciesTest, MpsKeepsClientsToTheirSms) {
  const GpuSpec titan = spin_gpu(80);
  std::vector tenants{tenant({spin(titan, 160, Seconds(0.5))}, 0, {Seconds(0.1)}),
                      tenant({spin(titan, 160, Seconds(0.5))}, 0, {Seconds(0.2)})};
  tenants[0].sm_cap = 0.75;
  tenants[1].sm_cap = 0.25;
  expect_ends(tenants, "mps", {1.1, 2.2}, titan);
}

// Two tenants of an A100 get 3g each: 42 SMs, so 84 blocks of a whole SM take two waves there and one on the whole.
TEST(PoliciesTest, MigGivesEachItsSlice) {
  GpuSpec a100 = spin_gpu(108);
  a100.architecture = "Ampere GA100";
  std::vector<Tenant> tenants(2, tenant({spin(a100, 84, Seconds(1e-3), 2048)}));
  tenants[0].kernels[0].cost.footprint.threads = tenants[1].kernels[0].cost.footprint.threads = 2048;
  expect_ends(tenants, "mig", {2e-3, 2e-3}, a100);
  tenants[0].mig_slice = "4g";  // 56 SMs
  tenants[1].mig_slice = "1g";  // 14 SMs: six waves
  expect_ends(tenants, "mig", {2e-3, 6e-3}, a100);
  tenants[0].mig_slice = "5g";
  EXPECT_THROW(ends(tenants, "mig", a100), RunError);
  tenants[0].mig_slice = "7g";
  EXPECT_THROW(ends(tenants, "mig", a100), RunError);  // with 1g that is more than there is
  EXPECT_THROW(ends(tenants, "mig", kGpu), RunError);  // it has no MIG
  EXPECT_EQ(find_mig_slice(a100, "2g")->sms, 28);
  EXPECT_EQ(find_mig_slice(a100, "6g"), std::nullopt);
}

// Best effort passes beside an urgent kernel only if it is of the other class and both fit.
TEST(PoliciesTest, OrionPairsClasses) {
  const auto pair = [](KernelClass other, std::int64_t blocks) {
    return std::vector{tenant({spin(kGpu, 2, Seconds(1.0), 1024, KernelClass::compute)}, -1),
                       tenant({spin(kGpu, blocks, Seconds(1.0), 1024, other)})};
  };
  expect_ends(pair(KernelClass::memory, 2), "orion", {1, 1});
  expect_ends(pair(KernelClass::unknown, 2), "orion", {1, 1});
  expect_ends(pair(KernelClass::compute, 2), "orion", {1, 2});
}

// A's blocks are killed 25.5 us after the urgent kernel came, and start anew when it has ended.
TEST(PoliciesTest, ReefKillsAndRestarts) {
  const double stop = 0.25 + 25.5e-6;
  const std::vector tenants{tenant({spin(kGpu, 4, Seconds(1.0))}),
                            tenant({spin(kGpu, 4, Seconds(0.5))}, -1, {Seconds(0.25)})};
  expect_ends(tenants, "reef", {stop + 0.5 + 1.0, stop + 0.5});
}

// The same where CPP goes on after REEF's kill, as in the look ahead: the killed blocks come back with the kernel.
TEST(PoliciesTest, CppBringsBackWhatReefKilled) {
  class Change final : public DispatchPolicy {
   public:
    [[nodiscard]] Decision next(const DispatchView& view) override {
      return view.now < Seconds(0.25 + 10e-6) ? reef_->next(view) : cpp_->next(view);
    }

   private:
    std::unique_ptr<DispatchPolicy> reef_ = make_dispatch_policy("reef"), cpp_ = make_dispatch_policy("cpp");
  } policy;
  const double stop = 0.25 + 25.5e-6;
  const std::vector tenants{tenant({spin(kGpu, 4, Seconds(1.0))}),
                            tenant({spin(kGpu, 4, Seconds(0.5))}, -1, {Seconds(0.25)})};
  EXPECT_THAT(ends_of(evaluate(tenants, kGpu, policy, undisturbed()), 2),
              Pointwise(DoubleNear(1e-9), {stop + 0.5 + 1.0, stop + 0.5}));
}

// 100 waves of 10 us; the urgent kernel comes in the 26th, which ends first; the other 74 follow it.
TEST(PoliciesTest, TallyYieldsAfterASlice) {
  const std::vector tenants{tenant({spin(kGpu, 400, Seconds(10e-6))}),
                            tenant({spin(kGpu, 4, Seconds(100e-6))}, -1, {Seconds(255e-6)})};
  expect_ends(tenants, "tally", {1.1e-3, 0.36e-3});
}

// Half the GPU each overlap fully; a group of two whole ones gains nothing, so they run one by one, deadline first.
TEST(PoliciesTest, AbacusGroupsWhatOverlaps) {
  expect_ends({tenant({spin(kGpu, 2, Seconds(1.0))}), tenant({spin(kGpu, 2, Seconds(1.0))})}, "abacus", {1, 1});
  std::vector whole{tenant({spin(kGpu, 4, Seconds(1.0))}), tenant({spin(kGpu, 4, Seconds(1.0))})};
  expect_ends(whole, "abacus", {1, 2});
  whole[1].slo = Seconds(1.5);
  expect_ends(whole, "abacus", {2, 1});
}

// That of sim/dispatch/README.md: A, two waves, lets B pass.
TEST(PoliciesTest, TheReadmesOwnPolicySendsTheShortestKernelFirst) {
  const std::vector tenants{tenant({spin(kGpu, 8, Seconds(1.0))}), tenant({spin(kGpu, 4, Seconds(1.0))})};
  const auto policy = make_shortest_kernel();
  EXPECT_THAT(ends_of(evaluate(tenants, kGpu, *policy, undisturbed()), 2), Pointwise(DoubleNear(1e-9), {3.0, 1.0}));
}

// B has three kernels to go, A one: two of B's come first, then both are alike and A has waited longer.
TEST(PoliciesTest, CppServesTheLongestWayToGo) {
  const TenantKernel whole = spin(kGpu, 4, Seconds(1.0));
  expect_ends({tenant({whole}), tenant({whole, whole, whole})}, "cpp", {3, 4});
  auto shortest = make_cpp_with({.order = CppSettings::Order::shortest});
  const std::vector tenants{tenant({whole, whole, whole}), tenant({whole})};
  EXPECT_THAT(ends_of(evaluate(tenants, kGpu, *shortest, undisturbed()), 2), Pointwise(DoubleNear(1e-9), {4.0, 1.0}));
}

/// Wide and narrow kernels in turn, where the order in which they meet matters.
std::vector<Tenant> complementary() {
  const TenantKernel wide = spin(kGpu, 4, Seconds(1e-3)), narrow = spin(kGpu, 1, Seconds(3e-3));
  return {tenant({wide, narrow, wide, narrow}), tenant({wide, wide, narrow, narrow}),
          tenant({narrow, wide, narrow, wide, wide})};
}

TEST(PoliciesTest, GacerIsNoWorseThanStreamsAndItsParts) {
  const auto tenants = complementary();
  const SharingOptions options = undisturbed();
  const TenantSet set{tenants, kGpu, options};
  const auto makespan = [&](GacerOptions search) {
    const GacerPlan plan = search_gacer(set, search);
    auto gacer = make_gacer_with(search);
    EXPECT_NEAR(evaluate(tenants, kGpu, *gacer, options).makespan.value(), plan.makespan.value(), 1e-9);
    return plan.makespan.value();
  };
  const double both = makespan({});
  const double space = makespan({.temporal = false}), time = makespan({.spatial = false});
  const double streams = evaluate(tenants, kGpu, "streams", options).makespan.value();
  EXPECT_LE(both, space);
  EXPECT_LE(both, time);
  EXPECT_LE(space, streams);
  EXPECT_LE(time, streams);
}

// A third and two thirds fit together, a whole does not; it has waited longest and is next; then two thirds and a
// third.
TEST(PoliciesTest, GacersOwnModelPacksWidths) {
  const GpuSpec gpu = spin_gpu(3);
  const auto part = [&](int third) { return spin(gpu, 2 * third, Seconds(1.0)); };
  const std::vector tenants{tenant({part(1)}), tenant({part(2), part(2)}), tenant({part(3), part(1)})};
  const SharingOptions options = undisturbed();
  const TenantSet set{tenants, gpu, options};
  const auto packed = [&] { return packed_makespan(build_programs(set, shared_streams(set)).front()); };
  EXPECT_NEAR(packed().value(), 3, 1e-9);
}

/// Searched by widths, the plan is carried out under the rules like any other.
TEST(PoliciesTest, GacerSearchedByWidthsIsCarriedOut) {
  const auto tenants = complementary();
  const SharingOptions options = undisturbed();
  const GacerOptions by_widths{.evaluator = GacerOptions::Evaluator::packing};
  const TenantSet set{tenants, kGpu, options};
  const GacerPlan plan = search_gacer(set, by_widths);
  EXPECT_GT(plan.evaluations, 1);
  auto gacer = make_gacer_with(by_widths);
  const double searched_by_rules = search_gacer(set).makespan.value();
  EXPECT_GE(evaluate(tenants, kGpu, *gacer, options).makespan.value(), searched_by_rules - 1e-12);
}

// Pieces have whole samples: without pointers a batch of one leaves the streams alone, one of four is cut in four.
TEST(PoliciesTest, GacerCutsNoSample) {
  const SharingOptions options = undisturbed();
  const auto pieces = [&](int batch) {
    std::vector tenants{tenant({spin(kGpu, 40, Seconds(1e-3))}),
                        tenant({spin(kGpu, 1, Seconds(3e-3)), spin(kGpu, 4, Seconds(1e-3))})};
    for (Tenant& one : tenants) one.batch = batch;
    const GacerPlan plan = search_gacer({tenants, kGpu, options}, {.temporal = false, .concat_cost = 0});
    std::uint32_t most = 1;
    for (const auto& row : plan.pieces) most = std::max(most, std::ranges::max(row));
    return most;
  };
  EXPECT_EQ(pieces(1), 1U);
  EXPECT_GT(pieces(4), 1U);
}

TEST(PoliciesTest, LookaheadIsNoWorseThanItsMembers) {
  const auto tenants = complementary();
  const double lookahead = evaluate(tenants, kGpu, "lookahead", undisturbed()).makespan.value();
  for (const auto& entry : dispatch_policies()) {
    if (entry.name == "mig" || entry.name == "timeslice") continue;
    EXPECT_LE(lookahead, evaluate(tenants, kGpu, entry.name, undisturbed()).makespan.value() + 1e-12) << entry.name;
  }
}

// A request of 8 ms is under way when one of 1 ms comes that must end within 2 ms: the look ahead lets it pass.
TEST(PoliciesTest, LookaheadMeetsADeadlineThatStreamsMiss) {
  const TenantKernel wave = spin(kGpu, 4, Seconds(1e-3));
  std::vector tenants{tenant({spin(kGpu, 32, Seconds(1e-3))}), tenant({wave}, 0, {Seconds(1.5e-3)})};
  tenants[1].slo = Seconds(2e-3);
  expect_ends(tenants, "streams", {8e-3, 9e-3});
  expect_ends(tenants, "lookahead", {9e-3, 3e-3});
}

}  // namespace
}  // namespace tessera
