// Who sends which share of a collective's bytes to whom, for every way of doing it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cluster/cluster.hpp"

namespace tessera {

/// ring: rings through all ranks. tree: double binary tree over the nodes, a chain inside each. nvls: the NVSwitch
/// multiplies and sums (NVLink SHARP). nvls_tree: nvls inside the nodes, double tree between them. pairwise: every rank
/// to every other. message: the first rank to the second.
enum class CollectiveAlgorithm : std::uint8_t { ring, tree, nvls, nvls_tree, pairwise, message };
inline constexpr std::size_t kCollectiveAlgorithms = 6;
constexpr std::array<std::string_view, kCollectiveAlgorithms> enum_names(CollectiveAlgorithm) {
  return {"ring", "tree", "nvls", "nvls_tree", "pairwise", "message"};
}
std::string_view to_string(CollectiveAlgorithm algorithm);

struct FlowLink {
  LinkId id{};
  double copies = 1;  // symmetric flows that take this link where one stands for them, itself included
};

/// A stream of bytes between two GPUs (cluster-wide indices).
struct Flow {
  int from = 0, to = 0;
  double share = 1;  // of `collective_volume`
  std::vector<FlowLink> links{};
  bool between_nodes = false;
  Seconds latency{};        // of the links
  std::uint32_t step = 0;   // of a schedule that a user wrote
  std::uint32_t route = 0;  // its number in the event loop
};

/// Rings through `gpus`, each for an equal part of the bytes. Inside a node: those of the topology. Over several nodes
/// with equally many on each: one per GPU of a node, rotated so that each leaves the node by another GPU (and NIC),
/// every second node in reverse so that it is entered on the same rail. Otherwise one, node by node.
std::vector<std::vector<int>> rings_through(std::span<const int> gpus, int gpus_per_node, const Topology& topology);

/// Neighbours on the rings; parts that run between the same two GPUs are one flow.
std::vector<Flow> ring_flows(const std::vector<std::vector<int>>& rings);
std::vector<Flow> pair_flows(std::span<const int> gpus);
std::vector<Flow> message_flow(std::span<const int> gpus);

/// Parents in the two trees over `nodes` of a double binary tree (Sanders, Speck and Traff 2009): in-order numbering,
/// the second mirrored (odd numbers: shifted), so that inner nodes of one are leaves of the other. -1: the root.
std::array<std::vector<int>, 2> double_tree(int nodes);
/// Sums go up the trees and results down. Position c of each node is the entrance of channel c; inside a node a chain
/// from there. Needs equally many GPUs on every node.
std::vector<Flow> tree_flows(const std::vector<std::vector<int>>& nodes);
/// Every GPU gives the switch all its bytes and stores its n-th of the result to all: 1 + 1/n out, as much in.
std::vector<Flow> nvls_flows(std::span<const int> gpus);
std::vector<Flow> nvls_tree_flows(const std::vector<std::vector<int>>& nodes);

/// The members by node, both in the order given.
std::vector<std::vector<int>> by_node(std::span<const int> gpus, int gpus_per_node);
bool equally_many(const std::vector<std::vector<int>>& nodes);

/// Whether the switches of the nodes sum and multiply: NVSwitch of GPUs of Hopper and later.
bool has_nvls(const ClusterSpec& cluster);

/// `wanted`, or the ring where these GPUs cannot do it so; nvls over several nodes is nvls_tree.
CollectiveAlgorithm usable(CollectiveAlgorithm wanted, std::span<const int> gpus, const ClusterSpec& cluster);

/// Flows with their links.
std::vector<Flow> flows_of(CollectiveAlgorithm algorithm, std::span<const int> gpus, const ClusterSpec& cluster,
                           const Topology& topology);

}  // namespace tessera
