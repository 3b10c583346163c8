// The ways of doing a collective and the choice between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "models/collectives/ring.hpp"
#include "models/collectives/tuner.hpp"
#include "sim/base/error.hpp"

namespace tessera {
namespace {

std::vector<int> first(int n) {
  std::vector<int> gpus(static_cast<std::size_t>(n));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

GroupShape shape(const char* platform, int nodes, int n, CollectiveKind kind = CollectiveKind::all_reduce) {
  const ClusterSpec cluster = find_cluster(platform, nodes);
  const std::vector<int> gpus = first(n);
  return shape_of(gpus, kind, cluster, Topology(cluster));
}

const CollectiveModel& nccl() {
  static const CollectiveModel model(load_collective_parameters());
  return model;
}

// Every node but the root has a parent that leads to the root, at most two children, and inner nodes of one tree are
// leaves of the other (but for odd numbers, where one node may have a child in both).
TEST(DoubleTree, IsTwoBinaryTreesWithOthersInside) {
  for (int n = 1; n <= 65; ++n) {
    const auto trees = double_tree(n);
    std::vector<int> inner(static_cast<std::size_t>(n));
    for (const std::vector<int>& parents : trees) {
      EXPECT_EQ(std::ranges::count(parents, -1), 1) << n;
      std::vector<int> children(static_cast<std::size_t>(n));
      for (int node = 0; node < n; ++node) {
        int hops = 0;
        for (int up = node; parents[static_cast<std::size_t>(up)] >= 0; up = parents[static_cast<std::size_t>(up)]) {
          ASSERT_LT(++hops, n);
        }
        EXPECT_LE(1 << std::max(0, hops - 1), n);  // a tree of logarithmic depth
        if (const int up = parents[static_cast<std::size_t>(node)]; up >= 0) ++children[static_cast<std::size_t>(up)];
      }
      EXPECT_LE(*std::ranges::max_element(children), 2) << n;
      for (std::size_t i = 0; i < children.size(); ++i) inner[i] += children[i] > 0 ? 1 : 0;
    }
    EXPECT_LE(std::ranges::count(inner, 2), 1) << n;
  }
}

// Two trees of N - 1 edges carry half of the bytes each, up and down.
TEST(Flows, ATreesBytesBetweenNodes) {
  for (const int nodes : {2, 3, 4, 7, 8}) {
    const ClusterSpec cluster = find_cluster("dgx-a100-80gb", nodes);
    const auto gpus = first(8 * nodes);
    double between = 0;
    for (const Flow& flow : flows_of(CollectiveAlgorithm::tree, gpus, cluster, Topology(cluster)))
      between += flow.between_nodes ? flow.share : 0;
    EXPECT_NEAR(between, 2.0 * (nodes - 1), 1e-9);
  }
}

// Each GPU's link carries all of the message for the sum and an n-th of it for the copies.
TEST(Flows, TheSwitchTakesAllBytesOfEveryGpuOnce) {
  const ClusterSpec cluster = find_cluster("dgx-h100");
  const auto gpus = first(8);
  const Topology topology(cluster);
  const FlowRates rates = rates_of(flows_of(CollectiveAlgorithm::nvls, gpus, cluster, topology), topology);
  EXPECT_NEAR(rates.inside.value(), 450e9 / (1 + 1.0 / 8), 1);
  EXPECT_EQ(rates.between, BytesPerSec());
}

TEST(Flows, WhatAGroupCannotDoIsARing) {
  const ClusterSpec a100 = find_cluster("dgx-a100-80gb", 2), h100 = find_cluster("dgx-h100", 2);
  const std::vector<int> uneven{0, 1, 8};
  EXPECT_EQ(usable(CollectiveAlgorithm::nvls, first(8), a100), CollectiveAlgorithm::ring);
  EXPECT_EQ(usable(CollectiveAlgorithm::nvls, first(16), a100), CollectiveAlgorithm::tree);
  EXPECT_EQ(usable(CollectiveAlgorithm::nvls, first(16), h100), CollectiveAlgorithm::nvls_tree);
  EXPECT_EQ(usable(CollectiveAlgorithm::tree, uneven, h100), CollectiveAlgorithm::ring);
}

// Five GPUs of a DGX-1 have no ring of their own links: two go through a GPU that hands on.
TEST(Flows, FiveGpusOfACubeMeshHaveTwoRings) {
  const FlowRates rates = shape("dgx1-v100", 1, 5).rates[0];
  EXPECT_NEAR(rates.inside.value(), 2 * 25e9, 1);
}

TEST(Tuner, IdealLinksGiveTheRingsClosedForm) {
  for (int n = 2; n <= 8; ++n) {
    for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
      const CollectiveCost cost = CollectiveModel().cost(kind, Bytes(1e8), shape("dgx-h100", 1, n, kind));
      EXPECT_NEAR(cost.time / ring_time(kind, n, Bytes(1e8), BytesPerSec(450e9), Seconds(0.8e-6)), 1, 1e-12);
    }
  }
}

TEST(Tuner, SmallMessagesGoByFlagsAndLargeOnesByChunks) {
  for (const char* platform : {"dgx-a100-80gb", "dgx-h100", "dgx-b200", "dgx1-v100"}) {
    const GroupShape group = shape(platform, 1, 4);
    EXPECT_EQ(nccl().cost(CollectiveKind::all_reduce, Bytes(1024), group).protocol, WireProtocol::ll) << platform;
    EXPECT_EQ(nccl().cost(CollectiveKind::all_reduce, Bytes(1e9), group).protocol, WireProtocol::simple) << platform;
  }
}

// NCCL leaves groups of four to rings, and no switch sums 8-bit integers or is older than Hopper's.
TEST(Tuner, TheSwitchSumsLargeMessagesOfManyGpus) {
  const auto algorithm = [](const char* platform, int n, bool summable) {
    return nccl().cost(CollectiveKind::all_reduce, Bytes(5e8), shape(platform, 1, n), summable).algorithm;
  };
  EXPECT_EQ(algorithm("dgx-h100", 8, true), CollectiveAlgorithm::nvls);
  EXPECT_EQ(algorithm("gb200-nvl72", 72, true), CollectiveAlgorithm::nvls);
  EXPECT_EQ(algorithm("dgx-h100", 8, false), CollectiveAlgorithm::ring);
  EXPECT_EQ(algorithm("dgx-h100", 4, true), CollectiveAlgorithm::ring);
  EXPECT_EQ(algorithm("dgx-a100-80gb", 8, true), CollectiveAlgorithm::ring);
}

// Trees need fewer steps: 64 nodes sum a small message sooner than a ring of 512 GPUs.
TEST(Tuner, ManyNodesTakeTreesForSmallMessages) {
  const GroupShape group = shape("dgx-a100-80gb", 64, 512);
  EXPECT_EQ(nccl().cost(CollectiveKind::all_reduce, Bytes(65536), group).algorithm, CollectiveAlgorithm::tree);
  EXPECT_LT(nccl().cost(CollectiveKind::all_reduce, Bytes(65536), group).time,
            nccl().cost(CollectiveKind::all_reduce, Bytes(65536), group, CollectiveAlgorithm::ring).time);
}

TEST(Tuner, TimeGrowsWithBytesAndTheChosenWayIsTheFastest) {
  for (const int nodes : {1, 2, 4}) {
    const GroupShape group = shape("dgx-h100", nodes, 8 * nodes);
    Seconds last;
    for (double bytes = 1024; bytes < 1e10; bytes *= 1.7) {
      const CollectiveCost cost = nccl().cost(CollectiveKind::all_reduce, Bytes(bytes), group);
      EXPECT_GT(cost.time, last);
      last = cost.time;
      for (const auto other : {CollectiveAlgorithm::ring, CollectiveAlgorithm::nvls, CollectiveAlgorithm::nvls_tree})
        EXPECT_LE(cost.time, nccl().cost(CollectiveKind::all_reduce, Bytes(bytes), group, other).time);
    }
  }
}

TEST(Tuner, AloneThereIsNothingToDo) {
  EXPECT_EQ(nccl().cost(CollectiveKind::all_reduce, Bytes(1e9), GroupShape{}).time, Seconds(0.0));
}

TEST(Parameters, ReadBackAsWritten) {
  const CollectiveParameters& parameters = *nccl().parameters();
  const CollectiveParameters again = collective_parameters_from(parse_json(to_json(parameters).dump(), "p"));
  EXPECT_EQ(again.pooled.values, parameters.pooled.values);
  ASSERT_EQ(again.classes.size(), parameters.classes.size());
  for (const auto& [name, constants] : parameters.classes) EXPECT_EQ(again.classes.at(name).values, constants.values);
  EXPECT_EQ(again.unseen.p90, parameters.unseen.p90);
}

TEST(Parameters, AConstantThatIsNotPositiveIsRefused) {
  CollectiveParameters parameters = *nccl().parameters();
  parameters.pooled.values[0] = -1;
  try {
    (void)collective_parameters_from(to_json(parameters));
    FAIL();
  } catch (const RunError& error) {
    EXPECT_STREQ(error.what(), "start_kcycles must be more than 0");
  }
}

TEST(Parameters, NumbersThatNoFitGivesAreRefused) {
  const auto message = [](const CollectiveParameters& parameters) -> std::string {
    try {
      (void)collective_parameters_from(to_json(parameters));
    } catch (const RunError& error) {
      return error.what();
    }
    return "";
  };
  CollectiveParameters huge = *nccl().parameters(), upside_down = huge;
  huge.pooled.values[0] = 1e30;
  EXPECT_EQ(message(huge), "start_kcycles is 1e+30, expected at most 1e+06");
  upside_down.seen = {1, -1};
  EXPECT_EQ(message(upside_down), "an error bar from e^1 to e^-1 is none");
}

// A machine of a class that was measured takes its constants; others the pool's.
TEST(Parameters, GoByTheClassOfTheMachine) {
  const CollectiveParameters& parameters = *nccl().parameters();
  EXPECT_EQ(machine_class(find_cluster("dgx-b300")), "Blackwell nvswitch");
  EXPECT_EQ(&parameters.of("Blackwell nvswitch"), &parameters.classes.at("Blackwell nvswitch"));
  EXPECT_EQ(&parameters.of(machine_class(find_cluster("mi300x-platform"))), &parameters.pooled);
}

}  // namespace
}  // namespace tessera
