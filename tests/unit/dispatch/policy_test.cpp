#include "sim/dispatch/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

int next(const std::vector<QueuedKernel>& queue) {
  return make_dispatch_policy("streams")->next({.queue = queue}).kernel;
}

// The queue comes by priority, then in order of arrival.
TEST(StreamsTest, OldestOfTheMostUrgentQueueComesFirst) {
  EXPECT_EQ(next({{1, 0, 2, 1, false}, {0, 0, 5, 1, false}, {2, 0, 9, 1, false}}), 0);
  EXPECT_EQ(next({{2, -1, 8, 1, false}, {1, -1, 9, 1, false}, {0, 0, 1, 1, false}}), 0);
}

// Amert et al. 2017: a head that finds no room lets neither its own queue nor a less urgent one pass.
TEST(StreamsTest, BlockedHeadHoldsEveryoneUp) {
  EXPECT_EQ(next({{0, 0, 1, 1, true}, {1, 0, 2, 1, false}}), -1);
  EXPECT_EQ(next({{0, -1, 3, 1, true}, {1, 0, 1, 1, false}}), -1);
}

TEST(StreamsTest, NothingToDo) {
  EXPECT_EQ(next({}), -1);
}

TEST(DispatchPoliciesTest, TableIsAlphabeticalAndMakesEach) {
  const auto table = dispatch_policies();
  EXPECT_TRUE(std::ranges::is_sorted(table, {}, &DispatchPolicyEntry::name));
  for (const auto& entry : table) EXPECT_NE(make_dispatch_policy(entry.name), nullptr);
}

TEST(DispatchPoliciesTest, UnknownNameIsAnInputErrorWithTheNearest) {
  try {
    make_dispatch_policy("steams");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("unknown dispatch policy 'steams'; did you mean 'streams'?; there are: "));
  }
}

}  // namespace
}  // namespace tessera
