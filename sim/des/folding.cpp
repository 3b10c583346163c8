// Folding: of what is alike (colouring.hpp) one is simulated, the first: ranks that run the same program in groups that
// are alike, one group for all of its colour, and of the network one flow and one link of each colour. A link that m
// flows of a colour share is m times on the way of the one that stands for them, or has 1/m of its capacity, so that a
// folded collective takes what it takes in the whole, beside others too.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "sim/base/error.hpp"
#include "sim/des/colouring.hpp"
#include "sim/des/routing.hpp"

namespace tessera {

namespace {

/// Ranks that are simulated, at most, or one of each program: where more are not alike, those of a program are taken to
/// wait for each other at every collective.
constexpr std::size_t kMostRanks = 64;
constexpr double kMostMentions = 64;  // of a link on one way

std::size_t number(const FlowLink& link) {
  return static_cast<std::size_t>(link.id);
}

/// Seconds that the flows of a kind, of shares of a byte, would keep every link busy.
class Pressure {
 public:
  Pressure(const GroupKind& kind, const std::vector<Link>& links) : links_(links) {
    for (const GroupKind::Coloured& flow : kind.flows) {
      for (const FlowLink& link : flow.flow->links) shares_[link.id] += flow.flow->share;
    }
  }
  [[nodiscard]] Seconds on(const Flow& flow) const {
    Seconds most;
    for (const FlowLink& link : flow.links)
      most = max(most, Bytes(shares_.at(link.id)) / links_[number(link)].bandwidth);
    return most;
  }

 private:
  std::unordered_map<LinkId, double> shares_;
  const std::vector<Link>& links_;
};

/// The flows that stand for their colours: of a coarse kind the busiest, else the first.
std::vector<GroupKind::Coloured> representatives(const GroupKind& kind, const std::vector<Link>& links) {
  std::vector<GroupKind::Coloured> chosen;
  std::unordered_map<Colour, std::size_t> place;
  const Pressure pressure(kind.coarse ? kind : GroupKind{}, links);
  for (const GroupKind::Coloured& flow : kind.flows) {
    const auto [at, fresh] = place.try_emplace(flow.colour, chosen.size());
    if (fresh) {
      chosen.push_back(flow);
    } else if (kind.coarse && pressure.on(*flow.flow) > pressure.on(*chosen[at->second].flow)) {
      chosen[at->second] = flow;
    }
  }
  return chosen;
}

/// Of every colour of links the first, and how many flows of each colour take it.
class LinkClasses {
 public:
  LinkClasses(const std::vector<GroupKind>& kinds, const std::vector<Colour>& of_link) : of_link_(of_link) {
    for (std::size_t l = 0; l < of_link.size(); ++l) first_.try_emplace(of_link[l], l);
    for (const GroupKind& kind : kinds) {
      for (const GroupKind::Coloured& flow : kind.flows) {
        for (const FlowLink& link : flow.flow->links) {
          if (first_.at(of_link[number(link)]) == number(link)) ++copies_[mixed(flow.colour) ^ number(link)];
        }
      }
    }
  }
  /// What a flow of `colour` stands for on each class of links that it takes.
  [[nodiscard]] std::vector<FlowLink> folded(const Flow& flow, Colour colour) const {
    std::vector<FlowLink> links;
    for (const FlowLink& link : flow.links) {
      const std::size_t first = first_.at(of_link_[number(link)]);
      const auto id = static_cast<LinkId>(first);
      if (std::ranges::find(links, id, &FlowLink::id) == links.end())
        links.push_back({id, copies_.at(mixed(colour) ^ first)});
    }
    return links;
  }

 private:
  const std::vector<Colour>& of_link_;
  std::unordered_map<Colour, std::size_t> first_;
  std::unordered_map<Colour, double> copies_;  // by colour of flow and link
};

/// A group for each colour of a kind's, and which of them every group became.
struct FoldedGroups {
  std::vector<CommunicationGroup> groups;
  std::vector<std::size_t> of_group;

  FoldedGroups(const GroupKind& kind, const Colouring& colouring) {
    std::unordered_map<Colour, std::size_t> place;
    for (std::size_t g = 0; g < kind.groups.size(); ++g) {
      const CommunicationGroup& group = kind.groups[g];
      const auto [at, fresh] = place.try_emplace(kind.of_group[g], groups.size());
      of_group.push_back(at->second);
      if (fresh) {
        std::unordered_set<Colour> colours;
        for (const Rank rank : group.ranks) colours.insert(colouring.of_rank()[static_cast<std::size_t>(rank)]);
        groups.push_back({.members = kind.message ? 2 : static_cast<int>(colours.size()),
                          .shape = group.shape,
                          .ranks = group.ranks});
      }
      GroupShape& shape = groups[at->second].shape;
      const Seconds hop = max(shape.longest_hop, group.shape.longest_hop);
      if (group.shape.nodes > shape.nodes) shape = group.shape;
      shape.longest_hop = hop;
    }
  }
};

/// Of each link the flows that one mention of it stands for: what divides all copies, and at least a 64th of the most.
std::vector<double> units_of(std::span<const CommunicationGroup> groups, std::size_t links) {
  std::vector<double> most(links);
  std::vector<long> divisor(links);
  for (const CommunicationGroup& group : groups) {
    for (const Flow& flow : group.flows) {
      for (const FlowLink& link : flow.links) {
        most[number(link)] = std::max(most[number(link)], link.copies);
        divisor[number(link)] = std::gcd(divisor[number(link)], std::lround(link.copies));
      }
    }
  }
  std::vector<double> units(links);
  for (std::size_t l = 0; l < links; ++l) units[l] = std::max(static_cast<double>(divisor[l]), most[l] / kMostMentions);
  return units;
}

/// The first rank of each colour.
std::vector<Rank> first_ranks(const std::vector<Colour>& of_rank) {
  std::vector<Rank> ranks;
  std::unordered_set<Colour> seen;
  for (std::size_t r = 0; r < of_rank.size(); ++r) {
    if (seen.insert(of_rank[r]).second) ranks.push_back(static_cast<Rank>(r));
  }
  return ranks;
}

}  // namespace

std::vector<GroupKind> Routing::kinds() {
  std::vector<GroupKind> kinds;
  for (auto& [way, group_of_rank] : group_of_rank_) {
    const bool message = way.over == Dimension::next || way.over == Dimension::previous;
    const auto ranks = static_cast<std::size_t>(plan_.spec.ranks_per_program());
    std::size_t begin = 0;
    for (int stage = 0; stage < plan_.spec.pp; ++stage) {
      const auto replicas = static_cast<std::size_t>(plan_.spec.replicas_of(stage));
      const std::size_t size = message ? ranks : replicas * ranks;  // replicas of a stage sum their gradients together
      for (const std::size_t end = begin + replicas * ranks; begin < end; begin += size) {
        const auto of_ranks = std::span(group_of_rank).subspan(begin, size);
        const auto [first, last] = std::ranges::minmax(of_ranks);
        if (first == kNoGroup) continue;  // messages that no neighbour receives
        kinds.push_back(
            {.groups = std::span(&groups_[first], last - first + 1), .group_of_rank = of_ranks, .message = message});
      }
    }
  }
  return kinds;
}

std::optional<FoldedRun> Routing::fold(const std::vector<Link>& links, const std::vector<std::uint64_t>& sorts) {
  std::vector<GroupKind> some = kinds();
  std::optional<Colouring> colouring(std::in_place, some, links, sorts, true);
  const std::size_t most = std::max(kMostRanks, static_cast<std::size_t>(plan_.spec.programs()));
  if (colouring->rank_colours() > most) colouring.emplace(some, links, sorts, false);
  if (colouring->rank_colours() > most) return std::nullopt;

  const LinkClasses classes(some, colouring->of_link());
  std::vector<CommunicationGroup> all;
  for (const GroupKind& kind : some) {
    FoldedGroups folded(kind, *colouring);
    for (const GroupKind::Coloured& flow : representatives(kind, links)) {
      std::vector<Flow>& flows = folded.groups[folded.of_group[flow.group]].flows;
      flows.push_back(*flow.flow);
      flows.back().links = classes.folded(*flow.flow, flow.colour);
    }
    for (CommunicationGroup& group : folded.groups) std::ranges::stable_sort(group.flows, {}, &Flow::step);
    const auto first = static_cast<std::size_t>(kind.groups.data() - groups_.data());
    for (std::uint32_t& group : kind.group_of_rank)
      group = static_cast<std::uint32_t>(all.size() + folded.of_group[group - first]);
    std::ranges::move(folded.groups, std::back_inserter(all));
  }
  groups_ = std::move(all);
  number_flows();
  units_ = units_of(groups_, links.size());
  FoldedRun run{.links = links, .ranks = first_ranks(colouring->of_rank())};
  for (std::size_t l = 0; l < links.size(); ++l)
    run.links[l].bandwidth = units_[l] > 0 ? links[l].bandwidth / units_[l] : BytesPerSec();
  return run;
}

}  // namespace tessera
