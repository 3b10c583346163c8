// Links and paths, with capacities and latencies that can be computed by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/cluster/cluster.hpp"
#include "tests/unit/cluster/support.hpp"

namespace tessera {
namespace {

/// Nodes of 4 GPUs at 100 GB/s with 4 NICs of 10 GB/s.
ClusterSpec small(int nodes, FabricKind kind, int radix = 8) {
  ClusterSpec spec;
  spec.name = "small";
  spec.gpu.pcie_bandwidth = 64.0_GBps;
  spec.node = {.name = "n",
               .gpu = "g",
               .gpus = 4,
               .intra = IntraNode::nvswitch,
               .gpu_link = 100.0_GBps,
               .nics = 4,
               .nic_bandwidth = 10.0_GBps};
  spec.nodes = nodes;
  spec.fabric.kind = kind;
  spec.fabric.radix = radix;
  return spec;
}

const Link& link(const Topology& topology, LinkId id) {
  return topology.links()[static_cast<std::size_t>(id)];
}

std::vector<std::string> names(const Topology& topology, int from, int to) {
  std::vector<std::string> all;
  for (const LinkId id : topology.path(from, to)) all.push_back(link(topology, id).name);
  return all;
}

Seconds latency(const Topology& topology, int from, int to) {
  Seconds total;
  for (const LinkId id : topology.path(from, to)) total += link(topology, id).latency;
  return total;
}

BytesPerSec narrowest(const Topology& topology, int from, int to) {
  BytesPerSec least(1e30);
  for (const LinkId id : topology.path(from, to)) least = min(least, link(topology, id).bandwidth);
  return least;
}

using Names = std::vector<std::string>;

TEST(InsideANode, NvSwitchJoinsEveryPairOverTheirOwnLinks) {
  const Topology topology(find_cluster("dgx-h100"));
  EXPECT_EQ(names(topology, 3, 5), (Names{"node0/gpu3/nvlink-out", "node0/gpu5/nvlink-in"}));
  EXPECT_EQ(narrowest(topology, 3, 5), 450.0_GBps);
  EXPECT_DOUBLE_EQ(latency(topology, 3, 5).value(), 0.8e-6);
  EXPECT_TRUE(topology.path(3, 3).empty());
}

TEST(InsideANode, PcieGoesThroughTheHost) {
  const Topology topology(find_cluster("pcie-8x-l40s"));
  EXPECT_EQ(names(topology, 0, 7), (Names{"node0/gpu0/pcie-out", "node0/gpu7/pcie-in"}));
  EXPECT_EQ(narrowest(topology, 0, 7), 32.0_GBps);
  EXPECT_DOUBLE_EQ(latency(topology, 0, 7).value(), 2e-6);
}

TEST(InsideANode, FullMeshHasALinkPerPair) {
  const Topology topology(find_cluster("mi300x-platform"));
  EXPECT_EQ(names(topology, 2, 6), Names{"node0/gpu2/nvlink-to-gpu6"});
  EXPECT_DOUBLE_EQ(narrowest(topology, 2, 6).value(), 448e9 / 7);
}

// DGX-1: six links of 25 GB/s; GPU 0 has one to 1 and 2, two to 3 and 4, none to 5, 6 and 7.
TEST(InsideANode, CubeMeshHasOneOrTwoLinksOrARelay) {
  const Topology topology(find_cluster("dgx1-v100"));
  EXPECT_DOUBLE_EQ(narrowest(topology, 0, 1).value(), 25e9);
  EXPECT_DOUBLE_EQ(narrowest(topology, 0, 4).value(), 50e9);
  EXPECT_EQ(names(topology, 0, 6), (Names{"node0/gpu0/nvlink-to-gpu2", "node0/gpu2/nvlink-to-gpu6"}));
  EXPECT_EQ(names(topology, 0, 7), (Names{"node0/gpu0/nvlink-to-gpu4", "node0/gpu4/nvlink-to-gpu7"}));  // both double
}

TEST(InsideANode, CubeMeshUsesSixLinksOfEveryGpu) {
  const Topology topology(find_cluster("dgx1-v100"));
  std::map<std::uint32_t, double> out, in;
  for (const Link& l : topology.links()) {
    if (l.name.find("nvlink") == std::string::npos) continue;
    out[l.from] += l.bandwidth.value();
    in[l.to] += l.bandwidth.value();
  }
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
    EXPECT_DOUBLE_EQ(out[gpu], 6 * 25e9) << gpu;
    EXPECT_DOUBLE_EQ(in[gpu], 6 * 25e9) << gpu;
  }
}

// Rings that share no link, in units of one NVLink. vTrain's nccl-tests on a DGX-1 (1 GiB all-reduce, one node) reach
// 22.6, 45.1, 85.4, 45.7, 87.0, 134.5 GB/s of bus bandwidth on its first 2, 3, 4, 6, 7, 8 GPUs: 0.85-0.91 of 25 GB/s a
// ring.
TEST(Rings, OfACubeMeshAreAsManyAsMeasured) {
  const Topology topology(find_cluster("dgx1-v100"));
  const std::map<int, double> measured{{2, 22.6}, {3, 45.1}, {4, 85.4}, {6, 45.7}, {7, 87.0}, {8, 134.5}};
  for (const auto& [size, bandwidth] : measured) {
    std::vector<int> gpus(static_cast<std::size_t>(size));
    std::iota(gpus.begin(), gpus.end(), 0);
    const double share = bandwidth / (25.0 * static_cast<double>(topology.rings(gpus).size()));
    EXPECT_GT(share, 0.84) << size;
    EXPECT_LT(share, 0.92) << size;
  }
}

TEST(Rings, ShareNoLink) {
  for (const std::string platform : {"dgx1-v100", "mi300x-platform"}) {
    const Topology topology(find_cluster(platform));
    const std::vector<int> gpus{0, 1, 2, 3, 4, 5, 6, 7};
    const auto rings = topology.rings(gpus);
    std::map<LinkId, double> used;
    for (const std::vector<int>& ring : rings) {
      EXPECT_TRUE(std::is_permutation(ring.begin(), ring.end(), gpus.begin(), gpus.end()));
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const auto path = topology.path(ring[i], ring[(i + 1) % ring.size()]);
        ASSERT_EQ(path.size(), 1U) << platform;
        used[path[0]] += platform == "dgx1-v100" ? 25e9 : 64e9;
      }
    }
    EXPECT_EQ(rings.size(), 6U)
        << platform;  // all six NVLinks; six of seven Infinity Fabric links (an odd one is left)
    for (const auto& [id, load] : used) EXPECT_LE(load, link(topology, id).bandwidth.value() * (1 + 1e-12)) << platform;
  }
}

TEST(Rings, AreOneBehindASwitch) {
  const std::vector<int> order{11, 9, 8, 10};
  EXPECT_EQ(Topology(find_cluster("dgx-h100", 2)).rings(order), (std::vector<std::vector<int>>{order}));
}

TEST(Rings, CloseThroughAGpuThatHandsOn) {
  const std::vector<int> tail{0, 1, 2, 3, 4};  // GPU 4 reaches only GPU 0 of these
  EXPECT_EQ(Topology(find_cluster("dgx1-v100")).rings(tail), (std::vector<std::vector<int>>{{4, 3, 2, 1, 0}, tail}));
}

TEST(FatTree, SameLeafIsOneHop) {
  const Topology topology(small(2, FabricKind::fat_tree, 16));  // a leaf takes 8 ports: both nodes
  EXPECT_EQ(names(topology, 1, 6),
            (Names{"node0/gpu1/pcie-out", "node0/nic1/out", "node1/nic2/in", "node1/gpu2/pcie-in"}));
  EXPECT_DOUBLE_EQ(latency(topology, 1, 6).value(), 2 * 1e-6 + 0.13e-6);
}

TEST(FatTree, TwoLevelsAreThreeHops) {
  const Topology topology(small(4, FabricKind::fat_tree));  // a leaf of 8 ports takes one node
  EXPECT_EQ(names(topology, 0, 13),                         // port 13 = leaf 3, slot 1: up-port 13 mod 4
            (Names{"node0/gpu0/pcie-out", "node0/nic0/out", "leaf0/up1", "leaf3/down1", "node3/nic1/in",
                   "node3/gpu1/pcie-in"}));
  EXPECT_DOUBLE_EQ(latency(topology, 0, 13).value(), 2 * 1e-6 + 3 * 0.13e-6);
  EXPECT_EQ(narrowest(topology, 0, 13), 10.0_GBps);
}

TEST(FatTree, ThreeLevelsAreFiveHops) {
  const Topology topology(small(16, FabricKind::fat_tree));  // 16 leaves: four pods of four
  EXPECT_EQ(topology.path(0, 63).size(), 2U + 2U + 4U);
  EXPECT_DOUBLE_EQ(latency(topology, 0, 63).value(), 2 * 1e-6 + 5 * 0.13e-6);
}

TEST(RailOptimised, SameRailIsOneHop) {
  const Topology topology(small(4, FabricKind::rail_optimised));  // four nodes per leaf, one leaf per rail
  EXPECT_EQ(names(topology, 2, 14),
            (Names{"node0/gpu2/pcie-out", "node0/nic2/out", "node3/nic2/in", "node3/gpu2/pcie-in"}));
}

TEST(RailOptimised, AnotherRailGoesThroughThePeerOnThatRail) {
  const Topology topology(small(4, FabricKind::rail_optimised));
  EXPECT_EQ(names(topology, 2, 13), (Names{"node0/gpu2/nvlink-out", "node0/gpu1/nvlink-in", "node0/gpu1/pcie-out",
                                           "node0/nic1/out", "node3/nic1/in", "node3/gpu1/pcie-in"}));
}

TEST(RailOptimised, WithoutNvLinkAnotherRailGoesThroughTheSpine) {
  ClusterSpec spec = small(2, FabricKind::rail_optimised);
  spec.node.intra = IntraNode::pcie;
  const Topology topology(spec);
  EXPECT_EQ(names(topology, 2, 5), (Names{"node0/gpu2/pcie-out", "node0/nic2/out", "rail2/leaf0/up1",
                                          "rail1/leaf0/down1", "node1/nic1/in", "node1/gpu1/pcie-in"}));
}

// Two GPUs share a NIC where there are half as many.
TEST(RailOptimised, GpusShareNics) {
  ClusterSpec spec = small(2, FabricKind::rail_optimised);
  spec.node.nics = 2;
  const Topology topology(spec);
  EXPECT_EQ(names(topology, 1, 4),
            (Names{"node0/gpu1/pcie-out", "node0/nic0/out", "node1/nic0/in", "node1/gpu0/pcie-in"}));
}

/// What the leaves of the first half of the ports can send upwards.
double bisection(const Topology& topology, const std::string& up, int leaves) {
  double total = 0;
  for (int leaf = 0; leaf < leaves / 2; ++leaf) {
    for (const Link& l : topology.links()) {
      if (l.name.starts_with("leaf" + std::to_string(leaf) + up)) total += l.bandwidth.value();
    }
  }
  return total;
}

TEST(FatTree, BisectionIsThePortsDividedByOversubscription) {
  for (const int oversubscription : {1, 2, 3}) {
    ClusterSpec spec = small(12, FabricKind::fat_tree, 16);
    spec.fabric.oversubscription = oversubscription;
    const int down = oversubscription == 1 ? 8 : oversubscription == 2 ? 10 : 12;  // of 16 ports
    const int leaves = (48 + down - 1) / down;
    const int half_of_the_ports = leaves / 2 * down;
    EXPECT_DOUBLE_EQ(bisection(Topology(spec), "/up", leaves), half_of_the_ports * 10e9 / oversubscription)
        << oversubscription;
  }
}

TEST(FatTree, FasterUpLinksNeedFewerPorts) {
  ClusterSpec spec = small(12, FabricKind::fat_tree, 12);
  spec.fabric.link_bandwidth = 20.0_GBps;  // 8 down at 10, 4 up at 20
  EXPECT_DOUBLE_EQ(bisection(Topology(spec), "/up", 6), 3 * 8 * 10e9);
}

// D-mod-k routing: in a full tree a shift by whole leaves puts one flow on each link.
TEST(FatTree, ShiftsOfAFullTreeDoNotCollide) {
  const ClusterSpec spec = small(32, FabricKind::fat_tree);  // 128 ports of 8-port switches: three full levels
  const Topology topology(spec);
  for (const int shift : {4, 12, 16, 64, 100}) {
    std::vector<int> flows(topology.links().size(), 0);
    for (int gpu = 0; gpu < spec.gpus(); ++gpu) {
      for (const LinkId id : topology.path(gpu, (gpu + shift) % spec.gpus())) ++flows[static_cast<std::size_t>(id)];
    }
    EXPECT_EQ(*std::max_element(flows.begin(), flows.end()), 1) << shift;
  }
}

TEST(Torus, WalksTheShorterWayAround) {
  ClusterSpec spec = small(15, FabricKind::torus);
  spec.fabric.torus = {5, 3};
  const Topology topology(spec);
  EXPECT_EQ(names(topology, 0, 4 * 14),  // (0, 0) to (4, 2): one step down in each
            (Names{"node0/gpu0/pcie-out", "node0/nic0/out", "router0/dim0-", "router4/dim1-", "node14/nic0/in",
                   "node14/gpu0/pcie-in"}));
  EXPECT_EQ(topology.path(0, 4 * 2).size(), 4U + 2U);
}

TEST(Torus, NeighboursInADimensionOfTwoHaveOneLinkEachWay) {
  ClusterSpec spec = small(4, FabricKind::torus);
  spec.fabric.torus = {2, 2};
  const Topology topology(spec);
  const auto between = std::count_if(topology.links().begin(), topology.links().end(),
                                     [](const Link& l) { return l.name.starts_with("router"); });
  EXPECT_EQ(between, 4 * 2);
}

// Radix 8: 2 ports, 2 global links and 3 local ones per router, 4 routers per group.
TEST(Dragonfly, TakesAtMostOneGlobalAndTwoLocalLinks) {
  const ClusterSpec spec = small(18, FabricKind::dragonfly);  // 9 full groups
  const Topology topology(spec);
  const auto global = std::count_if(topology.links().begin(), topology.links().end(),
                                    [](const Link& l) { return l.name.find("/to-group") != std::string::npos; });
  EXPECT_EQ(global, 9 * 4 * 2);
  EXPECT_EQ(topology.path(0, 4).size(), 4U + 1U);  // another router of the same group
  for (int gpu = 8; gpu < spec.gpus(); ++gpu) EXPECT_LE(topology.path(0, gpu).size(), 4U + 3U);
}

TEST(Dragonfly, GivesEveryRouterAsManyGlobalLinksAsItHasPorts) {
  const ClusterSpec spec = small(18, FabricKind::dragonfly);
  const Topology topology(spec);
  std::map<std::uint32_t, int> out, in;
  for (const Link& l : topology.links()) {
    if (l.name.find("/to-group") == std::string::npos) continue;
    ++out[l.from];
    ++in[l.to];
  }
  for (const auto& [router, links] : out) EXPECT_EQ(links, 2);
  for (const auto& [router, links] : in) EXPECT_EQ(links, 2);
}

TEST(Topology, RejectsWhatCannotBeBuilt) {
  EXPECT_EQ(test::mistake([] { Topology topology(small(2, FabricKind::none)); }),
            "small: error: fabric.kind: 2 nodes need a fabric");
  EXPECT_EQ(test::mistake([] { Topology topology(small(0, FabricKind::none)); }),
            "small: error: nodes: must be more than 0");
}

// 1,024 nodes of 8: links in the tens of thousands, not pairs in the tens of millions.
TEST(Topology, GrowsWithLinksNotPairs) {
  const Topology topology(find_cluster("dgx-h100", 1024));
  const std::size_t each = 16;  // out and in, for eight: NVLinks, PCIe, NICs, leaf and spine up-links
  EXPECT_EQ(topology.links().size(), each * 5 * 1024);
}

}  // namespace
}  // namespace tessera
