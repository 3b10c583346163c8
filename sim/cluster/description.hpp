// Platforms as the descriptions that `find_cluster` reads.
#pragma once

#include <string>
#include <string_view>

#include "sim/cluster/cluster.hpp"

namespace tessera {

/// `comment`: lines put first. A node names its GPU and a cluster its node as `gpu` and `node` say: a name or a path.
std::string gpu_description(const GpuSpec& gpu, std::string_view comment = {});
std::string node_description(const NodeSpec& node, std::string_view comment = {});
std::string cluster_description(const ClusterSpec& cluster, std::string_view node, std::string_view comment = {});

}  // namespace tessera
