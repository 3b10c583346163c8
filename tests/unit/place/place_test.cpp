#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "sim/place/policy.hpp"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ClusterSpec cluster(int nodes, int gpus_per_node) {
  ClusterSpec spec;
  spec.nodes = nodes;
  spec.node.gpus = gpus_per_node;
  return spec;
}

std::vector<int> all_gpus(const ClusterSpec& spec) {
  std::vector<int> gpus(static_cast<std::size_t>(spec.gpus()));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

Plan plan(int tp, int dp) {
  Plan result;
  result.spec.tp = tp;
  result.spec.dp = dp;
  return result;
}

std::vector<int> placed(std::string_view policy, const Plan& p, const ClusterSpec& c, std::vector<int> free_gpus) {
  const auto result = make_placement_policy(policy)->place(p, c, free_gpus);
  const auto* placement = std::get_if<Placement>(&result);
  return placement != nullptr ? placement->gpu_of_rank : std::vector<int>{};
}

std::string refusal(std::string_view policy, const Plan& p, const ClusterSpec& c, std::vector<int> free_gpus) {
  const auto result = make_placement_policy(policy)->place(p, c, free_gpus);
  const auto* no = std::get_if<Infeasible>(&result);
  return no != nullptr ? no->why : "";
}

TEST(Packed, FillsNodesInOrder) {
  const auto c = cluster(2, 4);
  EXPECT_THAT(placed("packed", plan(2, 4), c, all_gpus(c)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(placed("packed", plan(2, 2), c, all_gpus(c)), ElementsAre(0, 1, 2, 3));
}

TEST(Packed, KeepsTensorGroupsInsideANode) {
  const auto c = cluster(2, 4);
  EXPECT_THAT(placed("packed", plan(3, 2), c, all_gpus(c)), ElementsAre(0, 1, 2, 4, 5, 6));
  EXPECT_THAT(placed("packed", plan(2, 2), c, {1, 2, 3, 4, 6}), ElementsAre(1, 2, 4, 6));
}

TEST(Packed, AGroupWiderThanANodeTakesWholeNodes) {
  const auto c = cluster(3, 4);
  EXPECT_THAT(placed("packed", plan(8, 1), c, all_gpus(c)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(placed("packed", plan(8, 1), c, {0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11}),
              ElementsAre(4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(Spread, DealsReplicasToTheNodesInTurn) {
  const auto c = cluster(2, 4);
  EXPECT_THAT(placed("spread", plan(2, 2), c, all_gpus(c)), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(placed("spread", plan(2, 4), c, all_gpus(c)), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
}

TEST(Placement, SaysWhyItCannot) {
  const auto c = cluster(2, 4);
  for (const auto& entry : placement_policies()) {
    EXPECT_EQ(refusal(entry.name, plan(2, 8), c, all_gpus(c)), "16 ranks (tp 2 x dp 8), but 8 of 8 GPUs are free");
    EXPECT_EQ(refusal(entry.name, plan(2, 2), c, {0, 4, 5, 2, 6}), "");
    EXPECT_EQ(refusal(entry.name, plan(3, 2), c, {0, 1, 2, 4, 5, 3}),
              "the free GPUs hold 1 tensor-parallel groups of 3 inside nodes of 4, 2 are needed");
  }
}

TEST(Placement, EveryRankHasAGpuOfItsOwnAndGroupsStayInside) {
  const auto c = cluster(4, 8);
  for (const auto& entry : placement_policies())
    for (const int tp : {1, 2, 4, 8})
      for (const int dp : {1, 2, 4}) {
        auto gpus = placed(entry.name, plan(tp, dp), c, all_gpus(c));
        ASSERT_EQ(gpus.size(), static_cast<std::size_t>(tp * dp));
        for (std::size_t rank = 0; rank < gpus.size(); ++rank)
          EXPECT_EQ(gpus[rank] / 8, gpus[rank - rank % static_cast<std::size_t>(tp)] / 8);
        std::ranges::sort(gpus);
        EXPECT_EQ(std::ranges::adjacent_find(gpus), gpus.end());
      }
}

TEST(Placement, UnknownNameIsInputErrorWithTheNearest) {
  try {
    make_placement_policy("pakced");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("unknown placement policy 'pakced'; did you mean 'packed'?"));
  }
}

}  // namespace
}  // namespace tessera
