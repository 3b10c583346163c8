// Properties of operator schedules that hold for any problem.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/place/schedule/ilp.hpp"
#include "sim/place/schedule/sharing.hpp"
#include "tests/property/random_schedule.hpp"

namespace tessera {
namespace {

using testing::IsEmpty;

TEST(ScheduleProperty, SmallProblemsHaveTheOptimumOfTryingEverything) {
  Rng rng(1);
  int searched = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    SCOPED_TRACE(trial);
    const RandomProblem random = random_problem(rng, 2 + static_cast<int>(rng.below(4)), 3);
    const ScheduleProblem problem = random.problem();
    const Seconds optimum = brute_force(problem);
    const Schedule schedule = optimal_schedule(problem);
    ASSERT_THAT(schedule_violations(problem, schedule), IsEmpty());
    ASSERT_EQ(schedule.makespan, optimum);
    ASSERT_TRUE(schedule.optimal());
    ASSERT_LE(schedule_bound(problem).makespan.value(), optimum.value() * (1.0 + 1e-12));
    const Schedule list = list_schedule(problem);
    ASSERT_THAT(schedule_violations(problem, list), IsEmpty());
    ASSERT_GE(list.makespan, optimum);
    ASSERT_LE(list.bound.makespan.value(), optimum.value() * (1.0 + 1e-12));
    searched += schedule.bound.rule == BoundRule::search ? 1 : 0;
  }
  EXPECT_GT(searched, 15);  // the trials reach the search, not only the bounds
}

TEST(ScheduleProperty, LargerProblemsAreValidAndBoundedWithinTheirLimit) {
  Rng rng(2);
  for (int trial = 0; trial < 60; ++trial) {
    SCOPED_TRACE(trial);
    const RandomProblem random = random_problem(rng, 10 + static_cast<int>(rng.below(30)), trial % 3 == 0 ? 4096 : 4);
    const ScheduleProblem problem = random.problem();
    const Schedule schedule = optimal_schedule(problem, {.nodes = 2000});
    ASSERT_THAT(schedule_violations(problem, schedule), IsEmpty());
    ASSERT_LE(schedule.bound.makespan, schedule.makespan);
    ASSERT_LE(schedule.makespan, list_schedule(problem).makespan);
    ASSERT_NE(schedule.optimal(), schedule.gap() > 0.0);
    ASSERT_TRUE(schedule.optimal() || schedule.limit_reached);
  }
}

TEST(ScheduleProperty, MoreCoresNeverLengthenTheOptimum) {
  Rng rng(3);
  for (int trial = 0; trial < 80; ++trial) {
    SCOPED_TRACE(trial);
    const RandomProblem random = random_problem(rng, 8, 2);
    ScheduleProblem problem = random.problem();
    const Schedule fewer = optimal_schedule(problem);
    ++problem.cores.tensor;
    ++problem.cores.vector;
    const Schedule more = optimal_schedule(problem);
    ASSERT_TRUE(fewer.optimal() && more.optimal());
    ASSERT_LE(more.makespan, fewer.makespan);
  }
}

/// What lies wholly between two events can have moved no more than the port gives.
void expect_ports_hold(const SharedProblem& problem, const Schedule& schedule) {
  for (const PlacedOperator& first : schedule.operators) {
    for (const PlacedOperator& last : schedule.operators) {
      Bytes moved;
      for (std::size_t i = 0; i < schedule.operators.size(); ++i) {
        const PlacedOperator& op = schedule.operators[i];
        if (op.start >= first.start && op.end <= last.end) moved += problem.traffic[i].hbm;
      }
      const Seconds window = last.end - first.start;
      ASSERT_LE((moved / problem.bandwidth.hbm).value(), max(window, Seconds()).value() + 1e-9);
    }
  }
}

TEST(ScheduleProperty, SharingOnlyDelaysAndKeepsItsPorts) {
  Rng rng(5);
  int delayed = 0;
  for (int trial = 0; trial < 120; ++trial) {
    SCOPED_TRACE(trial);
    const RandomProblem random = random_problem(rng, 2 + static_cast<int>(rng.below(10)), 3);
    std::vector<SharedTraffic> traffic(random.latency.size());
    for (std::size_t i = 0; i < traffic.size(); ++i) {
      if (random.order.graph().core[i] == CoreClass::none) continue;
      traffic[i] = {Bytes(rng.below(8)), Bytes(rng.below(8))};
    }
    const SharedBandwidth wide{BytesPerSec(1e6), BytesPerSec(1e6)}, narrow{BytesPerSec(1.0), BytesPerSec(2.0)};
    std::vector<OperatorLatency> latency = random.latency;  // every operator alone is as slow as its traffic
    for (std::size_t i = 0; i < traffic.size(); ++i) {
      const Seconds least = max(traffic[i].hbm / narrow.hbm, traffic[i].buffer / narrow.buffer);
      latency[i] = {max(latency[i].one_core, least), max(latency[i].all_cores, least)};
    }
    const ScheduleProblem alone{random.order, latency, random.cores};
    const Schedule unshared = optimal_schedule(alone);
    const SharedProblem easy{random.order, latency, traffic, random.cores, wide};
    ASSERT_NEAR(replay_shared(easy, unshared).makespan.value(), unshared.makespan.value(), 1e-9);
    const SharedProblem tight{random.order, latency, traffic, random.cores, narrow};
    const Schedule shared = shared_schedule(tight);
    ASSERT_THAT(shared_violations(tight, shared), IsEmpty());
    ASSERT_GE(shared.makespan.value(), unshared.makespan.value() * (1.0 - 1e-12));
    ASSERT_LE(shared.makespan.value(), replay_shared(tight, unshared).makespan.value() * (1.0 + 1e-12));
    ASSERT_LE(shared_bound(tight).makespan.value(), shared.makespan.value() * (1.0 + 1e-12));
    expect_ports_hold(tight, shared);
    delayed += shared.makespan > unshared.makespan * (1.0 + 1e-9) ? 1 : 0;
  }
  EXPECT_GT(delayed, 12);
}

class IlpProperty : public testing::TestWithParam<IlpSolver> {
 protected:
  void SetUp() override {
    const std::string_view name = enum_names(IlpSolver())[static_cast<std::size_t>(GetParam())];
    for (const LinearSolver& solver : linear_solvers()) {
      if (solver.name == name) return;
    }
    GTEST_SKIP() << name << " is not built in";
  }
};

TEST_P(IlpProperty, SmallProblemsHaveTheOptimumOfTryingEverything) {
  Rng rng(4);
  int proven = 0;
  for (int trial = 0; trial < 20; ++trial) {
    SCOPED_TRACE(trial);
    const RandomProblem random = random_problem(rng, 3 + static_cast<int>(rng.below(4)), 2);
    const ScheduleProblem problem = random.problem();
    const IlpSchedule ilp = ilp_schedule(problem, {.solver = GetParam(), .limit = Seconds(10.0)});
    ASSERT_EQ(ilp.note, "");
    ASSERT_THAT(schedule_violations(problem, ilp.schedule), IsEmpty());
    ASSERT_EQ(ilp.schedule.makespan, brute_force(problem));
    ASSERT_EQ(ilp.schedule.makespan, optimal_schedule(problem).makespan);
    ASSERT_TRUE(ilp.schedule.optimal());
    proven += ilp.schedule.bound.rule == BoundRule::integer_programme ? 1 : 0;
  }
  EXPECT_GT(proven, 6);
}

INSTANTIATE_TEST_SUITE_P(Solvers, IlpProperty, testing::Values(IlpSolver::cbc, IlpSolver::glpk),
                         [](const auto& solver) { return solver.param == IlpSolver::cbc ? "cbc" : "glpk"; });

}  // namespace
}  // namespace tessera
