#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/base/text.hpp"
#include "sim/place/pipeline/search_parts.hpp"
#include "sim/place/pipeline/seats.hpp"
#include "sim/place/pipeline/stage_table.hpp"

namespace tessera {
namespace {

constexpr Bytes kInfinite{std::numeric_limits<double>::infinity()};

/// The fullest device's memory for 1, 2, ... stages of the problem's `width`-th width, the least over all cuts.
class FullestDevice {
 public:
  FullestDevice(const PipelineProblem& problem, const PlacementRules& rules, const Downsets& sets, StageTable& table,
                std::size_t width, int replicas)
      : problem_(problem), rules_(rules), sets_(sets), table_(table), width_(width), replicas_(replicas) {}

  [[nodiscard]] Bytes least() {
    const int stages = std::min(problem_.layers(), problem_.devices() / replicas_ / devices());
    std::vector<Bytes> rest(sets_.size(), kInfinite);
    rest.front() = Bytes(0);
    Bytes least = kInfinite;
    for (int after = 1; after <= stages; ++after) {
      rest = with_a_stage(rest, after);
      least = min(least, rest.back());
    }
    return least;
  }

 private:
  /// Of any stage: a lower bound where some layers are not tensor-parallel.
  [[nodiscard]] int devices() const {
    const WidthProfile& profile = problem_.widths[width_];
    return std::ranges::all_of(profile.layers, &LayerCost::tensor_parallel) ? profile.width : 1;
  }
  [[nodiscard]] std::vector<Bytes> with_a_stage(const std::vector<Bytes>& rest, int after) {
    std::vector<Bytes> result(sets_.size(), kInfinite);
    const int kept = in_flight(after, 1, rounds_of(problem_, replicas_, 1), rules_);
    for (std::size_t large = 1; large < sets_.size(); ++large) {
      for (std::size_t small = 0; small < large; ++small) {
        if (rest[small] >= result[large] || !sets_.inside(small, large)) continue;
        const Segment& segment = table_.at(width_, small, large);
        Bytes memory = stage_memory(segment, kept, false, replicas_, problem_, rules_);
        if (problem_.recomputation)
          memory = min(memory, stage_memory(segment, kept, true, replicas_, problem_, rules_));
        result[large] = min(result[large], max(rest[small], memory));
      }
    }
    return result;
  }

  const PipelineProblem& problem_;
  const PlacementRules& rules_;
  const Downsets& sets_;
  StageTable& table_;
  std::size_t width_;
  int replicas_;
};

}  // namespace

NoPlan least_memory(const PipelineProblem& problem, const PlannerOptions& options, const Downsets& sets) {
  StageTable table(problem, sets, options.rules);
  Bytes least = kInfinite, most;
  for (const DevicePool& pool : problem.pools) most = max(most, pool.memory);
  for (std::size_t width = 0; width < problem.widths.size(); ++width)
    for (const int replicas : pipeline_replica_counts(problem, options.equal_shares))
      least = min(least, FullestDevice(problem, options.rules, sets, table, width, replicas).least());
  if (least == kInfinite)
    return {fmt::format("tensor width {} needs more than the {} devices that there are", problem.widths.front().width,
                        problem.devices()),
            Bytes(0)};
  if (least <= most)
    return {fmt::format("plans that fit need more than the {} devices that there are", problem.devices()), Bytes(0)};
  return {
      fmt::format("the least that a plan needs is {} per device, of {} that there are", format(least), format(most)),
      least - most};
}

}  // namespace tessera
