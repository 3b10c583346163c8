// Which free GPUs a job gets when it starts; one file per policy, one row in the table.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/rng.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/place/jobs/gpu_pool.hpp"

namespace tessera {

class GangPolicy {
 public:
  virtual ~GangPolicy() = default;
  /// `gpus` GPUs of the pool's free ones, of which there are as many; ascending within a node.
  [[nodiscard]] virtual std::vector<int> choose(const GpuPool& pool, int gpus, Rng& rng) const = 0;
};

struct GangPolicyEntry {
  std::string_view name, what;
  std::unique_ptr<GangPolicy> (*make)(const ClusterSpec& cluster, const Topology& topology);
};
std::span<const GangPolicyEntry> gang_policies();  // alphabetical; `packed` is the default
/// InputError with the nearest name.
const GangPolicyEntry& find_gang_policy(std::string_view name);

std::unique_ptr<GangPolicy> make_gang_first_fit(const ClusterSpec& cluster, const Topology& topology);
std::unique_ptr<GangPolicy> make_gang_packed(const ClusterSpec& cluster, const Topology& topology);
std::unique_ptr<GangPolicy> make_gang_random(const ClusterSpec& cluster, const Topology& topology);
std::unique_ptr<GangPolicy> make_gang_spread(const ClusterSpec& cluster, const Topology& topology);
std::unique_ptr<GangPolicy> make_gang_topology(const ClusterSpec& cluster, const Topology& topology);

/// Packed: of the nodes `among`, the fullest that holds what is left, else the emptiest, and on; returns what did not
/// fit.
int pack_into(const GpuPool& pool, std::span<const int> among, int gpus, std::vector<int>& chosen);

/// Nodes whose ways to each other are the cluster's shortest (a leaf of a tree, a dragonfly's router), in order.
std::vector<std::vector<int>> neighbourhoods(const ClusterSpec& cluster, const Topology& topology);

}  // namespace tessera
