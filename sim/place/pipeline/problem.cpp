#include "sim/place/pipeline/problem.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tessera {
namespace {

using EdgeList = std::vector<std::pair<int, int>>;

EdgeList edge_list(const WidthProfile& profile) {
  EdgeList list;
  for (const LayerEdge& edge : profile.edges) list.emplace_back(edge.from, edge.to);
  std::ranges::sort(list);
  return list;
}

bool negative(const LayerCost& layer) {
  return layer.forward < Seconds(0) || layer.backward < Seconds(0) || layer.parameters < Bytes(0) ||
         layer.activations < Bytes(0);
}

std::string profile_error(const WidthProfile& profile, const WidthProfile& first) {
  const auto layers = static_cast<int>(profile.layers.size());
  if (profile.width < 1) return fmt::format("a tensor width of {}, expected 1 or more", profile.width);
  if (profile.layers.size() != first.layers.size())
    return fmt::format("width {} has {} layers, width {} has {}", profile.width, layers, first.width,
                       first.layers.size());
  const auto bad = std::ranges::find_if(profile.layers, negative);
  if (bad != profile.layers.end())
    return fmt::format("width {}: layer {} has a negative cost", profile.width, bad - profile.layers.begin());
  for (const LayerEdge& edge : profile.edges) {
    if (edge.from < 0 || edge.to >= layers || edge.from >= edge.to || edge.bytes < Bytes(0))
      return fmt::format(
          "width {}: an edge of {} B from layer {} to {}, expected from a lower to a higher of {} layers",
          profile.width, edge.bytes.value(), edge.from, edge.to, layers);
  }
  if (edge_list(profile) != edge_list(first))
    return fmt::format("width {} has other edges than width {}", profile.width, first.width);
  return "";
}

std::string network_error(const PipelineProblem& problem) {
  if (problem.network.empty()) return "no network level";
  int inner = 0;
  for (const NetworkLevel& level : problem.network) {
    if (level.devices <= inner)
      return fmt::format("a network level of {} devices outside one of {}", level.devices, inner);
    if (!(level.bandwidth > BytesPerSec(0))) return "a network level without bandwidth";
    if (level.latency < Seconds(0)) return "a network level with a negative latency";
    inner = level.devices;
  }
  return "";
}

}  // namespace

int PipelineProblem::devices() const {
  int sum = 0;
  for (const DevicePool& pool : pools) sum += pool.devices;
  return sum;
}

const NetworkLevel& PipelineProblem::level_of(std::int64_t span) const {
  const auto found = std::ranges::find_if(network, [&](const NetworkLevel& level) { return level.devices >= span; });
  return found == network.end() ? network.back() : *found;
}

std::string problem_error(const PipelineProblem& problem) {
  if (problem.widths.empty() || problem.widths.front().layers.empty()) return "no layers";
  int width = 0;
  for (const WidthProfile& profile : problem.widths) {
    if (std::string error = profile_error(profile, problem.widths.front()); !error.empty()) return error;
    if (profile.width <= width) return fmt::format("width {} after width {}, expected ascending", profile.width, width);
    width = profile.width;
  }
  if (problem.pools.empty()) return "no devices";
  for (const DevicePool& pool : problem.pools) {
    if (pool.devices < 1) return fmt::format("a pool of {} devices, expected 1 or more", pool.devices);
    if (!(pool.speed_ratio > 0)) return fmt::format("a pool of speed {}, expected more than 0", pool.speed_ratio);
  }
  if (problem.micro_batches < 1) return fmt::format("{} micro-batches, expected 1 or more", problem.micro_batches);
  if (problem.zero_stage < 0 || problem.zero_stage > 3)
    return fmt::format("ZeRO stage {}, expected 0 to 3", problem.zero_stage);
  return network_error(problem);
}

}  // namespace tessera
