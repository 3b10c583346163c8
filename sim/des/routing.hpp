// Which ranks meet in a collective and over which links its bytes go: the groups of a plan, whole or folded.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "models/collectives/schedule.hpp"
#include "models/collectives/tuner.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/graph/plan.hpp"
#include "sim/place/policy.hpp"

namespace tessera {

/// The flows of ranks that communicate; of a schedule, by step.
struct CommunicationGroup {
  int members = 1;  // of the collective's ranks those simulated, which must all join
  GroupShape shape{};
  std::vector<Flow> flows{};
  std::vector<Rank> ranks{};  // of all that take part; of a message the sender and the receiver; folded: of the first
  std::vector<BytesPerSec> rates{};  // of its flows where none ever shares a link with another; else none
};

/// What is left of a run once folded.
struct FoldedRun {
  std::vector<Link> links;  // at the folded capacity; those that no flow uses have none
  std::vector<Rank> ranks;  // that are simulated
};

struct GroupKind;

inline constexpr std::uint32_t kNoGroup = std::numeric_limits<std::uint32_t>::max();

class Routing {
 public:
  /// The algorithm of a collective is what `model` chooses for the first of its groups.
  Routing(const Plan& plan, const Placement& placement, const ClusterSpec& cluster, const Topology& topology,
          const CollectiveModel& model, std::span<const OwnCollective> own = {});

  [[nodiscard]] const std::vector<CommunicationGroup>& groups() const { return groups_; }
  [[nodiscard]] CollectiveAlgorithm algorithm_of(const Collective& collective) const;
  /// The user's schedule, as a position in `own`; none where NCCL's ways are taken.
  [[nodiscard]] std::optional<std::size_t> own_of(const Collective& collective) const;
  [[nodiscard]] std::uint32_t group_of(Rank rank, const Collective& collective) const;

  /// Keeps one of what is alike: see folding.cpp. `sorts`: of each rank what it is by itself: its program and its GPU's
  /// speed. None, and nothing is changed, where too much is not alike.
  std::optional<FoldedRun> fold(const std::vector<Link>& links, const std::vector<std::uint64_t>& sorts);

  /// Sets the rates of groups that are never disturbed: see undisturbed.cpp. `links`: as they are simulated.
  void find_undisturbed(const std::vector<Link>& links);

  [[nodiscard]] std::size_t routes() const { return routes_.size(); }
  [[nodiscard]] std::vector<LinkId> links_of(std::size_t route) const;

 private:
  struct Way {
    Dimension over = Dimension::tp;
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
    std::optional<std::size_t> own{};
    std::int32_t away = 1;  // of messages
    auto operator<=>(const Way&) const = default;
  };
  using Request = std::tuple<Dimension, CollectiveKind, double, std::int32_t>;  // bytes; programs away
  const Plan& plan_;
  std::vector<CommunicationGroup> groups_;
  std::map<Way, std::vector<std::uint32_t>> group_of_rank_;
  std::map<Request, Way> ways_;
  std::vector<const Flow*> routes_;  // by number
  std::vector<double> units_;        // of each link once folded: flows that a mention of it stands for

  void number_flows();
  [[nodiscard]] BytesPerSec lone_rate(const Flow& flow, const std::vector<Link>& links) const;
  [[nodiscard]] const Way& way_of(const Collective& collective) const;
  [[nodiscard]] std::vector<GroupKind> kinds();
};

}  // namespace tessera
