// Groups whose flows never share a link: rates are known beforehand, so that a collective is one date instead of an
// activity per flow. Collectives of a communicator run one after the other, so they do not disturb each other.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "sim/des/routing.hpp"

namespace tessera {

namespace {

constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

/// Sharded parameters are gathered beside the reductions of the same ranks.
bool one_at_a_time(Dimension over) {
  return over != Dimension::dp && over != Dimension::edp;
}

/// Whose flows take a link.
struct LinkUser {
  std::size_t communicator = kNobody, group = kNobody, flow = kNobody;
  bool shared = false;

  void add(std::size_t its_communicator, std::size_t its_group, std::size_t its_flow) {
    if (communicator != kNobody && communicator != its_communicator) shared = true;
    if (group == its_group && flow != its_flow) shared = true;
    communicator = its_communicator;
    group = its_group;
    flow = its_flow;
  }
};

}  // namespace

void Routing::find_undisturbed(const std::vector<Link>& links) {
  std::vector<Dimension> over(groups_.size(), Dimension::dp);
  for (const auto& [way, group_of_rank] : group_of_rank_) {
    for (const std::uint32_t group : group_of_rank)
      if (group != kNoGroup) over[group] = way.over;
  }
  std::map<std::pair<Dimension, std::vector<Rank>>, std::size_t> communicators;
  std::vector<LinkUser> users(links.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto known = communicators.try_emplace({over[g], groups_[g].ranks}, communicators.size()).first;
    for (std::size_t f = 0; f < groups_[g].flows.size(); ++f)
      for (const FlowLink& link : groups_[g].flows[f].links)
        users[static_cast<std::size_t>(link.id)].add(known->second, g, f);
  }
  const auto alone = [&](const Flow& flow) {
    return !flow.links.empty() && std::ranges::none_of(flow.links, [&](const FlowLink& link) {
      return users[static_cast<std::size_t>(link.id)].shared;
    });
  };
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    CommunicationGroup& group = groups_[g];
    if (!one_at_a_time(over[g]) || !std::ranges::all_of(group.flows, alone)) continue;
    for (const Flow& flow : group.flows) group.rates.push_back(lone_rate(flow, links));
  }
}

/// What the narrowest link gives to a flow that takes it once or, where it stands for several, more often.
BytesPerSec Routing::lone_rate(const Flow& flow, const std::vector<Link>& links) const {
  const std::vector<LinkId> way = links_of(flow.route);
  BytesPerSec rate(std::numeric_limits<double>::infinity());
  for (const LinkId id : way)
    rate = min(rate, links[static_cast<std::size_t>(id)].bandwidth / static_cast<double>(std::ranges::count(way, id)));
  return rate;
}

}  // namespace tessera
