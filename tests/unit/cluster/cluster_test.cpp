// Nodes and clusters: the shipped ones, resolved defaults, and every mistake that a user can make in them.
#include "sim/cluster/cluster.hpp"

#include <gmock/gmock.h>

#include "sim/cluster/description.hpp"
#include "tests/unit/cluster/support.hpp"

namespace tessera {
namespace {

using test::mistake;
using test::with_line;

TEST(Platforms, AreAllThere) {
  const std::vector<std::string> names = known_platforms();
  EXPECT_THAT(names,
              testing::IsSupersetOf({"dgx1-v100", "dgx-a100-40gb", "dgx-a100-80gb", "dgx-h100", "hgx-h200", "dgx-b200",
                                     "dgx-b300", "gb200-nvl72", "gb300-nvl72", "h100-96gb-500w", "pcie-host"}));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(Platforms, AllResolveAndHaveATopology) {
  for (const std::string& name : known_platforms()) {
    const ClusterSpec cluster = find_cluster(name);
    EXPECT_EQ(cluster.name, name);
    EXPECT_GT(cluster.node.gpu_link, BytesPerSec()) << name;
    EXPECT_FALSE(cluster.source.empty()) << name;
    EXPECT_FALSE(Topology(cluster).links().empty()) << name;
  }
}

// Data sheets: 8 x 200 Gb/s HDR, 8 x 400 Gb/s NDR, NVLink 600 and 900 GB/s both ways together.
TEST(Platforms, HaveTheirDataSheetsBandwidths) {
  const ClusterSpec a100 = find_cluster("dgx-a100-80gb"), h100 = find_cluster("DGX H100");
  EXPECT_EQ(a100.node.nic_bandwidth * a100.node.nics, 8 * 25.0_GBps);
  EXPECT_EQ(h100.node.nic_bandwidth * h100.node.nics, 8 * 50.0_GBps);
  EXPECT_EQ(a100.node.gpu_link, 300.0_GBps);
  EXPECT_EQ(h100.node.gpu_link, 450.0_GBps);
  EXPECT_EQ(find_cluster("gb200-nvl72").gpus(), 72);
  EXPECT_EQ(find_cluster("h100-96gb-500w").gpu.power_cap, 500.0_W);
}

TEST(Platforms, ANodeAloneIsOneNode) {
  const ClusterSpec cluster = find_cluster("dgx-h100");
  EXPECT_EQ(cluster.nodes, 1);
  EXPECT_EQ(cluster.gpus(), 8);
  EXPECT_EQ(cluster.fabric.kind, FabricKind::none);
}

// 64 ports: 32 nodes per leaf and rail, so 256 nodes of 8 rails fill 64 leaves, and more need a third level.
TEST(Platforms, SeveralNodesGetARailOptimisedFabric) {
  const ClusterSpec two = find_cluster("dgx-h100", 2);
  EXPECT_EQ(two.fabric.kind, FabricKind::rail_optimised);
  EXPECT_EQ(two.fabric.link_bandwidth, 50.0_GBps);
  EXPECT_EQ(two.fabric.levels, 2);
  EXPECT_EQ(find_cluster("dgx-h100", 256).fabric.levels, 2);
  EXPECT_EQ(find_cluster("dgx-h100", 257).fabric.levels, 3);
}

TEST(Platforms, AScenarioSetsTheNumberOfNodes) {
  EXPECT_EQ(find_cluster("superpod-h100").nodes, 128);
  EXPECT_EQ(find_cluster("superpod-h100", 16).gpus(), 128);
}

TEST(Platforms, OneGpuAlone) {
  const ClusterSpec cluster = single_gpu("l4");
  EXPECT_EQ(cluster.gpus(), 1);
  EXPECT_EQ(cluster.name, "L4");
  EXPECT_EQ(cluster.node.gpu, "L4");
  EXPECT_EQ(cluster.node.gpu_link, 32.0_GBps);
}

TEST(Ports, AreSharedOrSummed) {
  NodeSpec node{.name = "n", .gpu = "g", .gpus = 8, .nics = 4, .nic_bandwidth = 12.5_GBps};
  EXPECT_EQ(node.ports(), 4);
  EXPECT_EQ(node.port_bandwidth(), 12.5_GBps);
  node.nics = 32;  // four per GPU
  EXPECT_EQ(node.ports(), 8);
  EXPECT_EQ(node.port_bandwidth(), 50.0_GBps);
}

const std::string kNode = R"(# ten lines are enough
gpu: A100-SXM-80GB
gpus: 8
intra: nvswitch
nics: 4
nic_bandwidth: 100 Gbit/s
)";

const std::string kCluster = R"(# two levels
node: mine.yaml
nodes: 16
fabric:
  kind: fat_tree
  radix: 16
)";

struct Files : testing::Test {
  test::Folder folder;
  std::string node(const std::string& key, const std::string& line, int nodes = 0) {
    return mistake([&] { find_cluster(folder.write("mine.yaml", with_line(kNode, key, line)), nodes); });
  }
  std::string cluster(const std::string& key, const std::string& line, int nodes = 0) {
    folder.write("mine.yaml", kNode);
    return mistake([&] { find_cluster(folder.write("c.yaml", with_line(kCluster, key, line)), nodes); });
  }
};

TEST_F(Files, AUsersNodeIsAPlatform) {
  const ClusterSpec cluster = find_cluster(folder.write("mine.yaml", kNode), 4);
  EXPECT_EQ(cluster.gpus(), 32);
  EXPECT_EQ(cluster.node.gpu_link, 300.0_GBps);
  EXPECT_EQ(cluster.fabric.link_bandwidth, 12.5_GBps);
}

TEST_F(Files, AUsersClusterFindsItsNodeBesideIt) {
  folder.write("mine.yaml", kNode);
  const ClusterSpec cluster = find_cluster(folder.write("c.yaml", kCluster));
  EXPECT_EQ(cluster.nodes, 16);
  EXPECT_EQ(cluster.name, "c");
  EXPECT_EQ(cluster.node.name, "mine");
}

TEST(PlatformNames, UnknownOnesSuggestTheNearest) {
  EXPECT_EQ(mistake([] { find_cluster("dgx-h10"); }), "error: no platform named 'dgx-h10'; did you mean 'dgx-h100'?");
  EXPECT_EQ(mistake([] { find_cluster("dgx-h100", -1); }), "error: the number of nodes must be more than 0");
}

TEST_F(Files, UnknownNamesInsideHaveAPosition) {
  EXPECT_EQ(node("gpu:", "gpu: A100-SXM-80"),
            "mine.yaml:2:6: error: gpu: no GPU named 'A100-SXM-80'; did you mean 'A100-SXM-80GB'?");
  EXPECT_EQ(cluster("node:", "node: dgx-h10"),
            "c.yaml:2:7: error: node: no node named 'dgx-h10'; did you mean 'dgx-h100'?");
}

TEST_F(Files, RejectImpossibleNodes) {
  EXPECT_EQ(node("gpus", "gpus: 0"), "mine.yaml:3:7: error: gpus: must be 1 to 1024");
  EXPECT_EQ(node("nics", "nics: -1"), "mine.yaml:5:7: error: nics: must be 0 to 1024");
  EXPECT_EQ(node("nics", "nics: 3"), "mine.yaml:5:7: error: nics: 3 NICs cannot be shared out evenly over 8 GPUs");
  EXPECT_EQ(node("nic_bandwidth", ""), "mine.yaml:5:7: error: nics: nic_bandwidth is missing");
  EXPECT_EQ(node("nic_bandwidth", "nic_bandwidth: -1 Gbit/s").find("mine.yaml:6:16: error: nic_bandwidth: expected a "),
            0U);
  EXPECT_EQ(node("gpus", "gpus: 4\ngpu_link_latency: 3 GB").find("mine.yaml:4:19: error: gpu_link_latency: unit 'GB'"),
            0U);
  EXPECT_EQ(node("intra", "intra: hybrid_cube_mesh\ngpu_link: 9 GB/s"), "nothing was wrong");
  EXPECT_EQ(node("gpus", "gpus: 4\ngpu_link: 0 GB/s"), "mine.yaml:4:11: error: gpu_link: must be 1 MB/s to 1 PB/s");
  EXPECT_EQ(node("gpu:", "gpu: L4"),
            "mine.yaml:2:1: error: gpu_link: L4 has no link of its own to others: give gpu_link, or intra: pcie");
}

TEST_F(Files, ACubeMeshHasEightGpus) {
  const std::string text = with_line(kNode, "gpus", "gpus: 4");
  EXPECT_EQ(mistake([&] { find_cluster(folder.write("m.yaml", with_line(text, "intra", "intra: hybrid_cube_mesh"))); }),
            "m.yaml:4:8: error: intra: a hybrid cube mesh joins 8 GPUs, the node has 4");
}

TEST_F(Files, NodesWithoutNicsCannotBeJoined) {
  EXPECT_EQ(node("nics", "nics: 0", 2),
            "mine.yaml:2:1: error: nodes: 2 nodes, but node 'mine' has no NICs to join them");
}

TEST_F(Files, RejectImpossibleFabrics) {
  EXPECT_EQ(cluster("  radix", "  radix: 2"), "c.yaml:6:10: error: fabric.radix: must be 4 to 1024");
  EXPECT_EQ(cluster("  radix", "  radix: 16\n  levels: 2\n  hop_latency: 1 km")
                .find("c.yaml:8:16: error: fabric.hop_latency: unit 'km' not known here"),
            0U);
  EXPECT_EQ(cluster("  radix", "  radix: 8\n  levels: 2"),
            "c.yaml:6:10: error: fabric.radix: 2 levels of 8-port switches cannot join 16 nodes of 4 ports");
  EXPECT_EQ(cluster("  radix", "  levels: 9"), "c.yaml:6:11: error: fabric.levels: at most 5 are possible");
  EXPECT_EQ(cluster("  radix", "  oversubscription: 0.5"),
            "c.yaml:6:21: error: fabric.oversubscription: must be 1 to 1000");
  EXPECT_EQ(cluster("  radix", "  oversubscription: 1.23456"),
            "c.yaml:6:21: error: fabric.oversubscription: no split of 64 ports into down and up links gives 1.23456:1");
  EXPECT_EQ(cluster("  radix", "  levels: 1\n  oversubscription: 2"),
            "c.yaml:7:21: error: fabric.oversubscription: one level has no up-links to oversubscribe");
  EXPECT_EQ(
      cluster("  kind", "  kind: tree").find("c.yaml:5:9: error: fabric.kind: expected one of none, rail_optimised"),
      0U);
}

// Both shares of a link would count, and the last speed of a GPU.
TEST_F(Files, RejectWhatIsSaidTwice) {
  EXPECT_EQ(
      cluster("  radix", "  radix: 16\nlinks: [{link: node0/nic1/out, share: 0.5}, {link: node0/nic1/out, share: 1}]"),
      "c.yaml:7:8: error: links: 'node0/nic1/out' appears twice");
  EXPECT_EQ(cluster("  radix", "  radix: 16\ngpu_speeds: [{gpu: 3, speed: 0.5}, {gpu: 3, speed: 0.9}]"),
            "c.yaml:7:13: error: gpu_speeds: GPU 3 appears twice");
  folder.write("mine.yaml", kNode);
  const std::string text = kCluster + "links: [{link: node0/nic1/*, share: 0.5}, {link: node0/nic1/out, share: 0}]\n";
  const ClusterSpec spec = find_cluster(folder.write("c.yaml", text));
  EXPECT_EQ(mistake([&] { Topology{spec}; }),
            "c: error: links: 'node0/nic1/*' and 'node0/nic1/out' both name node0/nic1/out; keep one");
}

TEST_F(Files, RejectAbsurdSizes) {
  EXPECT_EQ(node("gpus", "gpus: 2000"), "mine.yaml:3:7: error: gpus: must be 1 to 1024");
  EXPECT_EQ(cluster("  radix", "  radix: 2000000"), "c.yaml:6:10: error: fabric.radix: must be 4 to 1024");
  EXPECT_EQ(cluster("nodes", "nodes: 2000000000"), "c.yaml:3:8: error: nodes: must be 1 to 1000000");
  EXPECT_EQ(cluster("nodes", "nodes: 1000000"),
            "c.yaml:3:8: error: nodes: 1000000 nodes of 8 GPUs are more than 1000000 GPUs");
  EXPECT_EQ(node("gpus", "gpus: 4\ngpu_link_latency: 1e300 s"),
            "mine.yaml:4:19: error: gpu_link_latency: must be 0 to 1 s");
  EXPECT_EQ(node("nic_bandwidth", "nic_bandwidth: 1e300 B/s"),
            "mine.yaml:6:16: error: nic_bandwidth: must be 1 MB/s to 1 PB/s");
  EXPECT_EQ(node("nic_bandwidth", "nic_bandwidth: 1 GB/s\nhost_power: 1e300 W"),
            "mine.yaml:7:13: error: host_power: must be 0 to 1 MW");
  EXPECT_EQ(cluster("  radix", "  hop_latency: 1e300 s"), "c.yaml:6:16: error: fabric.hop_latency: must be 0 to 1 s");
}

TEST_F(Files, SeveralNodesNeedAFabric) {
  folder.write("mine.yaml", kNode);
  const std::string text = with_line(with_line(kCluster, "  kind", "  kind: none"), "  radix", "");
  EXPECT_EQ(mistake([&] { find_cluster(folder.write("c.yaml", text)); }),
            "c.yaml:5:9: error: fabric.kind: 16 nodes need a fabric");
  EXPECT_EQ(find_cluster(folder.write("c.yaml", text), 1).gpus(), 8);
}

TEST_F(Files, RejectKeysOfAnotherFabric) {
  EXPECT_EQ(cluster("  radix", "  torus: [4, 4]"), "c.yaml:6:10: error: fabric.torus: does not apply to kind fat_tree");
  EXPECT_EQ(cluster("  kind", "  kind: dragonfly\n  levels: 2\n  oversubscription: 2"),
            "c.yaml:6:11: error: fabric.levels: does not apply to kind dragonfly\n"
            "c.yaml:7:21: error: fabric.oversubscription: does not apply to kind dragonfly");
}

TEST_F(Files, RejectATorusOfAnotherSize) {
  const std::string torus = with_line(kCluster, "  kind", "  kind: torus\n  torus: [4, 5]");
  folder.write("mine.yaml", kNode);
  EXPECT_EQ(mistake([&] { find_cluster(folder.write("t.yaml", with_line(torus, "  radix", ""))); }),
            "t.yaml:6:10: error: fabric.torus: 4 x 5 joins 20 nodes, the cluster has 16");
  EXPECT_EQ(mistake([&] { find_cluster(folder.write("t.yaml", torus)); }),
            "t.yaml:7:10: error: fabric.radix: does not apply to kind torus");
  EXPECT_EQ(cluster("  kind", "  kind: torus\n  torus: [4, -4]"),
            "c.yaml:6:10: error: fabric.torus: every dimension must be more than 0");
}

// p = 2 ports, 4 routers, 2 globals each: 9 groups of 8 ports.
TEST_F(Files, RejectADragonflyThatIsTooSmall) {
  const std::string dragonfly = with_line(kCluster, "  kind", "  kind: dragonfly");
  folder.write("mine.yaml", kNode);
  const std::string path = folder.write("d.yaml", with_line(dragonfly, "  radix", "  radix: 8"));
  EXPECT_EQ(find_cluster(path, 18).nodes, 18);
  EXPECT_EQ(
      mistake([&] { find_cluster(path, 19); }),
      "d.yaml:6:10: error: fabric.radix: a dragonfly of 8-port switches joins 72 ports at most, 19 nodes have 76");
}

TEST_F(Files, RailsWithoutASecondLevelNeedForwarding) {
  const std::string rails = with_line(kCluster, "  kind", "  kind: rail_optimised\n  levels: 1");
  folder.write("mine.yaml", kNode);
  EXPECT_EQ(find_cluster(folder.write("r.yaml", rails)).fabric.levels, 1);
  folder.write("mine.yaml", with_line(kNode, "intra", "intra: pcie"));
  EXPECT_EQ(
      mistake([&] { find_cluster(folder.write("r.yaml", rails)); }),
      "r.yaml:6:11: error: fabric.levels: rails without a second level need nvswitch or full_mesh inside the nodes");
}

TEST(Description, IsReadBackAsTheSamePlatform) {
  const test::Folder folder;
  for (const char* const name : {"superpod-h100", "dragonfly-a100", "torus-a100", "fat-tree-h100-2to1"}) {
    const ClusterSpec cluster = find_cluster(name);
    folder.write("gpu.yaml", gpu_description(cluster.gpu, "a GPU"));
    NodeSpec node = cluster.node;
    node.gpu = "gpu.yaml";
    folder.write("node.yaml", node_description(node));
    const ClusterSpec read = find_cluster(folder.write("cluster.yaml", cluster_description(cluster, "node.yaml")));
    EXPECT_EQ(read.nodes, cluster.nodes) << name;
    EXPECT_EQ(read.node.gpus, cluster.node.gpus) << name;
    EXPECT_EQ(read.node.intra, cluster.node.intra) << name;
    EXPECT_EQ(read.fabric.kind, cluster.fabric.kind) << name;
    EXPECT_EQ(read.fabric.torus, cluster.fabric.torus) << name;
    EXPECT_EQ(read.fabric.levels, cluster.fabric.levels) << name;
    const auto same = [&](auto a, auto b) { EXPECT_NEAR(a.value(), b.value(), 1e-12 * b.value()) << name; };
    same(read.node.gpu_link, cluster.node.gpu_link);
    same(read.node.nic_bandwidth, cluster.node.nic_bandwidth);
    same(read.node.nic_latency, cluster.node.nic_latency);
    same(read.fabric.link_bandwidth, cluster.fabric.link_bandwidth);
    same(read.fabric.hop_latency, cluster.fabric.hop_latency);
    same(read.gpu.memory, cluster.gpu.memory);
    same(read.gpu.peak_of(Dtype::bf16), cluster.gpu.peak_of(Dtype::bf16));
  }
}

}  // namespace
}  // namespace tessera
