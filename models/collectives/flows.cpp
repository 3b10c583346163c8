#include "models/collectives/flows.hpp"

#include <algorithm>
#include <map>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

std::vector<int> rotated_ring(const std::vector<std::vector<int>>& nodes, std::size_t channel) {
  std::vector<int> ring;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    std::vector<int> node = nodes[n];
    std::ranges::rotate(node, node.begin() + static_cast<std::ptrdiff_t>(channel % node.size()));
    if (n % 2 == 1) std::ranges::reverse(node);
    ring.insert(ring.end(), node.begin(), node.end());
  }
  return ring;
}

/// In-order binary tree: the lowest set bit of a number is its height.
int parent_in_order(int node, int nodes) {
  if (node == 0) return -1;
  const int bit = node & -node;
  const int up = (node ^ bit) | (bit << 1);
  return up < nodes ? up : node ^ bit;
}

/// Shares between the same two GPUs, added up.
class Shares {
 public:
  void add(int from, int to, double share) { shares_[{from, to}] += share; }
  [[nodiscard]] std::vector<Flow> flows() const {
    std::vector<Flow> flows;
    flows.reserve(shares_.size());
    for (const auto& [ends, share] : shares_) flows.push_back({.from = ends.first, .to = ends.second, .share = share});
    return flows;
  }

 private:
  std::map<std::pair<int, int>, double> shares_;
};

/// Both directions of both trees between the nodes, each channel by its own GPU.
void add_trees(const std::vector<std::vector<int>>& nodes, Shares& shares) {
  const auto trees = double_tree(static_cast<int>(nodes.size()));
  const std::size_t channels = nodes.front().size();
  const double share = 0.5 / static_cast<double>(channels);
  for (const std::vector<int>& parents : trees) {
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (parents[node] < 0) continue;
      const std::vector<int>& above = nodes[static_cast<std::size_t>(parents[node])];
      for (std::size_t c = 0; c < channels; ++c) {
        shares.add(nodes[node][c], above[c], share);
        shares.add(above[c], nodes[node][c], share);
      }
    }
  }
}

void add_nvls(std::span<const int> gpus, Shares& shares) {
  const double share = 1 + 1 / static_cast<double>(gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) shares.add(gpus[i], gpus[(i + 1) % gpus.size()], share);
}

std::vector<Flow> bare_flows(CollectiveAlgorithm algorithm, std::span<const int> gpus, int gpus_per_node,
                             const Topology& topology) {
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      return ring_flows(rings_through(gpus, gpus_per_node, topology));
    case CollectiveAlgorithm::tree:
      return tree_flows(by_node(gpus, gpus_per_node));
    case CollectiveAlgorithm::nvls:
      return nvls_flows(gpus);
    case CollectiveAlgorithm::nvls_tree:
      return nvls_tree_flows(by_node(gpus, gpus_per_node));
    case CollectiveAlgorithm::pairwise:
      return pair_flows(gpus);
    case CollectiveAlgorithm::message:
      return message_flow(gpus);
  }
  return {};
}

}  // namespace

std::string_view to_string(CollectiveAlgorithm algorithm) {
  return enum_names(algorithm)[static_cast<std::size_t>(algorithm)];
}

std::vector<std::vector<int>> by_node(std::span<const int> gpus, int gpus_per_node) {
  std::vector<std::vector<int>> nodes;
  std::map<int, std::size_t> seen;
  for (const int gpu : gpus) {
    const auto [at, fresh] = seen.try_emplace(gpu / gpus_per_node, nodes.size());
    if (fresh) nodes.emplace_back();
    nodes[at->second].push_back(gpu);
  }
  return nodes;
}

bool equally_many(const std::vector<std::vector<int>>& nodes) {
  return std::ranges::all_of(nodes, [&](const auto& node) { return node.size() == nodes.front().size(); });
}

std::vector<std::vector<int>> rings_through(std::span<const int> gpus, int gpus_per_node, const Topology& topology) {
  const auto nodes = by_node(gpus, gpus_per_node);
  if (nodes.size() == 1) return topology.rings(gpus);
  std::vector<std::vector<int>> rings;
  const std::size_t channels = equally_many(nodes) ? nodes.front().size() : 1;
  rings.reserve(channels);
  for (std::size_t channel = 0; channel < channels; ++channel) rings.push_back(rotated_ring(nodes, channel));
  return rings;
}

std::vector<Flow> ring_flows(const std::vector<std::vector<int>>& rings) {
  std::map<std::pair<int, int>, int> uses;
  for (const std::vector<int>& ring : rings) {
    if (ring.size() < 2) continue;
    for (std::size_t i = 0; i < ring.size(); ++i) ++uses[{ring[i], ring[(i + 1) % ring.size()]}];
  }
  std::vector<Flow> flows;
  flows.reserve(uses.size());
  for (const auto& [ends, count] : uses) {
    flows.push_back({.from = ends.first,
                     .to = ends.second,
                     .share = static_cast<double>(count) / static_cast<double>(rings.size())});
  }
  return flows;
}

std::vector<Flow> pair_flows(std::span<const int> gpus) {
  std::vector<Flow> flows;
  for (const int from : gpus) {
    for (const int to : gpus) {
      if (from != to) flows.push_back({.from = from, .to = to, .share = 1.0 / static_cast<double>(gpus.size() - 1)});
    }
  }
  return flows;
}

std::vector<Flow> message_flow(std::span<const int> gpus) {
  return {{.from = gpus.front(), .to = gpus.back()}};
}

std::array<std::vector<int>, 2> double_tree(int nodes) {
  std::array<std::vector<int>, 2> trees;
  for (std::vector<int>& parents : trees) parents.resize(static_cast<std::size_t>(nodes));
  for (int node = 0; node < nodes; ++node) {
    const int up = parent_in_order(node, nodes);
    trees[0][static_cast<std::size_t>(node)] = up;
    const bool mirrored = nodes % 2 == 0;
    const int twin = mirrored ? nodes - 1 - node : (node + 1) % nodes;
    const int above = up < 0 ? -1 : mirrored ? nodes - 1 - up : (up + 1) % nodes;
    trees[1][static_cast<std::size_t>(twin)] = above;
  }
  return trees;
}

std::vector<Flow> tree_flows(const std::vector<std::vector<int>>& nodes) {
  TESSERA_ASSERT(equally_many(nodes), "a tree needs equally many GPUs on every node");
  Shares shares;
  add_trees(nodes, shares);
  for (const std::vector<int>& node : nodes) {
    const std::size_t channels = node.size();
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t step = 1; step < channels; ++step) {
        const int near = node[(c + step - 1) % channels], far = node[(c + step) % channels];
        shares.add(far, near, 1.0 / static_cast<double>(channels));
        shares.add(near, far, 1.0 / static_cast<double>(channels));
      }
    }
  }
  return shares.flows();
}

std::vector<Flow> nvls_flows(std::span<const int> gpus) {
  Shares shares;
  add_nvls(gpus, shares);
  return shares.flows();
}

std::vector<Flow> nvls_tree_flows(const std::vector<std::vector<int>>& nodes) {
  TESSERA_ASSERT(equally_many(nodes), "a tree needs equally many GPUs on every node");
  Shares shares;
  add_trees(nodes, shares);
  for (const std::vector<int>& node : nodes) add_nvls(node, shares);
  return shares.flows();
}

bool has_nvls(const ClusterSpec& cluster) {
  const MatrixUnit unit = cluster.gpu.matrix_unit;
  return cluster.node.intra == IntraNode::nvswitch && (unit == MatrixUnit::wgmma || unit == MatrixUnit::tcgen05);
}

CollectiveAlgorithm usable(CollectiveAlgorithm wanted, std::span<const int> gpus, const ClusterSpec& cluster) {
  const bool switched = wanted == CollectiveAlgorithm::nvls || wanted == CollectiveAlgorithm::nvls_tree;
  if (!switched && wanted != CollectiveAlgorithm::tree) return wanted;
  const auto nodes = by_node(gpus, cluster.node.gpus);
  const bool in_switch = switched && has_nvls(cluster) && nodes.front().size() > 1;
  if (nodes.size() == 1) return in_switch ? CollectiveAlgorithm::nvls : CollectiveAlgorithm::ring;
  if (!equally_many(nodes)) return CollectiveAlgorithm::ring;
  return in_switch ? CollectiveAlgorithm::nvls_tree : CollectiveAlgorithm::tree;
}

std::vector<Flow> flows_of(CollectiveAlgorithm algorithm, std::span<const int> gpus, const ClusterSpec& cluster,
                           const Topology& topology) {
  std::vector<Flow> flows = bare_flows(usable(algorithm, gpus, cluster), gpus, cluster.node.gpus, topology);
  for (Flow& flow : flows) {
    flow.between_nodes = flow.from / cluster.node.gpus != flow.to / cluster.node.gpus;
    for (const LinkId id : topology.path(flow.from, flow.to)) {
      flow.links.push_back({id});
      flow.latency += topology.links()[static_cast<std::size_t>(id)].latency;
    }
  }
  return flows;
}

}  // namespace tessera
