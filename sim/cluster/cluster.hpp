// Nodes, their GPUs and the network between them, as plain data.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cluster/gpu.hpp"

namespace tessera {

class Reader;

/// nvswitch: any GPU to any other at full rate. hybrid_cube_mesh: DGX-1 with V100. full_mesh: a link for every pair.
/// pcie: through the host.
enum class IntraNode : std::uint8_t { nvswitch, hybrid_cube_mesh, full_mesh, pcie };
constexpr std::array<std::string_view, 4> enum_names(IntraNode) {
  return {"nvswitch", "hybrid_cube_mesh", "full_mesh", "pcie"};
}
enum class FabricKind : std::uint8_t { none, rail_optimised, fat_tree, dragonfly, torus };
constexpr std::array<std::string_view, 5> enum_names(FabricKind) {
  return {"none", "rail_optimised", "fat_tree", "dragonfly", "torus"};
}

/// Which of several shortest ways up a tree: by the destination's digits (static), or by a hash of both ends (ECMP).
enum class UpPath : std::uint8_t { destination, hashed };
constexpr std::array<std::string_view, 2> enum_names(UpPath) {
  return {"destination", "hashed"};
}

/// One server.
struct NodeSpec {
  std::string name;  // of the file
  std::string gpu;
  int gpus = 1;
  int gpus_per_host = 0;  // 0: all, and 4 where more than 16 are one NVLink domain (trays of a rack)
  IntraNode intra = IntraNode::pcie;
  BytesPerSec gpu_link{};          // one GPU's bandwidth into the node's interconnect, one direction
  Seconds gpu_link_latency{1e-6};  // one traversal GPU to GPU
  int nics = 0;
  BytesPerSec nic_bandwidth{};    // each, one direction
  Seconds nic_latency{1e-6};      // GPU to wire, or wire to GPU
  Seconds host_launch{5e-6};      // CPU time to launch one kernel from an eager framework
  Seconds device_malloc{300e-6};  // CPU time of one cudaMalloc
  Watts host_power{};             // CPUs, fans, NICs: without the GPUs
  std::string source{};
  /// GPUs of one operating system.
  [[nodiscard]] int host_gpus() const { return gpus_per_host > 0 ? gpus_per_host : gpus > 16 ? 4 : gpus; }
  /// Ports into the fabric. GPUs share NICs where there are fewer; a GPU's several NICs are one port of their sum.
  [[nodiscard]] int ports() const { return nics < gpus ? nics : gpus; }
  [[nodiscard]] BytesPerSec port_bandwidth() const {
    const int nics_per_port = nics > 0 ? nics / ports() : 0;
    return nic_bandwidth * nics_per_port;
  }
};
void describe(Reader& r, NodeSpec& node);

/// The network between nodes.
struct FabricSpec {
  FabricKind kind = FabricKind::none;
  int radix = 64;                        // ports per switch
  int levels = 0;                        // of switches; 0: the fewest, from two, that hold the nodes
  double oversubscription = 1.0;         // of a leaf: bandwidth to the nodes over bandwidth to the next level
  BytesPerSec link_bandwidth;            // switch to switch, one direction; 0: as a node's port
  Seconds hop_latency{0.13e-6};          // through one switch
  std::vector<int> torus;                // dimensions, torus only
  UpPath up_path = UpPath::destination;  // trees only
};
void describe(Reader& r, FabricSpec& fabric);

/// What is left of a link's bandwidth; 0: it is down. `link` is a name, or the beginning of names before a final '*'.
struct LinkHealth {
  std::string link;
  double share = 1;
};
void describe(Reader& r, LinkHealth& health);

/// A GPU (cluster-wide number) that computes at another speed than its data sheet says: a straggler.
struct GpuSpeed {
  int gpu = 0;
  double speed = 1;
};
void describe(Reader& r, GpuSpeed& speed);

struct ClusterSpec {
  std::string name;
  NodeSpec node;
  GpuSpec gpu;
  int nodes = 1;
  FabricSpec fabric{};
  std::string source{};
  std::vector<LinkHealth> links{};     // those that are not whole
  std::vector<GpuSpeed> gpu_speeds{};  // those that differ
  double speed_jitter = 0;             // relative standard deviation over GPUs, normal
  int jitter_seed = 1;
  [[nodiscard]] int gpus() const { return nodes * node.gpus; }
};

/// Speed of a GPU relative to its data sheet, jitter included; the same for the same seed.
double gpu_speed(const ClusterSpec& cluster, int gpu);

/// What makes a cluster impossible (radix too small for its nodes, torus dimensions that do not multiply to them), and
/// the key to blame.
struct SpecProblem {
  std::string key, message;
};
std::optional<SpecProblem> find_problem(const ClusterSpec& cluster);

/// `platform` names a file in platforms/clusters or platforms/nodes, or is a path of one. `nodes` 0: as the file says,
/// one for a node; several of a node get a rail-optimised fabric of its ports. The result has no open defaults.
ClusterSpec find_cluster(std::string_view platform, int nodes = 0);
/// One GPU in a plain PCIe host.
ClusterSpec single_gpu(std::string_view gpu);
std::vector<std::string> known_platforms();  // clusters and nodes, sorted

enum class LinkId : std::uint32_t {};

/// A directed link. `from` and `to` are the vertices that it joins: GPU g of the cluster is vertex g, hosts and
/// switches come after.
struct Link {
  std::string name;  // "node0/gpu3/nvlink-out"
  BytesPerSec bandwidth;
  Seconds latency;
  std::uint32_t from = 0, to = 0;
};

class Interconnect;
class Fabric;

/// Every directed link of a cluster and the path between two GPUs. Memory grows with links, not with pairs.
class Topology {
 public:
  /// Throws InputError where `find_problem` finds one, or where a link that is not whole does not exist.
  explicit Topology(const ClusterSpec& spec);
  Topology(Topology&&) noexcept;
  Topology& operator=(Topology&&) noexcept;
  ~Topology();

  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  /// Links from GPU `from` to GPU `to` (global indices), in order; empty if they are the same. Around links that are
  /// down where a tree has another way up; else RunError.
  [[nodiscard]] std::vector<LinkId> path(int from, int to) const;
  /// Rings through GPUs of one node that share no link, each for an equal part of a collective. One, in the order
  /// given, where that uses all that there is (nvswitch, pcie), where none closes even through GPUs of the group that
  /// hand on, or where there are more than eight GPUs.
  [[nodiscard]] std::vector<std::vector<int>> rings(std::span<const int> gpus) const;

 private:
  void apply_health(const ClusterSpec& spec);
  [[nodiscard]] std::vector<LinkId> path(int from, int to, std::size_t attempt) const;

  int gpus_ = 1, gpus_per_node_ = 1, ports_ = 0;
  bool rails_ = false;
  std::size_t first_port_link_ = 0;
  std::vector<Link> links_;
  std::vector<bool> down_;  // empty: none is
  std::unique_ptr<const Interconnect> inside_;
  std::unique_ptr<const Fabric> between_;  // null: one node
};

}  // namespace tessera
