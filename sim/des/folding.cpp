// Folding: every rank of a pipeline stage runs the same program, so one of them is simulated, and of the network what
// it sends itself. Stages do not share links in this: each is folded as if it had the network to itself.
// A link that m symmetric flows share has 1/m of its capacity for the one that stands for them. Alone, a folded
// collective takes exactly as long as its slowest flow in the whole; beside another collective it is exact where
// both are shared by the same number of flows, and otherwise the smaller number is taken.
#include <algorithm>
#include <limits>
#include <span>

#include "sim/base/error.hpp"
#include "sim/des/routing.hpp"

namespace tessera {

namespace {

/// What flows put on every link, per byte of volume: inside nodes, and between them.
struct Load {
  explicit Load(std::size_t links) : inside(links), between(links) {}
  std::vector<double> inside, between;
  void add(const Flow& flow) {
    std::vector<double>& load = flow.between_nodes ? between : inside;
    for (const FlowLink& link : flow.links) load[static_cast<std::size_t>(link.id)] += flow.share;
  }
  [[nodiscard]] double both(std::size_t link) const { return inside[link] + between[link]; }
  [[nodiscard]] SlowestFlows slowest(const std::vector<Link>& links) const {
    Seconds in, out, any;  // per byte
    for (std::size_t l = 0; l < links.size(); ++l) {
      if (both(l) <= 0) continue;
      in = max(in, Bytes(inside[l]) / links[l].bandwidth);
      out = max(out, Bytes(between[l]) / links[l].bandwidth);
      any = max(any, Bytes(both(l)) / links[l].bandwidth);
    }
    const auto rate = [](Seconds per_byte) { return per_byte > Seconds() ? Bytes(1) / per_byte : BytesPerSec(); };
    return {{rate(in), rate(out)}, rate(any)};
  }
};

struct Folded {
  CommunicationGroup group;
  SlowestFlows whole;
};

/// What all groups of a kind put on the links, and what `gpu` alone does.
struct Loads {
  Load all, own;
};
Loads loads_of(std::span<const CommunicationGroup> groups, int gpu, std::size_t links) {
  Loads loads{Load(links), Load(links)};
  for (const CommunicationGroup& group : groups) {
    for (const Flow& flow : group.flows) {
      loads.all.add(flow);
      if (flow.from == gpu) loads.own.add(flow);
    }
  }
  return loads;
}

/// Those of `whole` that are below what the flows kept would reach.
SlowestFlows slower_than_own(const SlowestFlows& whole, const SlowestFlows& own) {
  const auto below = [](BytesPerSec all, BytesPerSec mine) {
    const bool limits = all > BytesPerSec() && (mine == BytesPerSec() || all * (1 + 1e-9) < mine);
    return limits ? all : BytesPerSec();
  };
  return {{below(whole.rates.inside, own.rates.inside), below(whole.rates.between, own.rates.between)},
          below(whole.together, own.together)};
}

/// Of all the groups, what `gpu` sends.
CommunicationGroup only_from(int gpu, std::span<CommunicationGroup> groups) {
  CommunicationGroup one{.shape = groups.front().shape};
  for (CommunicationGroup& group : groups) {
    if (group.shape.nodes > one.shape.nodes) one.shape = group.shape;
    one.shape.longest_hop = max(one.shape.longest_hop, group.shape.longest_hop);
    for (Flow& flow : group.flows) {
      if (flow.from == gpu) one.flows.push_back(std::move(flow));
    }
  }
  return one;
}

}  // namespace

std::vector<Link> Routing::fold(std::span<const int> gpus, const std::vector<Link>& links) {
  constexpr double kUnused = std::numeric_limits<double>::infinity();
  std::vector<double> copies(links.size(), kUnused);  // the fewest over the kinds of collective
  std::vector<Folded> kinds;
  for (auto& [way, group_of_rank] : group_of_rank_) {
    const std::size_t ranks = group_of_rank.size() / gpus.size();  // of a stage
    for (std::size_t stage = 0; stage < gpus.size(); ++stage) {
      const auto stage_groups = std::span(group_of_rank).subspan(stage * ranks, ranks);
      const auto [first, last] = std::ranges::minmax(stage_groups);
      if (first == kNoGroup) continue;  // messages that no neighbour receives
      const std::span<CommunicationGroup> groups(&groups_[first], last - first + 1);
      const Loads loads = loads_of(groups, gpus[stage], links.size());
      CommunicationGroup one = only_from(gpus[stage], groups);
      if (way.first == Dimension::next || way.first == Dimension::previous) one.members = 2;
      for (Flow& flow : one.flows) {
        for (FlowLink& link : flow.links) {
          const auto l = static_cast<std::size_t>(link.id);
          link.copies = loads.all.both(l) / loads.own.both(l);
          copies[l] = std::min(copies[l], link.copies);
        }
      }
      std::ranges::fill(stage_groups, static_cast<std::uint32_t>(kinds.size()));
      kinds.push_back({std::move(one), loads.all.slowest(links)});
    }
  }
  std::vector<Link> scaled = links;
  for (std::size_t l = 0; l < links.size(); ++l) scaled[l].bandwidth /= copies[l];
  groups_.clear();
  for (auto& [group, whole] : kinds) {
    Load own(links.size());
    for (const Flow& flow : group.flows) own.add(flow);
    group.others = slower_than_own(whole, own.slowest(scaled));
    groups_.push_back(std::move(group));
  }
  return scaled;
}

}  // namespace tessera
