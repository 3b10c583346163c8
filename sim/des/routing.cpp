#include "sim/des/routing.hpp"

#include <algorithm>
#include <set>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

/// The members by node, both in the order given.
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

std::vector<Flow> flows_of(Spread spread, std::span<const int> gpus, int gpus_per_node, const Topology& topology) {
  switch (spread) {
    case Spread::ring:
      return ring_flows(rings_through(gpus, gpus_per_node, topology));
    case Spread::pairs:
      return pair_flows(gpus);
    case Spread::message:
      return message_flow(gpus);
  }
  return {};
}

void find_links(std::vector<Flow>& flows, const Topology& topology, Seconds& longest) {
  for (Flow& flow : flows) {
    Seconds latency;
    for (const LinkId id : topology.path(flow.from, flow.to)) {
      flow.links.push_back({id});
      latency += topology.links()[static_cast<std::size_t>(id)].latency;
    }
    longest = max(longest, latency);
  }
}

}  // namespace

Spread spread_of(const Collective& collective) {
  if (collective.over == Dimension::next || collective.over == Dimension::previous) return Spread::message;
  return collective.kind == CollectiveKind::all_to_all ? Spread::pairs : Spread::ring;
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
    flows.push_back({ends.first, ends.second, static_cast<double>(count) / static_cast<double>(rings.size()), {}});
  }
  return flows;
}

std::vector<Flow> pair_flows(std::span<const int> gpus) {
  std::vector<Flow> flows;
  for (const int from : gpus) {
    for (const int to : gpus) {
      if (from != to) flows.push_back({from, to, 1.0 / static_cast<double>(gpus.size() - 1), {}});
    }
  }
  return flows;
}

std::vector<Flow> message_flow(std::span<const int> gpus) {
  return {{gpus.front(), gpus.back(), 1, {}}};
}

Routing::Routing(const Plan& plan, const Placement& placement, const ClusterSpec& cluster, const Topology& topology) {
  std::set<Kind> kinds;
  for (const Task& task : plan.tasks) {
    if (const auto* collective = std::get_if<Collective>(&task.work)) {
      kinds.emplace(collective->over, spread_of(*collective));
    }
  }
  for (const Kind& kind : kinds) {
    std::vector<std::uint32_t>& group_of_rank = group_of_rank_[kind];
    group_of_rank.assign(placement.gpu_of_rank.size(), kNoGroup);
    for (std::size_t rank = 0; rank < group_of_rank.size(); ++rank) {
      if (group_of_rank[rank] != kNoGroup) continue;
      const std::vector<Rank> members = plan.group(static_cast<Rank>(rank), kind.first);
      if (members.empty()) continue;
      std::vector<int> gpus;
      for (const Rank member : members) {
        gpus.push_back(placement.gpu_of_rank[static_cast<std::size_t>(member)]);
        const bool shared = kind.second != Spread::message || member == members.front();
        if (shared) group_of_rank[static_cast<std::size_t>(member)] = static_cast<std::uint32_t>(groups_.size());
      }
      CommunicationGroup group{.size = static_cast<int>(gpus.size()), .members = static_cast<int>(gpus.size())};
      group.flows = flows_of(kind.second, gpus, cluster.node.gpus, topology);
      find_links(group.flows, topology, group.step_latency);
      groups_.push_back(std::move(group));
    }
  }
}

std::uint32_t Routing::group_of(Rank rank, Dimension over, Spread spread) const {
  return group_of_rank_.at({over, spread})[static_cast<std::size_t>(rank)];
}

}  // namespace tessera
