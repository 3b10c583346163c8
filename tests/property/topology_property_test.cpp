// What holds for the paths of every fabric, of every size tried.
#include <gtest/gtest.h>

#include <set>

#include "sim/cluster/cluster.hpp"

namespace tessera {
namespace {

ClusterSpec make(IntraNode intra, FabricKind kind, int nodes, int gpus, int nics) {
  ClusterSpec spec;
  spec.name = "made";
  spec.gpu.pcie_bandwidth = 64.0_GBps;
  spec.node = {.name = "n",
               .gpu = "g",
               .gpus = gpus,
               .intra = intra,
               .gpu_link = 100.0_GBps,
               .nics = nics,
               .nic_bandwidth = 10.0_GBps};
  spec.nodes = nodes;
  spec.fabric.kind = kind;
  spec.fabric.radix = 8;
  if (kind == FabricKind::torus) spec.fabric.torus = {nodes / 6, 3, 2};
  return spec;
}

std::vector<ClusterSpec> clusters() {
  std::vector<ClusterSpec> all;
  const IntraNode kinds[] = {IntraNode::nvswitch, IntraNode::hybrid_cube_mesh, IntraNode::full_mesh, IntraNode::pcie};
  const FabricKind fabrics[] = {FabricKind::rail_optimised, FabricKind::fat_tree, FabricKind::dragonfly,
                                FabricKind::torus};
  for (const IntraNode intra : kinds) {
    all.push_back(make(intra, FabricKind::none, 1, 8, 0));
    for (const FabricKind fabric : fabrics) {
      for (const int nics : {2, 8}) all.push_back(make(intra, fabric, 12 / nics * 3, 8, nics));
    }
  }
  for (const FabricKind fabric : fabrics) {
    all.push_back(make(IntraNode::pcie, fabric, 6, 1, 1));
    all.push_back(make(IntraNode::pcie, fabric, 42, 1, 1));
    all.push_back(make(IntraNode::nvswitch, fabric, 24, 2, 2));
    ClusterSpec oversubscribed = make(IntraNode::nvswitch, fabric, 24, 2, 2);
    oversubscribed.fabric.oversubscription = 3;
    all.push_back(oversubscribed);
  }
  std::erase_if(all, [](const ClusterSpec& spec) { return find_problem(spec).has_value(); });
  return all;
}

std::string about(const ClusterSpec& spec) {
  return std::string(enum_names(spec.fabric.kind)[static_cast<std::size_t>(spec.fabric.kind)]) + " of " +
         std::to_string(spec.nodes) + " nodes, " +
         std::string(enum_names(spec.node.intra)[static_cast<std::size_t>(spec.node.intra)]) + " of " +
         std::to_string(spec.node.gpus) + " with " + std::to_string(spec.node.nics) + " NICs";
}

TEST(EveryFabric, IsTried) {
  std::set<std::pair<IntraNode, FabricKind>> tried;
  for (const ClusterSpec& spec : clusters()) tried.emplace(spec.node.intra, spec.fabric.kind);
  EXPECT_EQ(tried.size(), 4U * 5U);
}

TEST(EveryFabric, JoinsEveryPairByConsecutiveLinksWithoutLoops) {
  for (const ClusterSpec& spec : clusters()) {
    const Topology topology(spec);
    for (int from = 0; from < spec.gpus(); ++from) {
      for (int to = 0; to < spec.gpus(); ++to) {
        auto here = static_cast<std::uint32_t>(from);
        std::set<std::uint32_t> seen{here};
        for (const LinkId id : topology.path(from, to)) {
          const Link& link = topology.links()[static_cast<std::size_t>(id)];
          ASSERT_EQ(link.from, here) << about(spec) << ": " << from << " to " << to << " at " << link.name;
          here = link.to;
          ASSERT_TRUE(seen.insert(here).second) << about(spec) << ": " << from << " to " << to << " loops";
        }
        ASSERT_EQ(here, static_cast<std::uint32_t>(to)) << about(spec);
      }
    }
  }
}

TEST(EveryFabric, IsAsFarThereAsBack) {
  for (const ClusterSpec& spec : clusters()) {
    const Topology topology(spec);
    for (int from = 0; from < spec.gpus(); ++from) {
      EXPECT_TRUE(topology.path(from, from).empty());
      for (int to = 0; to < from; ++to) {
        ASSERT_EQ(topology.path(from, to).size(), topology.path(to, from).size())
            << about(spec) << ": " << from << ", " << to;
      }
    }
  }
}

TEST(EveryFabric, NamesItsLinksOnceAndGivesThemCapacity) {
  for (const ClusterSpec& spec : clusters()) {
    std::set<std::string> names;
    const Topology topology(spec);
    for (const Link& link : topology.links()) {
      EXPECT_TRUE(names.insert(link.name).second) << about(spec) << ": " << link.name;
      EXPECT_GT(link.bandwidth, BytesPerSec()) << about(spec) << ": " << link.name;
      EXPECT_NE(link.from, link.to) << about(spec) << ": " << link.name;
    }
  }
}

}  // namespace
}  // namespace tessera
