#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "sim/place/pipeline/search_parts.hpp"
#include "sim/place/pipeline/seats.hpp"

namespace tessera {
namespace {

constexpr std::array kChunks{2, 3, 4, 6, 8};
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Cuts into any number of contiguous chunks whose largest load is the least possible.
class EvenCuts {
 public:
  EvenCuts(const PipelineProblem& problem, const WidthProfile& profile, const PlacementRules& rules)
      : layers_(problem.layers()), width_(static_cast<std::size_t>(layers_ + 1)) {
    const LayerEdges edges(profile);
    std::vector<double> load(width_ * width_);
    std::vector<int> layers;
    for (int first = 0; first < layers_; ++first) {
      layers.clear();
      for (int end = first + 1; end <= layers_; ++end) {
        layers.push_back(end - 1);
        const Segment segment = make_segment(profile, edges, layers, rules, problem.network.back().bandwidth);
        const Seating seating{.transfers = problem.network.back(), .sums = problem.network.back()};
        load[at(first, end)] = stage_load(segment, seating, false, problem).value();
      }
    }
    worst_.assign(width_ * width_, kInfinite);
    end_.assign(width_ * width_, 0);
    worst_[at(0, layers_)] = 0;
    for (int chunks = 1; chunks <= layers_; ++chunks)
      for (int first = layers_ - chunks; first >= 0; --first) cut(chunks, first, load);
  }

  /// First layers of the chunks.
  [[nodiscard]] std::vector<int> cuts(int chunks) const {
    std::vector<int> result{0};
    for (; chunks > 1; --chunks) result.push_back(end_[at(chunks, result.back())]);
    return result;
  }

 private:
  void cut(int chunks, int first, const std::vector<double>& load) {
    double& worst = worst_[at(chunks, first)];
    for (int end = first + 1; end <= layers_ - chunks + 1; ++end) {
      const double candidate = std::max(load[at(first, end)], worst_[at(chunks - 1, end)]);
      if (candidate >= worst) continue;
      worst = candidate;
      end_[at(chunks, first)] = end;
    }
  }
  [[nodiscard]] std::size_t at(int row, int column) const {
    return static_cast<std::size_t>(row) * width_ + static_cast<std::size_t>(column);
  }

  int layers_;
  std::size_t width_;
  std::vector<double> worst_;  // by number of chunks and first layer
  std::vector<int> end_;       // of the first chunk
};

PipelinePlan interleaved(const PipelineProblem& problem, const std::vector<int>& cuts, int width, int chunks,
                         bool recompute) {
  PipelinePlan plan;
  plan.chunks = chunks;
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    const int end = c + 1 < cuts.size() ? cuts[c + 1] : problem.layers();
    PipelineStage stage{.width = width, .recompute = recompute};
    stage.layers.resize(static_cast<std::size_t>(end - cuts[c]));
    std::iota(stage.layers.begin(), stage.layers.end(), cuts[c]);
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

void try_replicas(const PipelineProblem& problem, const PlannerOptions& options, const PipelinePlan& plan, int devices,
                  PipelinePlan& best) {
  for (const int replicas : pipeline_replica_counts(problem, options.equal_shares)) {
    const std::int64_t rounds = rounds_of(problem, replicas, 1);
    if (std::int64_t{replicas} * plan.devices(problem) > problem.devices() || rounds % devices != 0) continue;
    PipelinePlan candidate = plan;
    candidate.replicas = replicas;
    const auto figures = evaluate(problem, candidate, options.rules);
    const auto* found = std::get_if<PlanFigures>(&figures);
    if (found == nullptr || (!best.stages.empty() && found->time >= best.time)) continue;
    candidate.time = found->time;
    best = std::move(candidate);
  }
}

}  // namespace

void improve_by_interleaving(const PipelineProblem& problem, const PlannerOptions& options, PipelinePlan& best) {
  if (problem.pools.size() > 1) return;
  for (const WidthProfile& profile : problem.widths) {
    const EvenCuts even(problem, profile, options.rules);
    for (const int chunks : kChunks) {
      const int most = std::min(problem.layers() / chunks, problem.devices());
      for (int devices = 2; devices <= most; ++devices) {
        if (options.most_stages > 0 && devices > options.most_stages) break;
        for (const bool recompute : {false, true}) {
          if (recompute && !problem.recomputation) continue;
          const auto plan = interleaved(problem, even.cuts(devices * chunks), profile.width, chunks, recompute);
          try_replicas(problem, options, plan, devices, best);
        }
      }
    }
  }
}

}  // namespace tessera
