#include "sim/place/pipeline/stage_table.hpp"

#include <algorithm>

namespace tessera {
namespace {

std::size_t pair_index(std::size_t small, std::size_t large) {
  return large * (large - 1) / 2 + small;
}

}  // namespace

StageTable::StageTable(const PipelineProblem& problem, const Downsets& sets, const PlacementRules& rules)
    : problem_(problem), sets_(sets), rules_(rules), least_time_(sets.size()), least_work_(sets.size()) {
  for (const WidthProfile& profile : problem.widths) {
    edges_.emplace_back(profile);
    segments_.emplace_back(pair_index(0, sets.size()));
    made_.emplace_back(pair_index(0, sets.size()));
  }
  std::vector<Seconds> time, work;
  double speed = 0;
  for (const DevicePool& pool : problem.pools) speed = std::max(speed, pool.speed_ratio);
  for (std::size_t layer = 0; layer < problem.widths.front().layers.size(); ++layer) {
    for (const WidthProfile& profile : problem.widths) {
      const LayerCost& cost = profile.layers[layer];
      const Seconds each = (cost.forward + cost.backward) / speed;
      const Seconds all = each * (cost.tensor_parallel ? profile.width : 1);
      if (&profile == &problem.widths.front()) {
        time.push_back(each);
        work.push_back(all);
      }
      time[layer] = min(time[layer], each);
      work[layer] = min(work[layer], all);
    }
  }
  for (std::size_t set = 0; set + 1 < sets.size(); ++set) {
    for (const int layer : sets.between(set, sets.size() - 1)) {
      least_time_[set] += time[static_cast<std::size_t>(layer)];
      least_work_[set] += work[static_cast<std::size_t>(layer)];
    }
  }
}

const Segment& StageTable::at(std::size_t width, std::size_t small, std::size_t large) {
  const std::size_t pair = pair_index(small, large);
  Segment& segment = segments_[width][pair];
  if (!made_[width][pair]) {
    made_[width][pair] = true;
    segment = make_segment(problem_.widths[width], edges_[width], sets_.between(small, large), rules_,
                           problem_.network.back().bandwidth);
  }
  return segment;
}

}  // namespace tessera
