// Topology-aware: one node where that holds the job, else packed inside the fullest neighbourhood of the fabric that
// does.
#include <algorithm>
#include <limits>

#include "sim/place/jobs/gang.hpp"

namespace tessera {

namespace {

std::size_t hops(const ClusterSpec& cluster, const Topology& topology, int from, int to) {
  return topology.path(from * cluster.node.gpus, to * cluster.node.gpus).size();
}

class TopologyAware final : public GangPolicy {
 public:
  explicit TopologyAware(std::vector<std::vector<int>> neighbours) : neighbours_(std::move(neighbours)) {}

  [[nodiscard]] std::vector<int> choose(const GpuPool& pool, int gpus, Rng&) const override {
    std::vector<int> chosen;
    std::vector<std::size_t> order;  // neighbourhoods, the one with the most free GPUs first
    std::vector<int> free(neighbours_.size());
    for (std::size_t i = 0; i < neighbours_.size(); ++i) {
      for (const int node : neighbours_[i]) free[i] += pool.free_in(node);
      order.push_back(i);
    }
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return free[i]; });
    if (const int node = one_node(pool, gpus, order); node >= 0) {
      pool.append_free(node, gpus, chosen);
      return chosen;
    }
    for (std::size_t i = 0; i < order.size() && gpus > 0; ++i) {
      std::size_t best = order[i];
      for (std::size_t j = i; j < order.size(); ++j)
        if (free[order[j]] >= gpus) best = order[j];  // the last that holds all has the fewest free
      gpus = pack_into(pool, neighbours_[best], gpus, chosen);
    }
    return chosen;
  }

 private:
  /// The fullest node that holds the job, of equals one in the fullest neighbourhood; -1: none does.
  [[nodiscard]] int one_node(const GpuPool& pool, int gpus, const std::vector<std::size_t>& order) const {
    int best = -1, least = pool.gpus_per_node() + 1;
    for (auto i = order.rbegin(); i != order.rend(); ++i)
      for (const int node : neighbours_[*i])
        if (const int here = pool.free_in(node); here >= gpus && here < least) best = node, least = here;
    return best;
  }

  std::vector<std::vector<int>> neighbours_;
};

}  // namespace

std::vector<std::vector<int>> neighbourhoods(const ClusterSpec& cluster, const Topology& topology) {
  std::size_t shortest = std::numeric_limits<std::size_t>::max();
  for (int node = 1; node < cluster.nodes; ++node)
    shortest = std::min(shortest, hops(cluster, topology, node - 1, node));
  std::vector<std::vector<int>> groups;
  for (int node = 0; node < cluster.nodes; ++node) {
    // From the newest: nodes of a switch mostly have consecutive numbers.
    const auto near = std::find_if(groups.rbegin(), groups.rend(), [&](const std::vector<int>& group) {
      return hops(cluster, topology, group.front(), node) == shortest;
    });
    if (near == groups.rend())
      groups.push_back({node});
    else
      near->push_back(node);
  }
  return groups;
}

std::unique_ptr<GangPolicy> make_gang_topology(const ClusterSpec& cluster, const Topology& topology) {
  return std::make_unique<TopologyAware>(neighbourhoods(cluster, topology));
}

}  // namespace tessera
