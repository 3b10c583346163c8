#include "sim/graph/plan.hpp"

#include <array>

#include "sim/graph/planner.hpp"

namespace tessera {

std::string_view to_string(CollectiveKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"all_reduce", "all_gather", "reduce_scatter", "alltoall",
                                                   "send_recv"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Dimension dimension) {
  constexpr std::array<std::string_view, 7> kNames{"tp", "dp", "next stage", "previous stage", "cp", "ep", "edp"};
  return kNames[static_cast<std::size_t>(dimension)];
}

namespace {

/// Ranks of one dimension: `size` of them, `stride` apart.
struct Stride {
  int stride = 1, size = 1;
};
Stride stride_of(const ParallelSpec& spec, Dimension over, int stage_replicas) {
  const int replica = spec.tp * spec.cp;
  switch (over) {
    case Dimension::tp:
      return {1, spec.tp};
    case Dimension::cp:
      return {spec.tp, spec.cp};
    case Dimension::dp:
      return {spec.tp, spec.cp * spec.dp * stage_replicas};
    case Dimension::ep:
      return {replica, spec.ep};
    case Dimension::edp:
      return {replica * spec.ep, spec.dp / spec.ep * stage_replicas};
    case Dimension::next:
    case Dimension::previous:
      break;
  }
  return {spec.ranks_per_program(), spec.programs()};
}

}  // namespace

std::vector<Rank> Plan::group(Rank rank, Dimension over, int away) const {
  const int self = static_cast<int>(rank), world = spec.world_size();
  const int stage = spec.stage_of(program_of(rank));
  const auto [stride, size] = stride_of(spec, over, spec.replicas_of(stage));
  if (over == Dimension::next || over == Dimension::previous) {
    const int other = self + (over == Dimension::next ? away : -away) * stride;
    if ((other < 0 || other >= world) && !wraps) return {};
    return {rank, static_cast<Rank>((other + world) % world)};
  }
  const int inside = self - spec.first_program(stage) * spec.ranks_per_program();
  const int first = self - inside / stride % size * stride;
  std::vector<Rank> ranks;
  ranks.reserve(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) ranks.push_back(static_cast<Rank>(first + i * stride));
  return ranks;
}

Plan make_plan(const Graph& graph, const ParallelSpec& spec) {
  return Planner(graph, spec).run();
}

}  // namespace tessera
