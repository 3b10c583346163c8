#include "sim/place/tensor_groups.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tessera {
namespace {

std::vector<std::vector<int>> free_by_node(const ClusterSpec& cluster, std::span<const int> free_gpus) {
  std::vector<std::vector<int>> nodes(static_cast<std::size_t>(cluster.nodes));
  for (const int gpu : free_gpus) nodes.at(static_cast<std::size_t>(gpu / cluster.node.gpus)).push_back(gpu);
  for (auto& node : nodes) std::ranges::sort(node);
  return nodes;
}

GroupSlots inside_nodes(const std::vector<std::vector<int>>& nodes, std::size_t width) {
  GroupSlots result;
  for (const auto& node : nodes) {
    std::vector<std::vector<int>> slots;
    for (std::size_t first = 0; first + width <= node.size(); first += width)
      slots.emplace_back(node.begin() + static_cast<std::ptrdiff_t>(first),
                         node.begin() + static_cast<std::ptrdiff_t>(first + width));
    if (!slots.empty()) result.slots.push_back(std::move(slots));
  }
  return result;
}

GroupSlots over_whole_nodes(const std::vector<std::vector<int>>& nodes, std::size_t width, std::size_t per_node) {
  GroupSlots result;
  std::vector<int> group;
  for (const auto& node : nodes) {
    if (node.size() < per_node) {
      group.clear();  // a group's nodes are neighbours
      continue;
    }
    const std::size_t taken = std::min(per_node, width - group.size());
    group.insert(group.end(), node.begin(), node.begin() + static_cast<std::ptrdiff_t>(taken));
    if (group.size() == width) result.slots.emplace_back().push_back(std::exchange(group, {}));
  }
  return result;
}

}  // namespace

std::variant<GroupSlots, Infeasible> tensor_group_slots(const ParallelSpec& spec, const ClusterSpec& cluster,
                                                        std::span<const int> free_gpus) {
  if (free_gpus.size() < static_cast<std::size_t>(spec.world_size()))
    return Infeasible{fmt::format("{} ranks (tp {} x dp {}{}), but {} of {} GPUs are free", spec.world_size(), spec.tp,
                                  spec.dp, spec.programs() > 1 ? fmt::format(" x pp {}", spec.programs()) : "",
                                  free_gpus.size(), cluster.gpus())};
  const auto nodes = free_by_node(cluster, free_gpus);
  const auto width = static_cast<std::size_t>(spec.tp);
  const auto per_node = static_cast<std::size_t>(cluster.node.gpus);
  GroupSlots found = width <= per_node ? inside_nodes(nodes, width) : over_whole_nodes(nodes, width, per_node);
  std::size_t count = 0;
  for (const auto& unit : found.slots) count += unit.size();
  const int groups = spec.world_size() / spec.tp;
  if (count < static_cast<std::size_t>(groups))
    return Infeasible{
        fmt::format("the free GPUs hold {} tensor-parallel groups of {} inside nodes of {}, {} are needed", count,
                    spec.tp, cluster.node.gpus, groups)};
  return found;
}

PlacementResult packed_placement(const ParallelSpec& spec, const ClusterSpec& cluster, std::span<const int> free_gpus) {
  const auto found = tensor_group_slots(spec, cluster, free_gpus);
  if (const auto* no = std::get_if<Infeasible>(&found)) return *no;
  const auto world = static_cast<std::size_t>(spec.world_size());
  Placement placement;
  for (const auto& unit : std::get<GroupSlots>(found).slots)
    for (const auto& slot : unit)
      if (placement.gpu_of_rank.size() < world)
        placement.gpu_of_rank.insert(placement.gpu_of_rank.end(), slot.begin(), slot.end());
  return placement;
}

}  // namespace tessera
