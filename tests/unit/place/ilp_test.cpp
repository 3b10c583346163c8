#include "sim/place/schedule/ilp.hpp"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

using testing::IsEmpty;
using namespace literals;

/// Fourteen equal products on two cores: weak bounds, and a tree that no solver finishes at once.
class Ilp : public testing::Test {
 protected:
  [[nodiscard]] ScheduleProblem problem() const { return {order_, latency_, {2, 1}}; }

  OperatorOrder order_{{.core = std::vector(14, CoreClass::tensor), .edges = {{0, 1}, {1, 2}, {3, 4}}}};
  std::vector<OperatorLatency> latency_{14, {3.0_s, 2.0_s}};
};

LinearSolution sleep_on(const LinearProgram&, std::span<const double>, Seconds) {
  std::this_thread::sleep_for(std::chrono::minutes(1));
  return {};
}
LinearSolution crash(const LinearProgram&, std::span<const double>, Seconds) {
  throw RunError("out of memory");
}
/// Hands back the start, and a bound without proof.
LinearSolution keep_start(const LinearProgram&, std::span<const double> start, Seconds) {
  return {.optimal = false, .infeasible = false, .values = {start.begin(), start.end()}, .bound = 0.75};
}

TEST_F(Ilp, FallsBackOnTheSearchAndSaysSo) {
  const IlpSchedule ilp = ilp_schedule(problem(), {.solver = IlpSolver::glpk}, {});
  EXPECT_EQ(ilp.solved_by, "search");
  EXPECT_EQ(ilp.note, "glpk is not built into this program; search was used instead");
  EXPECT_EQ(ilp.schedule.makespan, optimal_schedule(problem()).makespan);
}

TEST_F(Ilp, FallsBackOnTheOtherSolverAndSaysSo) {
  const LinearSolver glpk{"glpk", keep_start};
  const IlpSchedule ilp = ilp_schedule(problem(), {.solver = IlpSolver::cbc}, {&glpk, 1});
  EXPECT_EQ(ilp.solved_by, "glpk");
  EXPECT_EQ(ilp.note, "cbc is not built into this program; glpk was used instead");
}

TEST_F(Ilp, KeepsTheListScheduleWhenTheSolverIsEndedAtTheLimit) {
  const LinearSolver endless{"cbc", sleep_on};
  const auto begin = std::chrono::steady_clock::now();
  const IlpSchedule ilp = ilp_schedule(problem(), {.limit = Seconds(0.2)}, {&endless, 1});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));  // and not the minute
  EXPECT_TRUE(ilp.schedule.limit_reached);
  EXPECT_THAT(schedule_violations(problem(), ilp.schedule), IsEmpty());
  EXPECT_EQ(ilp.schedule.makespan, list_schedule(problem()).makespan);
  EXPECT_EQ(ilp.schedule.bound.makespan, schedule_bound(problem()).makespan);
}

TEST_F(Ilp, PassesOnWhySolverFailed) {
  const LinearSolver broken{"cbc", crash};
  EXPECT_THROW(ilp_schedule(problem(), {.limit = Seconds(60.0)}, {&broken, 1}), RunError);
}

TEST_F(Ilp, AFeasiblePointIsAScheduleWithTheBoundThatIsProven) {
  const LinearSolver solver{"cbc", keep_start};
  const Schedule schedule = ilp_schedule(problem(), {}, {&solver, 1}).schedule;
  EXPECT_TRUE(schedule.limit_reached);
  EXPECT_EQ(schedule.makespan, list_schedule(problem()).makespan);
  EXPECT_GE(schedule.bound.makespan, schedule_bound(problem()).makespan);
}

TEST_F(Ilp, NothingToDoNeedsNoSolver) {
  const LinearSolver broken{"cbc", crash};
  const std::vector<OperatorLatency> none(14);
  EXPECT_EQ(ilp_schedule({order_, none, {2, 1}}, {}, {&broken, 1}).schedule.makespan, Seconds());
}

}  // namespace
}  // namespace tessera
