#include "sim/place/schedule/sharing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace literals;

constexpr auto T = CoreClass::tensor;
constexpr auto V = CoreClass::vector;

struct Shared {
  OperatorOrder order;
  std::vector<OperatorLatency> latency;
  std::vector<SharedTraffic> traffic;
  Cores cores{2, 1};
  SharedBandwidth bandwidth{3.35_GBps, 100.0_GBps};

  [[nodiscard]] SharedProblem problem() const { return {order, latency, traffic, cores, bandwidth}; }
};

TEST(Sharing, TwoOperatorsThatAskForTooMuchTogetherGetHalfEach) {
  const Shared two{.order = OperatorOrder({.core = {T, T}, .edges = {}}),
                   .latency = {{10.0_s, 10.0_s}, {10.0_s, 10.0_s}},
                   .traffic = {{20.0_GB, {}}, {20.0_GB, {}}}};
  const Schedule schedule = shared_schedule(two.problem());
  EXPECT_DOUBLE_EQ(schedule.makespan.value(), 40.0 / 3.35);
  EXPECT_EQ(schedule.bound.rule, BoundRule::energy);  // of the port
  EXPECT_TRUE(schedule.optimal());
  EXPECT_THAT(shared_violations(two.problem(), schedule), IsEmpty());
}

TEST(Sharing, WhoAsksForLittleGetsIt) {
  // Asks for 0.5 and 3.2 of 3.35 GB/s: the small one ends at 10; by then the large one has 28.5 of its 32 GB.
  const Shared two{.order = OperatorOrder({.core = {T, T}, .edges = {}}),
                   .latency = {{10.0_s, 10.0_s}, {10.0_s, 10.0_s}},
                   .traffic = {{5.0_GB, {}}, {32.0_GB, {}}}};
  const Schedule schedule = shared_schedule(two.problem());
  EXPECT_DOUBLE_EQ(schedule.operators[0].end.value(), 10.0);
  EXPECT_DOUBLE_EQ(schedule.operators[1].end.value(), 10.0 + (32.0 - 28.5) / 3.2);
  // The port alone would need 37 / 3.35 s; the choice between serial and parallel is proven no further than that.
  EXPECT_DOUBLE_EQ(schedule.bound.makespan.value(), 37.0 / 3.35);
  EXPECT_FALSE(schedule.optimal());
}

TEST(Sharing, EachPortIsItsOwn) {
  const Shared two{.order = OperatorOrder({.core = {T, T}, .edges = {}}),
                   .latency = {{10.0_s, 10.0_s}, {10.0_s, 10.0_s}},
                   .traffic = {{33.5_GB, {}}, {{}, 1000.0_GB}}};
  EXPECT_DOUBLE_EQ(shared_schedule(two.problem()).makespan.value(), 10.0);
}

TEST(Sharing, AnOperatorLastsAtLeastItsTraffic) {
  const Shared one{
      .order = OperatorOrder({.core = {V}, .edges = {}}), .latency = {{1.0_s, 0.5_s}}, .traffic = {{6.7_GB, {}}}};
  EXPECT_DOUBLE_EQ(shared_schedule(one.problem()).makespan.value(), 2.0);
  Schedule short_one{.operators = {{.end = 1.0_s, .vector_core = 0}}, .makespan = 1.0_s};
  EXPECT_THAT(shared_violations(one.problem(), short_one), ElementsAre("operator 0 does not last its latency"));
}

}  // namespace
}  // namespace tessera
