// Segments of a caching allocator that starts empty, counted by PyTorch's rounding.
#include <numeric>

#include <gtest/gtest.h>

#include "sim/graph/allocations.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kElementsPerMiB = 262144;  // fp32

/// `count` linear layers in a row whose results have `mib` MiB; backward follows in training.
Plan chain(int count, std::int64_t mib, bool training) {
  Plan plan;
  plan.kernels = {{Op::linear, Dtype::fp32, GemmShape{.m = mib * 64, .n = kElementsPerMiB / 64, .k = 64}}};
  plan.names = {"layer"};
  for (int i = 0; i < count; ++i) plan.tasks.emplace_back().work = KernelId{0};
  if (training) {
    plan.tasks.emplace_back().work = KernelId{0};
    plan.tasks.back().phase = Phase::backward;
  }
  return plan;
}

int segments(const Plan& plan) {
  const std::vector<int> all = segments_from_empty(plan);
  return std::accumulate(all.begin(), all.end(), 0);
}

TEST(Allocations, FourMiBResultsShareSegmentsOfTwenty) {
  EXPECT_EQ(segments(chain(31, 4, true)), 7);  // 30 inputs are kept, five to a segment, and the last result
}

TEST(Allocations, ResultsAboveTenMiBHaveTheirOwn) {
  EXPECT_EQ(segments(chain(31, 11, true)), 31);
}

TEST(Allocations, InferenceReusesWhatItFrees) {
  EXPECT_EQ(segments(chain(31, 11, false)), 2);
}

TEST(Allocations, OnlyTheFirstForwardPassAllocates) {
  Plan plan = chain(4, 32, true);
  const std::vector<int> first = segments_from_empty(plan);
  EXPECT_EQ(first.back(), 0);
  for (Task& task : plan.tasks) task.micro_batch = 1;
  EXPECT_EQ(segments(plan), 0);
}

TEST(Allocations, EveryStageHasAnAllocatorOfItsOwn) {
  Plan plan = chain(4, 4, false);
  EXPECT_EQ(segments(plan), 1);
  plan.spec.pp = 2;
  plan.program_ends = {2, 4};
  EXPECT_EQ(segments(plan), 2);
}

TEST(Allocations, AResultThatNothingKeepsIsReused) {
  Plan plan = chain(1, 32, true);
  plan.kernels.push_back({Op::mulu, Dtype::fp32, VectorShape{32, kElementsPerMiB}});
  plan.tasks.clear();
  for (int i = 0; i < 9; ++i) plan.tasks.emplace_back().work = KernelId{1};  // backward of a scale needs no operand
  plan.tasks.emplace_back().work = KernelId{1};
  plan.tasks.back().phase = Phase::backward;
  EXPECT_EQ(segments(plan), 2);
}

}  // namespace
}  // namespace tessera
