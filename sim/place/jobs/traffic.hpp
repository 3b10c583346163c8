// What a job puts on the fabric's links, and what its communication takes on given GPUs.
#pragma once

#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/place/jobs/job.hpp"

namespace tessera {

/// Share of a link that a job uses while it communicates alone: 1 on the slowest link of its way.
struct LinkLoad {
  std::uint32_t link = 0;
  double share = 0;
};

/// A job's traffic is that of ring all-reduces over all of its GPUs (`rings_through`). Not modelled: the collectives of
/// its plan one by one, pipeline messages, traffic hidden behind computing.
class TrafficModel {
 public:
  TrafficModel(const ClusterSpec& cluster, const Topology& topology) : cluster_(cluster), topology_(topology) {}

  /// None on one node: its links are the GPUs' own.
  [[nodiscard]] std::vector<LinkLoad> loads(std::span<const int> gpus) const;
  /// `communication` of the job's time is stretched by how much slower the rings are than on the fewest nodes. A job
  /// that has a node's GPUs and uses one node runs as on any one node.
  [[nodiscard]] AloneTimes alone(const ClusterJob& job, std::span<const int> gpus);

 private:
  [[nodiscard]] double ring_time(std::span<const int> gpus) const;  // seconds per byte
  const ClusterSpec& cluster_;
  const Topology& topology_;
  std::vector<double> compact_;  // ring_time on the fewest nodes, by GPUs; 0: not yet known
};

/// A NIC's cable or a link between switches.
bool joins_nodes(const Link& link);

/// Nodes that GPUs are on; `gpus` grouped by node.
int nodes_of(std::span<const int> gpus, int gpus_per_node);

}  // namespace tessera
