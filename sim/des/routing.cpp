#include "sim/des/routing.hpp"

#include <algorithm>
#include <cmath>
#include <set>

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
  [[nodiscard]] GroupShape first_shape(Dimension dimension, CollectiveKind kind, int away) const {
    for (std::size_t rank = 0; rank < placement_.gpu_of_rank.size(); ++rank) {
      const std::vector<Rank> members = plan_.group(static_cast<Rank>(rank), dimension, away);
      if (!members.empty()) return shape(gpus(members), kind);
    }
    return {};
  }
  [[nodiscard]] CommunicationGroup group(std::span<const Rank> members, CollectiveAlgorithm algorithm,
                                         CollectiveKind kind, const OwnCollective* own) const {
    const std::vector<int> on = gpus(members);
    CommunicationGroup group{.members = static_cast<int>(on.size()), .shape = shape(on, kind)};
    group.flows = own != nullptr ? scheduled_flows(own->schedule, on) : flows_of(algorithm, on, cluster_, topology_);
    group.ranks.assign(members.begin(), members.end());
    return group;
  }

  /// The user's schedule for a collective, if its group has as many ranks.
  [[nodiscard]] static std::optional<std::size_t> own(std::span<const OwnCollective> own, Dimension over,
                                                      CollectiveKind kind, int ranks) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      const CollectiveSchedule& schedule = own[i].schedule;
      if (own[i].over == over && schedule.kind == kind && schedule.ranks == ranks) return i;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::vector<Flow> scheduled_flows(const CollectiveSchedule& schedule, std::span<const int> on) const {
    std::vector<Flow> flows;
    for (const TransferStep& step : schedule.steps) {
      const int from = on[static_cast<std::size_t>(step.from)], to = on[static_cast<std::size_t>(step.to)];
      flows.push_back({.from = from,
                       .to = to,
                       .between_nodes = from / cluster_.node.gpus != to / cluster_.node.gpus,
                       .step = static_cast<std::uint32_t>(flows.size())});
      for (const LinkId id : topology_.path(from, to)) {
        flows.back().links.push_back({id});
        flows.back().latency += topology_.links()[static_cast<std::size_t>(id)].latency;
      }
    }
    return flows;
  }

  const Plan& plan_;
  const Placement& placement_;
  const ClusterSpec& cluster_;
  const Topology& topology_;
};

/// The programs that send messages so.
using Senders = std::set<std::tuple<Dimension, std::int32_t, int>>;
Senders senders_of(const Plan& plan) {
  Senders senders;
  const int programs = plan.spec.programs();
  for (int program = 0; program < programs; ++program) {
    for (std::size_t t = plan.program_begin(program); t < plan.program_end(program); ++t) {
      const auto* c = std::get_if<Collective>(&plan.tasks[t].work);
      if (c == nullptr || !is_message(*c)) continue;
      const int onwards = c->over == Dimension::next ? c->away : programs - c->away;
      senders.insert({c->over, c->away, c->receives ? (program + programs - onwards) % programs : program});
    }
  }
  return senders;
}

}  // namespace

Routing::Routing(const Plan& plan, const Placement& placement, const ClusterSpec& cluster, const Topology& topology,
                 const CollectiveModel& model, std::span<const OwnCollective> own)
    : plan_(plan) {
  const GroupFinder finder(plan, placement, cluster, topology);
  std::map<std::tuple<Dimension, CollectiveKind, std::int32_t>, GroupShape> shapes;
  std::map<Way, CollectiveKind> ways;
  for (const Task& task : plan.tasks) {
    const auto* collective = std::get_if<Collective>(&task.work);
    if (collective == nullptr) continue;
    const CollectiveKind kind = kind_of(*collective);
    const std::int32_t away = collective->away;
    const Request request{collective->over, kind, collective->bytes.value(), away};
    if (ways_.contains(request)) continue;
    const auto [shape, fresh] = shapes.try_emplace({collective->over, kind, away});
    if (fresh) shape->second = finder.first_shape(collective->over, kind, away);
    const Way way{collective->over, model.cost(kind, collective->bytes, shape->second).algorithm,
                  GroupFinder::own(own, collective->over, kind, shape->second.ranks), away};
    ways_.emplace(request, way);
    // An all-reduce's shape holds what the other kinds need too.
    CollectiveKind& widest = ways.try_emplace(way, kind).first->second;
    if (kind == CollectiveKind::all_reduce) widest = kind;
  }
  const Senders senders = senders_of(plan);
  for (const auto& [way, kind] : ways) {
    const bool message = way.over == Dimension::next || way.over == Dimension::previous;
    std::vector<std::uint32_t>& group_of_rank = group_of_rank_[way];
    group_of_rank.assign(placement.gpu_of_rank.size(), kNoGroup);
    for (std::size_t rank = 0; rank < group_of_rank.size(); ++rank) {
      if (group_of_rank[rank] != kNoGroup) continue;
      if (message && !senders.contains({way.over, way.away, plan.program_of(static_cast<Rank>(rank))})) continue;
      const std::vector<Rank> members = plan.group(static_cast<Rank>(rank), way.over, way.away);
      if (members.empty()) continue;
      for (const Rank member : std::span(members).first(message ? 1 : members.size()))
        group_of_rank[static_cast<std::size_t>(member)] = static_cast<std::uint32_t>(groups_.size());
      groups_.push_back(finder.group(members, way.algorithm, kind, way.own ? &own[*way.own] : nullptr));
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

const Routing::Way& Routing::way_of(const Collective& collective) const {
  return ways_.at({collective.over, kind_of(collective), collective.bytes.value(), collective.away});
}

CollectiveAlgorithm Routing::algorithm_of(const Collective& collective) const {
  return way_of(collective).algorithm;
}

std::optional<std::size_t> Routing::own_of(const Collective& collective) const {
  return way_of(collective).own;
}

std::uint32_t Routing::group_of(Rank rank, const Collective& collective) const {
  return group_of_rank_.at(way_of(collective))[static_cast<std::size_t>(rank)];
}

}  // namespace tessera
