// Nodes, their GPUs and the network between them, as plain data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cluster/gpu.hpp"

namespace tessera {

enum class IntraNode : std::uint8_t { nvswitch, hybrid_cube_mesh, full_mesh, pcie };
enum class FabricKind : std::uint8_t { none, rail_optimised, fat_tree, dragonfly, torus };

/// One server.
struct NodeSpec {
  std::string name, gpu;
  int gpus = 1;
  IntraNode intra = IntraNode::pcie;
  BytesPerSec gpu_link;      // one GPU's bandwidth into the node's interconnect, one direction
  Seconds gpu_link_latency;  // one traversal GPU to GPU
  int nics = 0;
  BytesPerSec nic_bandwidth;  // each, one direction
  Seconds nic_latency;        // GPU to wire
  Seconds host_launch;        // CPU time to launch one kernel from an eager framework
  Watts host_power;           // CPUs, fans, NICs: without the GPUs
  std::string source;
};

/// The network between nodes.
struct FabricSpec {
  FabricKind kind = FabricKind::none;
  int radix = 64;                 // ports per switch
  int levels = 2;                 // of switches
  double oversubscription = 1.0;  // of the leaf's up-links
  BytesPerSec link_bandwidth;     // switch to switch, one direction
  Seconds hop_latency;
  std::vector<int> torus;  // dimensions, torus only
};

struct ClusterSpec {
  std::string name;
  NodeSpec node;
  GpuSpec gpu;
  int nodes = 1;
  FabricSpec fabric;
  [[nodiscard]] int gpus() const { return nodes * node.gpus; }
};

/// `platform` names a file in platforms/clusters or platforms/nodes, or is a path. `nodes` 0: as the file says.
ClusterSpec find_cluster(std::string_view platform, int nodes = 0);
/// One GPU in a plain PCIe host.
ClusterSpec single_gpu(std::string_view gpu);
std::vector<std::string> known_platforms();  // clusters and nodes, sorted

enum class LinkId : std::uint32_t {};

struct Link {
  std::string name;  // "node0/gpu3/nvlink-out"
  BytesPerSec bandwidth;
  Seconds latency;
};

/// Every directed link of a cluster and the path between two GPUs. Memory grows with links, not with pairs.
class Topology {
 public:
  explicit Topology(const ClusterSpec& spec);
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  /// Links from GPU `from` to GPU `to` (global indices), in order; empty if they are the same.
  [[nodiscard]] std::vector<LinkId> path(int from, int to) const;

 private:
  ClusterSpec spec_;
  std::vector<Link> links_;
};

}  // namespace tessera
