// Who sends which share of a collective to whom, over which links: the rings of every group, whole or folded.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/graph/plan.hpp"
#include "sim/place/policy.hpp"

namespace tessera {

/// How the bytes of a collective spread over its group. message: from its first member to the second.
enum class Spread : std::uint8_t { ring, pairs, message };
Spread spread_of(const Collective& collective);

struct FlowLink {
  LinkId id{};
  double copies = 1;  // symmetric flows that take this link beside a folded one, itself included
};

/// A stream of bytes between two GPUs (cluster-wide indices).
struct Flow {
  int from = 0, to = 0;
  double share = 1;  // of what one rank sends
  std::vector<FlowLink> links;
};

/// The flows of ranks that communicate, and the latency of one step of their ring.
struct CommunicationGroup {
  int size = 1;     // ranks of the collective
  int members = 1;  // of them simulated, which must all join
  std::vector<Flow> flows{};
  Seconds step_latency{};
  BytesPerSec slowest{};  // rate at which a rank sends where its own flows would be too fast; 0: they are not
};

/// Rings through `gpus`, each for an equal part of the bytes. Inside a node: those of the topology. Over several nodes
/// with equally many on each: one per GPU of a node, rotated so that each leaves the node by another GPU (and NIC),
/// every second node in reverse so that it is entered on the same rail. Otherwise one, node by node.
/// Not modelled: trees, NVLink SHARP.
std::vector<std::vector<int>> rings_through(std::span<const int> gpus, int gpus_per_node, const Topology& topology);

/// Neighbours on the rings; parts that run between the same two GPUs are one flow.
std::vector<Flow> ring_flows(const std::vector<std::vector<int>>& rings);
std::vector<Flow> pair_flows(std::span<const int> gpus);
std::vector<Flow> message_flow(std::span<const int> gpus);

inline constexpr std::uint32_t kNoGroup = std::numeric_limits<std::uint32_t>::max();

class Routing {
 public:
  Routing(const Plan& plan, const Placement& placement, const ClusterSpec& cluster, const Topology& topology);

  [[nodiscard]] const std::vector<CommunicationGroup>& groups() const { return groups_; }
  [[nodiscard]] std::uint32_t group_of(Rank rank, Dimension over, Spread spread) const;

  /// Keeps only what the first rank of each stage sends, standing for the stage: see folding.cpp. `gpus`: theirs.
  /// Returns the links at the folded capacity; those that none of them uses get none.
  std::vector<Link> fold(std::span<const int> gpus, const std::vector<Link>& links);

 private:
  using Kind = std::pair<Dimension, Spread>;
  std::vector<CommunicationGroup> groups_;
  std::map<Kind, std::vector<std::uint32_t>> group_of_rank_;
};

}  // namespace tessera
