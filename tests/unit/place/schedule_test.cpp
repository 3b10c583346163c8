#include "sim/place/schedule/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace literals;

constexpr auto T = CoreClass::tensor;
constexpr auto V = CoreClass::vector;
constexpr auto F = CoreClass::fused;
constexpr auto N = CoreClass::none;

std::string message(const OperatorGraph& graph) {
  try {
    const OperatorOrder order(graph);
  } catch (const RunError& error) {
    return error.what();
  }
  return "";
}

TEST(OperatorOrder, LeavesOutWhatTakesNoCoreAndKeepsItsOrder) {
  const OperatorOrder order({.core = {V, N, T, V}, .edges = {{0, 1}, {1, 2}, {0, 2}}});
  ASSERT_EQ(order.size(), 3);
  EXPECT_EQ(order.operator_of(2), 2);  // 3 waits for nothing and comes earlier
  EXPECT_EQ(order.operator_of(1), 3);
  EXPECT_TRUE(order.precedes(0, 2));
  EXPECT_FALSE(order.comparable(1, 2));
  EXPECT_THAT(order.before(2), ElementsAre(0));
}

TEST(OperatorOrder, WidthIsTheLargestSetAroundAnOperatorThatMayRunTogether) {
  // 0 forks into 1, 2 and 3; 4 joins 2 and 3 only.
  const OperatorOrder order({.core = {T, T, V, T, T}, .edges = {{0, 1}, {0, 2}, {0, 3}, {2, 4}, {3, 4}}});
  EXPECT_EQ(order.width(0), 1);
  EXPECT_EQ(order.width(1), 3);
  EXPECT_EQ(order.width(4), 2);
  EXPECT_EQ(order.tensor_width(1), 2);
  EXPECT_EQ(order.vector_width(2), 1);
}

TEST(OperatorOrder, RefusesCyclesAndEdgesToNowhere) {
  EXPECT_EQ(message({.core = {T, V}, .edges = {{0, 1}, {1, 0}}}),
            "operator 0 waits for itself: the operators' order has a cycle");
  EXPECT_EQ(message({.core = {T, V}, .edges = {{0, 2}}}),
            "an edge from operator 0 to operator 2, but there are 2 operators");
}

TEST(Schedule, AChainIsProvedByItsCriticalPath) {
  const OperatorOrder order({.core = {T, V, N, F}, .edges = {{0, 1}, {1, 2}, {2, 3}}});
  const std::vector<OperatorLatency> latency{{4.0_s, 3.0_s}, {2.0_s, 2.0_s}, {}, {5.0_s, 1.0_s}};
  const ScheduleProblem problem{order, latency, {2, 2}};
  const Schedule schedule = optimal_schedule(problem);
  EXPECT_EQ(schedule.makespan, 3.0_s + 2.0_s + 1.0_s);
  EXPECT_EQ(schedule.bound.rule, BoundRule::critical_path);
  EXPECT_TRUE(schedule.optimal());
  EXPECT_EQ(schedule.operators[2].start, 5.0_s);
  EXPECT_EQ(schedule.operators[2].end, 5.0_s);
}

TEST(Schedule, IndependentWorkIsProvedByItsEnergy) {
  const OperatorOrder order({.core = {T, T, T, T}, .edges = {}});
  const std::vector<OperatorLatency> latency(4, {3.0_s, 3.0_s});
  const Schedule schedule = optimal_schedule({order, latency, {2, 1}});
  EXPECT_EQ(schedule.makespan, 4 * 3.0_s / 2);
  EXPECT_EQ(schedule.bound.rule, BoundRule::energy);
}

TEST(Schedule, AllCoresPayOnlyWhenNothingRunsBeside) {
  // Each alone: 3 + 3; together on one core each: 4.
  const OperatorOrder order({.core = {T, T}, .edges = {}});
  const std::vector<OperatorLatency> latency(2, {4.0_s, 3.0_s});
  const Schedule schedule = optimal_schedule({order, latency, {2, 1}});
  EXPECT_EQ(schedule.makespan, 4.0_s);
  EXPECT_FALSE(schedule.operators[0].all_cores);
}

TEST(Schedule, NothingTakesNoTime) {
  const OperatorOrder order({.core = {N, N}, .edges = {{0, 1}}});
  const std::vector<OperatorLatency> latency(2);
  const Schedule schedule = optimal_schedule({order, latency, {1, 1}});
  EXPECT_EQ(schedule.makespan, Seconds());
  EXPECT_TRUE(schedule.optimal());
}

TEST(Schedule, SaysWhenTheLimitStoppedTheSearch) {
  // Two cores, seven operators whose sums never balance: no bound meets the optimum.
  const OperatorOrder order({.core = std::vector(7, T), .edges = {}});
  const std::vector<OperatorLatency> latency(7, {3.0_s, 3.0_s});
  const ScheduleProblem problem{order, latency, {2, 1}};
  const Schedule stopped = optimal_schedule(problem, {.nodes = 3});
  EXPECT_TRUE(stopped.limit_reached);
  EXPECT_DOUBLE_EQ(stopped.gap(), (12.0 - 10.5) / 12.0);
  const Schedule whole = optimal_schedule(problem);
  EXPECT_FALSE(whole.limit_reached);
  EXPECT_EQ(whole.bound.rule, BoundRule::search);
  EXPECT_EQ(whole.makespan, 12.0_s);
}

TEST(Schedule, AnIdleCoreTakesWeightGradients) {
  // Two products in a row, backward: input gradients 1 -> 0 are a chain of 2 s each; nothing waits for weight gradients
  // 2 (of 0, after 1) and 3 (of 1).
  const OperatorOrder order({.core = std::vector(4, T), .edges = {{1, 0}, {1, 2}}});
  const std::vector<OperatorLatency> latency(4, {2.0_s, 2.0_s});
  EXPECT_EQ(optimal_schedule({order, latency, {1, 1}}).makespan, 4 * 2.0_s);
  EXPECT_EQ(optimal_schedule({order, latency, {2, 1}}).makespan, 2 * 2.0_s);
}

TEST(Schedule, ConsecutiveBlocksAddUp) {
  // 0, 1 -> 2 -> 3, 4, 5: two and three products around one, on two cores.
  const OperatorOrder order({.core = std::vector(6, T), .edges = {{0, 2}, {1, 2}, {2, 3}, {2, 4}, {2, 5}}});
  const std::vector<OperatorLatency> latency(6, {3.0_s, 3.0_s});
  const Schedule schedule = optimal_schedule({order, latency, {2, 1}});
  EXPECT_EQ(schedule.makespan, 3.0_s + 3.0_s + 6.0_s);
  EXPECT_TRUE(schedule.optimal());
  EXPECT_DOUBLE_EQ(schedule_bound({order, latency, {2, 1}}).makespan.value(), 3.0 + 3.0 + 4.5);
}

class Violations : public testing::Test {
 protected:
  Violations() { schedule_.makespan = 6.0_s; }
  std::vector<std::string> violations() { return schedule_violations({order_, latency_, {2, 1}}, schedule_); }

  OperatorOrder order_{{.core = {T, F, V}, .edges = {{0, 1}}}};
  std::vector<OperatorLatency> latency_{{4.0_s, 2.0_s}, {2.0_s, 2.0_s}, {1.0_s, 1.0_s}};
  Schedule schedule_{.operators = {{.start = 0.0_s, .end = 4.0_s, .tensor_core = 1},
                                   {.start = 4.0_s, .end = 6.0_s, .tensor_core = 0, .vector_core = 0},
                                   {.start = 1.0_s, .end = 2.0_s, .vector_core = 0}}};
};

TEST_F(Violations, NoneInAValidSchedule) {
  EXPECT_THAT(violations(), IsEmpty());
}
TEST_F(Violations, Count) {
  schedule_.operators.pop_back();
  EXPECT_THAT(violations(), ElementsAre("2 operators are placed, but there are 3"));
}
TEST_F(Violations, Makespan) {
  schedule_.makespan = 5.0_s;
  EXPECT_THAT(violations(), ElementsAre("the makespan is not the last end"));
}
TEST_F(Violations, Start) {
  schedule_.operators[2] = {.start = Seconds(-1.0), .end = 0.0_s, .vector_core = 0};
  EXPECT_THAT(violations(), ElementsAre("operator 2 starts before 0"));
}
TEST_F(Violations, Latency) {
  schedule_.operators[2].end = 3.0_s;
  EXPECT_THAT(violations(), ElementsAre("operator 2 does not last its latency"));
}
TEST_F(Violations, Precedence) {
  schedule_.operators[0] = {.start = 1.0_s, .end = 5.0_s, .tensor_core = 1};
  EXPECT_THAT(violations(), ElementsAre("operator 1 starts before 0 ends"));
}
TEST_F(Violations, MissingCore) {
  schedule_.operators[0].tensor_core = 2;
  EXPECT_THAT(violations(), ElementsAre("operator 0 has no tensor core"));
}
TEST_F(Violations, SuperfluousCore) {
  schedule_.operators[2].tensor_core = 0;
  EXPECT_THAT(violations(), ElementsAre("operator 2 holds a tensor core that it does not need"));
}
TEST_F(Violations, Pairing) {
  schedule_.operators[1].tensor_core = 1;
  EXPECT_THAT(violations(), ElementsAre("fused operator 1 is on tensor core 1 and vector core 0"));
}
TEST_F(Violations, OneCore) {
  schedule_.operators[2] = {.start = 5.0_s, .end = 6.0_s, .vector_core = 0};
  EXPECT_THAT(violations(), ElementsAre("operators 1 and 2 overlap on one core"));
}
TEST_F(Violations, AllCores) {
  schedule_.operators[0] = {.start = 1.0_s, .end = 3.0_s, .all_cores = true};
  EXPECT_THAT(violations(), ElementsAre("operators 0 and 2 overlap, but one has all cores"));
}

}  // namespace
}  // namespace tessera
