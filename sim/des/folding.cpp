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

/// What all groups of one kind put on every link, per byte that a rank sends.
struct Load {
  std::vector<double> all, own;
  double seconds_per_byte = 0;  // of the slowest link
};

struct Folded {
  CommunicationGroup group;
  double seconds_per_byte = 0;
  int gpu = 0;
};

void add(std::vector<double>& load, const Flow& flow) {
  for (const FlowLink& link : flow.links) load[static_cast<std::size_t>(link.id)] += flow.share;
}

Load load_of(std::span<const CommunicationGroup> groups, int gpu, const std::vector<Link>& links) {
  Load load{std::vector<double>(links.size()), std::vector<double>(links.size()), 0};
  for (const CommunicationGroup& group : groups) {
    for (const Flow& flow : group.flows) {
      add(load.all, flow);
      if (flow.from == gpu) add(load.own, flow);
    }
  }
  for (std::size_t l = 0; l < links.size(); ++l) {
    if (load.all[l] > 0)
      load.seconds_per_byte = std::max(load.seconds_per_byte, load.all[l] / links[l].bandwidth.value());
  }
  return load;
}

/// Of all the groups, what `gpu` sends.
CommunicationGroup only_from(int gpu, std::span<CommunicationGroup> groups) {
  CommunicationGroup one{.size = groups.front().size};
  for (CommunicationGroup& group : groups) {
    one.step_latency = max(one.step_latency, group.step_latency);
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
  for (auto& [kind, group_of_rank] : group_of_rank_) {
    const std::size_t ranks = group_of_rank.size() / gpus.size();  // of a stage
    for (std::size_t stage = 0; stage < gpus.size(); ++stage) {
      const auto stage_groups = std::span(group_of_rank).subspan(stage * ranks, ranks);
      const auto [first, last] = std::ranges::minmax(stage_groups);
      if (first == kNoGroup) continue;  // messages that no neighbour receives
      const std::span<CommunicationGroup> groups(&groups_[first], last - first + 1);
      const Load load = load_of(groups, gpus[stage], links);
      CommunicationGroup one = only_from(gpus[stage], groups);
      if (kind.second == Spread::message) one.members = 2;
      for (Flow& flow : one.flows) {
        for (FlowLink& link : flow.links) {
          const auto l = static_cast<std::size_t>(link.id);
          link.copies = load.all[l] / load.own[l];
          copies[l] = std::min(copies[l], link.copies);
        }
      }
      std::ranges::fill(stage_groups, static_cast<std::uint32_t>(kinds.size()));
      kinds.push_back({std::move(one), load.seconds_per_byte, gpus[stage]});
    }
  }
  std::vector<Link> scaled = links;
  for (std::size_t l = 0; l < links.size(); ++l) scaled[l].bandwidth /= copies[l];
  groups_.clear();
  for (auto& [group, seconds_per_byte, gpu] : kinds) {
    const double own = load_of({&group, 1}, gpu, scaled).seconds_per_byte;
    if (seconds_per_byte > own * (1 + 1e-9)) group.slowest = BytesPerSec(1 / seconds_per_byte);
    groups_.push_back(std::move(group));
  }
  return scaled;
}

}  // namespace tessera
