// Folding: every rank of a pipeline stage runs the same program, so one of them is simulated, and all groups of a
// collective are one. Of the network what is alike is kept once: flows that put the same on links alike, links that
// carry the same of flows alike (the coarsest equitable partition of the graph of flows and links, found by refining
// colours; Grohe et al., ESA 2014, shrink linear programs so). Max-min fair rates, started together, are the same for
// flows of one colour, so a folded collective takes what it takes in the whole, beside others too. A link that m flows
// of a colour share is m times on the way of the one that stands for them, or has 1/m of its capacity.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "sim/base/error.hpp"
#include "sim/des/routing.hpp"

namespace tessera {

namespace {

using Colour = std::uint64_t;

/// Colours that the flows of one kind may have, which are simulated each: where refining finds more, those of the round
/// before stay, and the busiest flow stands for its colour.
constexpr std::size_t kMostColours = 256;
constexpr int kMostRounds = 64;
constexpr double kMostMentions = 64;  // of a link on one way
constexpr double kSharesApart = 1e-9;

/// SplitMix64's finisher (Steele et al., OOPSLA 2014).
Colour mixed(Colour x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// All groups of one stage over one dimension, done one way.
struct Kind {
  std::span<CommunicationGroup> groups;
  std::span<std::uint32_t> group_of_rank;
  bool message = false;
  std::vector<std::pair<Flow*, Colour>> flows{};
  std::size_t colours = 0;
  bool frozen = false;
};

std::size_t number(const FlowLink& link) {
  return static_cast<std::size_t>(link.id);
}

/// The partition of flows and links by colours.
class Colouring {
 public:
  Colouring(std::vector<Kind>& kinds, const std::vector<Link>& links) : kinds_(kinds), of_link_(links.size()) {
    for (std::size_t l = 0; l < links.size(); ++l) of_link_[l] = mixed(std::hash<double>{}(links[l].bandwidth.value()));
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      for (CommunicationGroup& group : kinds[k].groups) {
        for (Flow& flow : group.flows) {
          const auto share = static_cast<Colour>(std::llround(flow.share / kSharesApart));
          kinds[k].flows.emplace_back(&flow, mixed(mixed(mixed(k) + share) + (flow.between_nodes ? 1 : 0)));
        }
      }
    }
    for (int round = 0; round < kMostRounds && refine(); ++round) {
    }
    colour_links();
  }
  [[nodiscard]] const std::vector<Colour>& of_link() const { return of_link_; }

 private:
  /// Links by what they carry.
  void colour_links() {
    std::vector<Colour> carried(of_link_.size());
    for (const Kind& kind : kinds_) {
      for (const auto& [flow, colour] : kind.flows) {
        for (const FlowLink& link : flow->links) carried[number(link)] += mixed(colour);
      }
    }
    for (std::size_t l = 0; l < carried.size(); ++l) of_link_[l] = mixed(of_link_[l] + carried[l]);
  }
  /// Links by flows, then flows by links; whether a colour fell apart.
  bool refine() {
    colour_links();
    bool finer = false;
    for (Kind& kind : kinds_) {
      if (!kind.frozen && recolour(kind)) finer = true;
    }
    return finer;
  }
  bool recolour(Kind& kind) {
    std::vector<Colour> fresh;
    fresh.reserve(kind.flows.size());
    std::unordered_set<Colour> distinct;
    for (const auto& [flow, colour] : kind.flows) {
      Colour sum = colour;
      for (const FlowLink& link : flow->links) sum += mixed(of_link_[number(link)]);
      fresh.push_back(mixed(sum));
      distinct.insert(fresh.back());
      if (distinct.size() <= kMostColours) continue;
      kind.frozen = true;
      return false;
    }
    for (std::size_t f = 0; f < fresh.size(); ++f) kind.flows[f].second = fresh[f];
    const bool finer = distinct.size() > kind.colours;
    kind.colours = distinct.size();
    return finer;
  }

  std::vector<Kind>& kinds_;
  std::vector<Colour> of_link_;
};

/// Seconds that the flows of a kind, of shares of a byte, would keep every link busy.
class Pressure {
 public:
  Pressure(const Kind& kind, const std::vector<Link>& links) : links_(links) {
    for (const auto& [flow, colour] : kind.flows) {
      for (const FlowLink& link : flow->links) shares_[link.id] += flow->share;
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

/// The flows that stand for their colours: of a kind that was not refined to the end the busiest, else the first.
std::vector<std::pair<Flow*, Colour>> representatives(const Kind& kind, const std::vector<Link>& links) {
  std::vector<std::pair<Flow*, Colour>> chosen;
  std::unordered_map<Colour, std::size_t> place;
  const Pressure pressure(kind.frozen ? kind : Kind{}, links);
  for (const auto& [flow, colour] : kind.flows) {
    const auto [at, fresh] = place.try_emplace(colour, chosen.size());
    if (fresh) {
      chosen.emplace_back(flow, colour);
    } else if (kind.frozen && pressure.on(*flow) > pressure.on(*chosen[at->second].first)) {
      chosen[at->second].first = flow;
    }
  }
  return chosen;
}

/// Of every colour of links the first, and how many flows of each colour take it.
class LinkClasses {
 public:
  LinkClasses(const std::vector<Kind>& kinds, const std::vector<Colour>& of_link) : of_link_(of_link) {
    for (std::size_t l = 0; l < of_link.size(); ++l) first_.try_emplace(of_link[l], l);
    for (const Kind& kind : kinds) {
      for (const auto& [flow, colour] : kind.flows) {
        for (const FlowLink& link : flow->links) {
          if (first_.at(of_link[number(link)]) == number(link)) ++copies_[mixed(colour) ^ number(link)];
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

/// One group for all of a kind, with the flows that stand for theirs.
CommunicationGroup folded_group(const Kind& kind, const LinkClasses& classes, const std::vector<Link>& links) {
  CommunicationGroup one{.members = kind.message ? 2 : 1, .shape = kind.groups.front().shape};
  for (const CommunicationGroup& group : kind.groups) {
    if (group.shape.nodes > one.shape.nodes) one.shape = group.shape;
    one.shape.longest_hop = max(one.shape.longest_hop, group.shape.longest_hop);
  }
  for (const auto& [flow, colour] : representatives(kind, links)) {
    one.flows.push_back(*flow);
    one.flows.back().links = classes.folded(*flow, colour);
  }
  return one;
}

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

}  // namespace

std::vector<Link> Routing::fold(const std::vector<Link>& links) {
  std::vector<Kind> kinds;
  for (auto& [way, group_of_rank] : group_of_rank_) {
    const std::size_t ranks = group_of_rank.size() / stages_;  // of a stage
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      const auto stage_groups = std::span(group_of_rank).subspan(stage * ranks, ranks);
      const auto [first, last] = std::ranges::minmax(stage_groups);
      if (first == kNoGroup) continue;  // messages that no neighbour receives
      kinds.push_back({.groups = std::span(&groups_[first], last - first + 1),
                       .group_of_rank = stage_groups,
                       .message = way.first == Dimension::next || way.first == Dimension::previous});
    }
  }
  const Colouring colouring(kinds, links);
  const LinkClasses classes(kinds, colouring.of_link());
  std::vector<CommunicationGroup> folded;
  for (const Kind& kind : kinds) {
    std::ranges::fill(kind.group_of_rank, static_cast<std::uint32_t>(folded.size()));
    folded.push_back(folded_group(kind, classes, links));
  }
  groups_ = std::move(folded);
  number_flows();
  units_ = units_of(groups_, links.size());
  std::vector<Link> scaled = links;
  for (std::size_t l = 0; l < links.size(); ++l)
    scaled[l].bandwidth = units_[l] > 0 ? links[l].bandwidth / units_[l] : BytesPerSec();
  return scaled;
}

}  // namespace tessera
