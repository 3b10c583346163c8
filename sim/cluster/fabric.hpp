// The switches between the nodes: the interface, and the kinds there are.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/cluster/link_table.hpp"

namespace tessera {

/// Joins the ports of all nodes; port = node x ports per node + port of the node. A link carries the latency of the
/// switch that it leads into.
class Fabric {
 public:
  virtual ~Fabric() = default;
  /// Appends the links between the switches of two ports; none where it is the same switch. Another `attempt` is
  /// another way where the kind has several.
  virtual void route(int from, int to, std::size_t attempt, std::vector<LinkId>& path) const = 0;
  /// The vertex of the switch that a port is plugged into.
  [[nodiscard]] virtual std::uint32_t switch_of(int port) const = 0;
};

/// Rail-optimised and plain fat trees (folded Clos networks).
std::unique_ptr<const Fabric> make_clos(const ClusterSpec& spec, LinkTable& table);
std::unique_ptr<const Fabric> make_dragonfly(const ClusterSpec& spec, LinkTable& table);
std::unique_ptr<const Fabric> make_torus(const ClusterSpec& spec, LinkTable& table);

/// What makes the kind impossible for the cluster's nodes.
std::optional<SpecProblem> clos_problem(const ClusterSpec& spec);
std::optional<SpecProblem> dragonfly_problem(const ClusterSpec& spec);
std::optional<SpecProblem> torus_problem(const ClusterSpec& spec);

/// Levels of switches that a tree gets: as given, or the fewest, from two, that hold the nodes.
int clos_levels(const ClusterSpec& spec);

/// Bandwidth of a link between switches: as given, or as a node's port.
BytesPerSec switch_link(const ClusterSpec& spec);

}  // namespace tessera
