// The links inside the nodes, and the paths over them.
#pragma once

#include <vector>

#include "sim/cluster/link_table.hpp"

namespace tessera {

/// Not modelled: PCIe switches that several GPUs share, the sockets' interconnect, NVSwitch's internal trunks.
class Interconnect {
 public:
  Interconnect(const ClusterSpec& spec, LinkTable& table);

  /// Appends the links from GPU `a` to another GPU `b` of a node.
  void path(int node, int a, int b, std::vector<LinkId>& path) const;
  /// See Topology::rings; local indices of one node.
  [[nodiscard]] std::vector<std::vector<int>> rings(const std::vector<int>& gpus) const;
  [[nodiscard]] LinkId to_host(int node, int gpu) const { return link(node, pcie_ + 2 * at(gpu)); }
  [[nodiscard]] LinkId from_host(int node, int gpu) const { return link(node, pcie_ + 2 * at(gpu) + 1); }
  /// The vertex of a node's host.
  [[nodiscard]] std::uint32_t host(int node) const { return hosts_ + static_cast<std::uint32_t>(node); }
  /// Any GPU reaches any other over its own links without touching a third or the host.
  [[nodiscard]] bool direct() const { return kind_ == IntraNode::nvswitch || kind_ == IntraNode::full_mesh; }

 private:
  /// A link of one node: vertices below `gpus` are GPUs, then the host, then the switch.
  struct Local {
    std::string name;
    BytesPerSec bandwidth;
    Seconds latency;
    std::size_t from, to;
  };
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  [[nodiscard]] LinkId link(int node, std::size_t local) const {
    return link_id(first_ + at(node) * per_node_ + local);
  }
  void add_switched(const NodeSpec& node, std::vector<Local>& links) const;
  void add_pairs(const NodeSpec& node, std::vector<Local>& links);
  /// Equal links from `a` to `b`; meshes only.
  [[nodiscard]] int lanes(int a, int b) const;
  [[nodiscard]] std::vector<std::size_t> relays_within(const std::vector<int>& gpus) const;
  void find_relays(const std::vector<double>& width);
  void add_host(const ClusterSpec& spec, std::vector<Local>& links);

  IntraNode kind_;
  std::size_t gpus_;
  std::size_t first_ = 0, per_node_ = 0, pcie_ = 0;  // link of node 0, links of a node, first PCIe link in a node
  std::uint32_t hosts_ = 0;
  std::vector<std::size_t> pair_;   // local link of (a, b); kNone: not neighbours
  std::vector<std::size_t> relay_;  // GPU between a and b where they are not neighbours
};

}  // namespace tessera
