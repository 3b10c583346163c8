// The stages between any two downsets, priced when first asked for, and what the layers cost at least.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/place/pipeline/downsets.hpp"
#include "sim/place/pipeline/segment.hpp"

namespace tessera {

class StageTable {
 public:
  StageTable(const PipelineProblem& problem, const Downsets& sets, const PlacementRules& rules);

  /// Of the layers between two downsets at the problem's `width`-th width.
  const Segment& at(std::size_t width, std::size_t small, std::size_t large);

  /// Of the layers outside a downset, whatever their stages: time of one micro-batch that passes them, and device
  /// time that it takes. Both at the fastest pool's speed.
  [[nodiscard]] Seconds least_time(std::size_t set) const { return least_time_[set]; }
  [[nodiscard]] Seconds least_work(std::size_t set) const { return least_work_[set]; }

 private:
  const PipelineProblem& problem_;
  const Downsets& sets_;
  PlacementRules rules_;
  std::vector<LayerEdges> edges_;               // per width
  std::vector<std::vector<Segment>> segments_;  // per width, by pair
  std::vector<std::vector<bool>> made_;
  std::vector<Seconds> least_time_, least_work_;
};

}  // namespace tessera
