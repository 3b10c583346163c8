#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "sim/base/text.hpp"
#include "sim/place/pipeline/placement.hpp"
#include "sim/place/pipeline/seats.hpp"
#include "sim/place/pipeline/segment.hpp"

namespace tessera {
namespace {

const WidthProfile* profile_of(const PipelineProblem& problem, int width) {
  const auto found = std::ranges::find(problem.widths, width, &WidthProfile::width);
  return found == problem.widths.end() ? nullptr : &*found;
}

std::string stage_error(const PipelineProblem& problem, const PipelineStage& stage, std::size_t number) {
  if (!std::ranges::is_sorted(stage.layers)) return fmt::format("the layers of stage {} are not ascending", number);
  if (profile_of(problem, stage.width) == nullptr)
    return fmt::format("stage {} has tensor width {}, for which there are no costs", number, stage.width);
  if (stage.replicas < 1) return fmt::format("stage {} has {} replicas", number, stage.replicas);
  if (stage.pool < 0 || stage.pool >= static_cast<int>(problem.pools.size()))
    return fmt::format("stage {} is on pool {} of {}", number, stage.pool, problem.pools.size());
  if (stage.recompute && !problem.recomputation) return fmt::format("stage {} recomputes, which is off", number);
  return "";
}

/// Every layer once, edges never backwards.
std::string order_error(const PipelineProblem& problem, const PipelinePlan& plan) {
  std::vector<int> stage_of(static_cast<std::size_t>(problem.layers()), -1);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (std::string error = stage_error(problem, plan.stages[s], s); !error.empty()) return error;
    for (const int layer : plan.stages[s].layers) {
      if (layer < 0 || layer >= problem.layers()) return fmt::format("stage {} has layer {}, which is none", s, layer);
      int& at = stage_of[static_cast<std::size_t>(layer)];
      if (at >= 0) return fmt::format("layer {} is in stages {} and {}", layer, at, s);
      at = static_cast<int>(s);
    }
  }
  const auto missing = std::ranges::find(stage_of, -1);
  if (missing != stage_of.end()) return fmt::format("layer {} is in no stage", missing - stage_of.begin());
  for (const LayerEdge& edge : problem.widths.front().edges) {
    const int from = stage_of[static_cast<std::size_t>(edge.from)], to = stage_of[static_cast<std::size_t>(edge.to)];
    if (from > to) return fmt::format("layer {} of stage {} feeds stage {}", edge.from, from, to);
  }
  return "";
}

std::string seats_error(const PipelineProblem& problem, const PipelinePlan& plan) {
  if (plan.replicas < 1 || plan.replicas > problem.micro_batches)
    return fmt::format("{} replicas for {} micro-batches", plan.replicas, problem.micro_batches);
  if (plan.chunks < 1 || static_cast<int>(plan.stages.size()) % plan.chunks != 0)
    return fmt::format("{} stages in {} chunks per device", plan.stages.size(), plan.chunks);
  for (std::size_t pool = 0; pool < problem.pools.size(); ++pool) {
    const std::int64_t used = devices_in(plan, problem, static_cast<int>(pool));
    if (used > problem.pools[pool].devices)
      return fmt::format("{} devices{} are needed, there are {}", used,
                         problem.pools.size() > 1 ? " of " + problem.pools[pool].name : "",
                         problem.pools[pool].devices);
  }
  if (plan.chunks == 1) return "";
  const std::size_t devices = plan.stages.size() / static_cast<std::size_t>(plan.chunks);
  for (std::size_t s = devices; s < plan.stages.size(); ++s) {
    const PipelineStage &a = plan.stages[s], &b = plan.stages[s % devices];
    if (a.width != b.width || a.pool != b.pool || a.replicas != 1 || b.replicas != 1)
      return fmt::format("stages {} and {} are chunks of one device, but sit differently", s % devices, s);
  }
  return "";
}

class Evaluator {
 public:
  Evaluator(const PipelineProblem& problem, const PipelinePlan& plan, const PlacementRules& rules)
      : problem_(problem), plan_(plan), rules_(rules) {}

  std::variant<PlanFigures, NoPlan> run() {
    for (std::size_t s = plan_.stages.size(); s-- > 0;) add_stage(s);
    std::ranges::reverse(figures_.stages);
    if (const auto full = over_memory()) return *full;
    figures_.time = plan_.chunks == 1 ? plain_time() : interleaved_time();
    return figures_;
  }

 private:
  void add_stage(std::size_t s) {
    const PipelineStage& stage = plan_.stages[s];
    const WidthProfile& profile = *profile_of(problem_, stage.width);
    const Segment segment =
        make_segment(profile, LayerEdges(profile), stage.layers, rules_, problem_.network.back().bandwidth);
    const Seating seating = seat(segment, stage, plan_.replicas, plan_.order, problem_);
    after_ += stage.replicas;
    StageFigures figures{.load = stage_load(segment, seating, stage.recompute, problem_),
                         .sync = stage_sync(segment, seating, problem_, rules_),
                         .memory = Bytes(0),
                         .in_flight = in_flight(s)};
    figures.memory = stage_memory(segment, figures.in_flight, stage.recompute, seating.sync_replicas, problem_, rules_);
    figures_.stages.push_back(figures);
  }

  [[nodiscard]] std::int64_t rounds(std::size_t s) const {
    return rounds_of(problem_, plan_.replicas, plan_.stages[s].replicas);
  }
  [[nodiscard]] int in_flight(std::size_t s) const {
    if (plan_.chunks == 1) return tessera::in_flight(after_, plan_.stages[s].replicas, rounds(s), rules_);
    return interleaved_in_flight(s);
  }
  /// Forward passes of one chunk that device j of p has open at most, of (2 (p-1-j) + (v-1) p + 1) of all its v chunks
  /// (Narayanan et al., arXiv 2104.04473; Megatron-LM's warm-up): chunk c is the deeper the earlier.
  [[nodiscard]] int interleaved_in_flight(std::size_t s) const {
    const auto devices = static_cast<int>(plan_.stages.size()) / plan_.chunks;
    const int device = static_cast<int>(s) % devices;
    const int open = 2 * (devices - 1 - device) + (plan_.chunks - 1) * devices + 1;
    const int full_groups = open / (plan_.chunks * devices), rest = open % (plan_.chunks * devices);
    const int chunk = static_cast<int>(s) / devices;
    const int own = full_groups * devices + std::clamp(rest - chunk * devices, 0, devices);
    return static_cast<int>(std::min<std::int64_t>(std::max(1, own), rounds(s)));
  }

  [[nodiscard]] std::optional<NoPlan> over_memory() const {
    Bytes worst;
    std::string why;
    const std::size_t devices = plan_.stages.size() / static_cast<std::size_t>(plan_.chunks);
    for (std::size_t j = 0; j < devices; ++j) {
      Bytes sum;
      for (std::size_t s = j; s < plan_.stages.size(); s += devices) sum += figures_.stages[s].memory;
      const Bytes limit = problem_.pools[static_cast<std::size_t>(plan_.stages[j].pool)].memory;
      if (sum <= limit || sum - limit <= worst) continue;
      worst = sum - limit;
      why = fmt::format("stage {} needs {} per device, of {} that there are", j, format(sum), format(limit));
    }
    if (why.empty()) return std::nullopt;
    return NoPlan{why, worst};
  }

  [[nodiscard]] Seconds slowest_sync() const {
    if (rules_.first_stage_sync_only) return figures_.stages.front().sync;
    Seconds slowest;
    const std::size_t devices = plan_.stages.size() / static_cast<std::size_t>(plan_.chunks);
    for (std::size_t j = 0; j < devices; ++j) {
      Seconds sum;
      for (std::size_t s = j; s < figures_.stages.size(); s += devices) sum += figures_.stages[s].sync;
      slowest = max(slowest, sum);
    }
    return slowest;
  }

  [[nodiscard]] Seconds plain_time() const {
    PipelineTime time;
    for (std::size_t s = plan_.stages.size(); s-- > 0;) time.add(figures_.stages[s].load, rounds(s));
    return time.total(rules_, static_cast<int>(plan_.stages.size())) + slowest_sync();
  }

  /// The busiest device works without gaps but for (devices - 1) of the largest chunk (Narayanan et al., section 2.2).
  [[nodiscard]] Seconds interleaved_time() const {
    const std::size_t devices = plan_.stages.size() / static_cast<std::size_t>(plan_.chunks);
    Seconds busiest, largest;
    for (std::size_t j = 0; j < devices; ++j) {
      Seconds sum;
      for (std::size_t s = j; s < figures_.stages.size(); s += devices) {
        sum += figures_.stages[s].load;
        largest = max(largest, figures_.stages[s].load);
      }
      busiest = max(busiest, sum);
    }
    return busiest * static_cast<double>(rounds(0)) + largest * static_cast<double>(devices - 1) + slowest_sync();
  }

  const PipelineProblem& problem_;
  const PipelinePlan& plan_;
  const PlacementRules& rules_;
  PlanFigures figures_;
  int after_ = 0;  // stage replicas from the current stage to the end
};

}  // namespace

std::variant<PlanFigures, NoPlan> evaluate(const PipelineProblem& problem, const PipelinePlan& plan,
                                           const PlacementRules& rules) {
  // Each check relies on those before it.
  std::string error = problem_error(problem);
  if (error.empty()) error = order_error(problem, plan);
  if (error.empty()) error = seats_error(problem, plan);
  if (!error.empty()) return NoPlan{std::move(error)};
  return Evaluator(problem, plan, rules).run();
}

}  // namespace tessera
