#include "sim/place/jobs/traffic.hpp"

#include <algorithm>
#include <numeric>

#include "models/collectives/flows.hpp"

namespace tessera {

namespace {

/// Seconds that every link is busy per byte of the collective; one entry per link used, by number.
std::vector<LinkLoad> busy_times(std::span<const int> gpus, const ClusterSpec& cluster, const Topology& topology) {
  std::vector<LinkLoad> uses;
  for (const Flow& flow : flows_of(CollectiveAlgorithm::ring, gpus, cluster, topology))
    for (const FlowLink& use : flow.links) {
      const auto link = static_cast<std::uint32_t>(use.id);
      uses.push_back({link, flow.share / topology.links()[link].bandwidth.value()});
    }
  std::ranges::sort(uses, {}, &LinkLoad::link);
  std::vector<LinkLoad> sums;
  for (const LinkLoad& use : uses) {
    if (sums.empty() || sums.back().link != use.link)
      sums.push_back(use);
    else
      sums.back().share += use.share;
  }
  return sums;
}

double slowest(const std::vector<LinkLoad>& busy) {
  double most = 0;
  for (const LinkLoad& use : busy) most = std::max(most, use.share);
  return most;
}

}  // namespace

int nodes_of(std::span<const int> gpus, int gpus_per_node) {
  int nodes = 0, last = -1;
  for (const int gpu : gpus) {
    if (gpu / gpus_per_node != last) ++nodes;
    last = gpu / gpus_per_node;
  }
  return nodes;
}

bool joins_nodes(const Link& link) {
  return !link.name.starts_with("node") || link.name.find("/nic") != std::string::npos;
}

double TrafficModel::ring_time(std::span<const int> gpus) const {
  return slowest(busy_times(gpus, cluster_, topology_));
}

std::vector<LinkLoad> TrafficModel::loads(std::span<const int> gpus) const {
  if (nodes_of(gpus, cluster_.node.gpus) < 2) return {};
  std::vector<LinkLoad> busy = busy_times(gpus, cluster_, topology_);
  const double most = slowest(busy);
  for (LinkLoad& use : busy) use.share /= most;
  return busy;
}

AloneTimes TrafficModel::alone(const ClusterJob& job, std::span<const int> gpus) {
  const AloneTimes compact{job.alone * (1 - job.communication), job.alone * job.communication};
  if (job.communication == 0 || job.gpus == 1 || nodes_of(gpus, cluster_.node.gpus) == 1) return compact;
  const auto count = static_cast<std::size_t>(job.gpus);
  if (compact_.size() <= count) compact_.resize(count + 1);
  if (compact_[count] == 0) {
    std::vector<int> first(count);
    std::iota(first.begin(), first.end(), 0);
    compact_[count] = ring_time(first);
  }
  return {compact.compute, compact.communication * (ring_time(gpus) / compact_[count])};
}

}  // namespace tessera
