#include "sim/des/colouring.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_set>

namespace tessera {

namespace {

/// Colours that the flows of one kind may have, which are simulated each: where refining finds more, those of the round
/// before stay, and the busiest flow stands for its colour. Small clusters are exact, large ones fast.
std::size_t most_colours(std::size_t ranks) {
  return std::max<std::size_t>(16, 4096 / ranks);
}
constexpr int kMostRounds = 64;
constexpr double kSharesApart = 1e-9;

std::size_t number(const FlowLink& link) {
  return static_cast<std::size_t>(link.id);
}

std::size_t distinct(const std::vector<Colour>& colours) {
  return std::unordered_set<Colour>(colours.begin(), colours.end()).size();
}

}  // namespace

Colour mixed(Colour x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

Colouring::Colouring(std::vector<GroupKind>& kinds, const std::vector<Link>& links, std::vector<Colour> sorts,
                     bool ranks_apart)
    : kinds_(kinds), of_rank_(std::move(sorts)), ranks_apart_(ranks_apart) {
  begin(links);
  for (int round = 0; round < kMostRounds && refine(); ++round) {
  }
  for (GroupKind& kind : kinds_) {
    for (GroupKind::Coloured& flow : kind.flows) flow.colour = mixed(flow.colour + mixed(kind.of_group[flow.group]));
  }
  colour_links();
}

void Colouring::begin(const std::vector<Link>& links) {
  of_link_.clear();
  for (const Link& link : links) of_link_.push_back(mixed(std::hash<double>{}(link.bandwidth.value())));
  rank_colours_ = distinct(of_rank_);
  flow_colours_.assign(kinds_.size(), 0);
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    GroupKind& kind = kinds_[k];
    kind.coarse = false;
    kind.of_group.assign(kind.groups.size(), mixed(k));
    kind.flows.clear();
    for (std::size_t g = 0; g < kind.groups.size(); ++g) {
      for (Flow& flow : kind.groups[g].flows) {
        const auto share = static_cast<Colour>(std::llround(flow.share / kSharesApart));
        kind.flows.push_back({&flow, g, mixed(mixed(mixed(k) + share) + 2 * flow.step + (flow.between_nodes ? 1 : 0))});
      }
    }
  }
}

/// Links by flows, flows by links and groups, groups by flows and ranks, ranks by groups; whether a colour fell apart.
bool Colouring::refine() {
  colour_links();
  bool finer = false;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (!kinds_[k].coarse && recolour_flows(kinds_[k])) finer = true;
  }
  if (!ranks_apart_) return finer;
  for (GroupKind& kind : kinds_) colour_groups(kind);
  return colour_ranks() || finer;
}

void Colouring::colour_links() {
  std::vector<Colour> carried(of_link_.size());
  for (const GroupKind& kind : kinds_) {
    for (const GroupKind::Coloured& flow : kind.flows) {
      for (const FlowLink& link : flow.flow->links) carried[number(link)] += mixed(flow.colour);
    }
  }
  for (std::size_t l = 0; l < carried.size(); ++l) of_link_[l] = mixed(of_link_[l] + carried[l]);
}

bool Colouring::recolour_flows(GroupKind& kind) {
  std::vector<Colour> fresh;
  fresh.reserve(kind.flows.size());
  std::unordered_set<Colour> found;
  for (const GroupKind::Coloured& flow : kind.flows) {
    Colour sum = flow.colour + mixed(kind.of_group[flow.group]);
    for (const FlowLink& link : flow.flow->links) sum += mixed(of_link_[number(link)]);
    fresh.push_back(mixed(sum));
    found.insert(fresh.back());
    if (found.size() <= most_colours(of_rank_.size())) continue;
    kind.coarse = true;
    return false;
  }
  for (std::size_t f = 0; f < fresh.size(); ++f) kind.flows[f].colour = fresh[f];
  std::size_t& before = flow_colours_[static_cast<std::size_t>(&kind - kinds_.data())];
  return found.size() > std::exchange(before, found.size());
}

void Colouring::colour_groups(GroupKind& kind) {
  std::vector<Colour> sums = kind.of_group;
  for (const GroupKind::Coloured& flow : kind.flows) sums[flow.group] += mixed(flow.colour);
  for (std::size_t g = 0; g < sums.size(); ++g) {
    Colour place = 0;
    for (const Rank rank : kind.groups[g].ranks) {
      sums[g] += mixed(of_rank_[static_cast<std::size_t>(rank)] + place);
      if (kind.message) ++place;  // the receiver is not like the sender
    }
    kind.of_group[g] = mixed(sums[g]);
  }
}

bool Colouring::colour_ranks() {
  std::vector<Colour> sums = of_rank_;
  for (const GroupKind& kind : kinds_) {
    for (std::size_t g = 0; g < kind.groups.size(); ++g) {
      Colour place = 0;
      for (const Rank rank : kind.groups[g].ranks) {
        sums[static_cast<std::size_t>(rank)] += mixed(kind.of_group[g] + place);
        if (kind.message) ++place;
      }
    }
  }
  for (std::size_t r = 0; r < sums.size(); ++r) of_rank_[r] = mixed(sums[r]);
  const std::size_t found = distinct(of_rank_);
  return found > std::exchange(rank_colours_, found);
}

}  // namespace tessera
