// Which ranks meet in a collective and over which links its bytes go: the groups of a plan, whole or folded.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "models/collectives/tuner.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/graph/plan.hpp"
#include "sim/place/policy.hpp"

namespace tessera {

/// Rates that flows which are not simulated allow: by those inside nodes, between them, and both on one link; 0: no
/// limit. Of `collective_volume`, as in FlowRates.
struct SlowestFlows {
  FlowRates rates{};
  BytesPerSec together{};
};

/// The flows of ranks that communicate.
struct CommunicationGroup {
  int members = 1;  // of the collective's ranks those simulated, which must all join
  GroupShape shape{};
  std::vector<Flow> flows{};
  SlowestFlows others{};  // where a rank's own flows would be too fast for the whole
};

inline constexpr std::uint32_t kNoGroup = std::numeric_limits<std::uint32_t>::max();

class Routing {
 public:
  /// The algorithm of a collective is what `model` chooses for the first of its groups.
  Routing(const Plan& plan, const Placement& placement, const ClusterSpec& cluster, const Topology& topology,
          const CollectiveModel& model);

  [[nodiscard]] const std::vector<CommunicationGroup>& groups() const { return groups_; }
  [[nodiscard]] CollectiveAlgorithm algorithm_of(const Collective& collective) const;
  [[nodiscard]] std::uint32_t group_of(Rank rank, const Collective& collective) const;

  /// Keeps only what the first rank of each stage sends, standing for the stage: see folding.cpp. `gpus`: theirs.
  /// Returns the links at the folded capacity; those that none of them uses get none.
  std::vector<Link> fold(std::span<const int> gpus, const std::vector<Link>& links);

 private:
  using Way = std::pair<Dimension, CollectiveAlgorithm>;
  using Request = std::tuple<Dimension, CollectiveKind, double>;  // and bytes
  std::vector<CommunicationGroup> groups_;
  std::map<Way, std::vector<std::uint32_t>> group_of_rank_;
  std::map<Request, CollectiveAlgorithm> algorithms_;
};

}  // namespace tessera
