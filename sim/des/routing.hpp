// Which ranks meet in a collective and over which links its bytes go: the groups of a plan, whole or folded.
#pragma once

#include <cstddef>
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

/// The flows of ranks that communicate.
struct CommunicationGroup {
  int members = 1;  // of the collective's ranks those simulated, which must all join
  GroupShape shape{};
  std::vector<Flow> flows{};
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

  /// Makes one of the groups of each stage and keeps of flows that are alike only one: see folding.cpp. Returns the
  /// links at the folded capacity; those that none of the flows kept uses get none.
  std::vector<Link> fold(const std::vector<Link>& links);

  [[nodiscard]] std::size_t routes() const { return routes_.size(); }
  [[nodiscard]] std::vector<LinkId> links_of(std::size_t route) const;

 private:
  using Way = std::pair<Dimension, CollectiveAlgorithm>;
  using Request = std::tuple<Dimension, CollectiveKind, double>;  // and bytes
  std::vector<CommunicationGroup> groups_;
  std::map<Way, std::vector<std::uint32_t>> group_of_rank_;
  std::map<Request, CollectiveAlgorithm> algorithms_;
  std::size_t stages_ = 1;
  std::vector<const Flow*> routes_;  // by number
  std::vector<double> units_;        // of each link once folded: flows that a mention of it stands for

  void number_flows();
};

}  // namespace tessera
