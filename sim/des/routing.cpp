#include "sim/des/routing.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

/// A send_recv is a message whatever its group; a message of any kind is one.
CollectiveKind kind_of(const Collective& collective) {
  return is_message(collective) ? CollectiveKind::send_recv : collective.kind;
}

/// Finds the groups of one plan; what is asked for twice is found once.
class GroupFinder {
 public:
  GroupFinder(const Plan& plan, const Placement& placement, const ClusterSpec& cluster, const Topology& topology)
      : plan_(plan), placement_(placement), cluster_(cluster), topology_(topology) {}

  [[nodiscard]] std::vector<int> gpus(std::span<const Rank> members) const {
    std::vector<int> gpus;
    for (const Rank member : members) gpus.push_back(placement_.gpu_of_rank[static_cast<std::size_t>(member)]);
    return gpus;
  }
  [[nodiscard]] GroupShape shape(std::span<const int> gpus, CollectiveKind kind) const {
    return shape_of(gpus, kind, cluster_, topology_);
  }
  /// The shape of the first group over `dimension`; of one rank where there is none.
  [[nodiscard]] GroupShape first_shape(Dimension dimension, CollectiveKind kind) const {
    for (std::size_t rank = 0; rank < placement_.gpu_of_rank.size(); ++rank) {
      const std::vector<Rank> members = plan_.group(static_cast<Rank>(rank), dimension);
      if (!members.empty()) return shape(gpus(members), kind);
    }
    return {};
  }
  [[nodiscard]] CommunicationGroup group(std::span<const Rank> members, CollectiveAlgorithm algorithm,
                                         CollectiveKind kind) const {
    const std::vector<int> on = gpus(members);
    CommunicationGroup group{.members = static_cast<int>(on.size()), .shape = shape(on, kind)};
    group.flows = flows_of(algorithm, on, cluster_, topology_);
    group.ranks.assign(members.begin(), members.end());
    return group;
  }

 private:
  const Plan& plan_;
  const Placement& placement_;
  const ClusterSpec& cluster_;
  const Topology& topology_;
};

}  // namespace

Routing::Routing(const Plan& plan, const Placement& placement, const ClusterSpec& cluster, const Topology& topology,
                 const CollectiveModel& model)
    : stages_(static_cast<std::size_t>(plan.spec.pp)) {
  const GroupFinder finder(plan, placement, cluster, topology);
  std::map<std::pair<Dimension, CollectiveKind>, GroupShape> shapes;
  std::map<Way, CollectiveKind> ways;
  for (const Task& task : plan.tasks) {
    const auto* collective = std::get_if<Collective>(&task.work);
    if (collective == nullptr) continue;
    const CollectiveKind kind = kind_of(*collective);
    const Request request{collective->over, kind, collective->bytes.value()};
    if (algorithms_.contains(request)) continue;
    auto shape = shapes.find({collective->over, kind});
    if (shape == shapes.end())
      shape = shapes.emplace(std::pair(collective->over, kind), finder.first_shape(collective->over, kind)).first;
    const CollectiveAlgorithm algorithm = model.cost(kind, collective->bytes, shape->second).algorithm;
    algorithms_.emplace(request, algorithm);
    // An all-reduce's shape holds what the other kinds need too.
    CollectiveKind& widest = ways.try_emplace({collective->over, algorithm}, kind).first->second;
    if (kind == CollectiveKind::all_reduce) widest = kind;
  }
  for (const auto& [way, kind] : ways) {
    std::vector<std::uint32_t>& group_of_rank = group_of_rank_[way];
    group_of_rank.assign(placement.gpu_of_rank.size(), kNoGroup);
    for (std::size_t rank = 0; rank < group_of_rank.size(); ++rank) {
      if (group_of_rank[rank] != kNoGroup) continue;
      const std::vector<Rank> members = plan.group(static_cast<Rank>(rank), way.first);
      if (members.empty()) continue;
      const bool message = way.first == Dimension::next || way.first == Dimension::previous;
      for (const Rank member : members) {
        if (message && member != members.front()) continue;
        group_of_rank[static_cast<std::size_t>(member)] = static_cast<std::uint32_t>(groups_.size());
      }
      groups_.push_back(finder.group(members, way.second, kind));
    }
  }
  number_flows();
}

void Routing::number_flows() {
  routes_.clear();
  for (CommunicationGroup& group : groups_) {
    for (Flow& flow : group.flows) {
      flow.route = static_cast<std::uint32_t>(routes_.size());
      routes_.push_back(&flow);
    }
  }
}

std::vector<LinkId> Routing::links_of(std::size_t route) const {
  std::vector<LinkId> links;
  for (const FlowLink& link : routes_[route]->links) {
    const double unit = units_.empty() ? 1 : units_[static_cast<std::size_t>(link.id)];
    const auto mentions = std::max<long>(1, std::lround(link.copies / unit));
    links.insert(links.end(), static_cast<std::size_t>(mentions), link.id);
  }
  return links;
}

CollectiveAlgorithm Routing::algorithm_of(const Collective& collective) const {
  return algorithms_.at({collective.over, kind_of(collective), collective.bytes.value()});
}

std::uint32_t Routing::group_of(Rank rank, const Collective& collective) const {
  return group_of_rank_.at({collective.over, algorithm_of(collective)})[static_cast<std::size_t>(rank)];
}

}  // namespace tessera
