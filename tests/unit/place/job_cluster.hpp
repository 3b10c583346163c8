// A cluster and jobs for tests.
#pragma once

#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/place/jobs/job.hpp"

namespace tessera::testing {

/// Nodes of eight A100 on a rail-optimised fabric, or a single node.
inline ClusterSpec a100_nodes(int nodes) {
  return find_cluster("dgx-a100-80gb", nodes);
}

/// Nodes of one GPU and one port on leaves of two, so that two neighbours of other leaves share every up-link.
inline ClusterSpec narrow_tree(int nodes) {
  ClusterSpec cluster = a100_nodes(1);
  cluster.nodes = nodes;
  cluster.node.gpus = 1;
  cluster.node.nics = 1;
  cluster.fabric = {};
  cluster.fabric.kind = FabricKind::fat_tree;
  cluster.fabric.radix = 3, cluster.fabric.levels = 2, cluster.fabric.oversubscription = 2;
  return cluster;
}

inline ClusterJob job_of(std::string name, double arrival, int gpus, double alone, double communication = 0) {
  return {.name = std::move(name),
          .arrival = Seconds(arrival),
          .gpus = gpus,
          .alone = Seconds(alone),
          .communication = communication};
}

inline JobsResult run_on(const ClusterSpec& cluster, const std::vector<ClusterJob>& jobs, JobsOptions options = {}) {
  const Topology topology(cluster);
  return run_jobs({cluster, topology, jobs, std::move(options)});
}

}  // namespace tessera::testing
