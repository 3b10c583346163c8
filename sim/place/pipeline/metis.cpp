#include <metis.h>

#include <algorithm>
#include <numeric>

#include "sim/base/error.hpp"
#include "sim/place/pipeline/baselines.hpp"
#include "sim/place/pipeline/segment.hpp"

namespace tessera {
namespace {

constexpr double kScale = 1e6;  // METIS weighs in integers; sums of all stay below 2^31

/// Some layers without directions, weighed by compute and bytes, in METIS's compressed rows.
struct MetisGraph {
  std::vector<idx_t> rows{0}, neighbours, edge_weights, weights;
};

class Bisection {
 public:
  explicit Bisection(const WidthProfile& profile) : profile_(profile), edges_(profile) {
    for (const LayerCost& layer : profile.layers) compute_ += layer.forward + layer.backward;
    for (const LayerEdge& edge : profile.edges) bytes_ += edge.bytes;
  }

  /// The part of each layer, none of them empty; `count`: no more than layers.
  std::vector<int> parts(int count) {
    part_.assign(profile_.layers.size(), 0);
    std::vector<int> all(profile_.layers.size());
    std::iota(all.begin(), all.end(), 0);
    divide(all, 0, count);
    return part_;
  }

 private:
  /// METIS's own recursion prints when it runs out of layers, so that this one calls it for two parts at a time.
  void divide(const std::vector<int>& layers, int first, int count) {
    if (count == 1) {
      for (const int layer : layers) part_[static_cast<std::size_t>(layer)] = first;
      return;
    }
    const int left = count / 2;
    const auto side = bisect(layers, static_cast<real_t>(left) / static_cast<real_t>(count));
    std::vector<int> halves[2];
    for (std::size_t i = 0; i < layers.size(); ++i) halves[side[i] == 0 ? 0 : 1].push_back(layers[i]);
    refill(halves[0], halves[1], left);
    refill(halves[1], halves[0], count - left);
    divide(halves[0], first, left);
    divide(halves[1], first + left, count - left);
  }

  /// METIS balances weight, not number: a side must have a layer for each of its parts.
  static void refill(std::vector<int>& poor, std::vector<int>& rich, int least) {
    while (static_cast<int>(poor.size()) < least) {
      poor.push_back(rich.back());
      rich.pop_back();
    }
    std::ranges::sort(poor);
  }

  [[nodiscard]] MetisGraph graph_of(const std::vector<int>& layers) const {
    const auto weigh = [](double part, double whole) {
      return static_cast<idx_t>(1 + kScale * (whole > 0 ? part / whole : 0));
    };
    MetisGraph graph;
    const auto add = [&](int other, Bytes size) {
      const auto at = std::ranges::lower_bound(layers, other);
      if (at == layers.end() || *at != other) return;
      graph.neighbours.push_back(static_cast<idx_t>(at - layers.begin()));
      graph.edge_weights.push_back(weigh(size.value(), bytes_.value()));
    };
    for (const int layer : layers) {
      const LayerCost& cost = profile_.layers[static_cast<std::size_t>(layer)];
      graph.weights.push_back(weigh((cost.forward + cost.backward).value(), compute_.value()));
      for (const LayerEdge& edge : edges_.into(layer)) add(edge.from, edge.bytes);
      for (const LayerEdge& edge : edges_.out_of(layer)) add(edge.to, edge.bytes);
      graph.rows.push_back(static_cast<idx_t>(graph.neighbours.size()));
    }
    return graph;
  }

  [[nodiscard]] std::vector<idx_t> bisect(const std::vector<int>& layers, real_t left) const {
    MetisGraph graph = graph_of(layers);
    auto count = static_cast<idx_t>(layers.size()), constraints = idx_t{1}, parts = idx_t{2}, cut = idx_t{0};
    real_t shares[] = {left, 1 - left};
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    std::vector<idx_t> side(layers.size());
    const int done = METIS_PartGraphRecursive(&count, &constraints, graph.rows.data(), graph.neighbours.data(),
                                              graph.weights.data(), nullptr, graph.edge_weights.data(), &parts, shares,
                                              nullptr, options, &cut, side.data());
    TESSERA_ASSERT(done == METIS_OK, "a layer graph is one that METIS takes");
    return side;
  }

  const WidthProfile& profile_;
  LayerEdges edges_;
  Seconds compute_;
  Bytes bytes_;
  std::vector<int> part_;
};

PipelinePlan consecutive(const std::vector<int>& part_of_layer, int parts, int width) {
  std::vector<double> sum(static_cast<std::size_t>(parts));
  std::vector<int> size(static_cast<std::size_t>(parts));
  for (std::size_t layer = 0; layer < part_of_layer.size(); ++layer) {
    sum[static_cast<std::size_t>(part_of_layer[layer])] += static_cast<double>(layer);
    ++size[static_cast<std::size_t>(part_of_layer[layer])];
  }
  std::vector<std::size_t> order(sum.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t part) { return sum[part] / size[part]; });
  PipelinePlan plan;
  int first = 0;
  for (const std::size_t part : order) {
    PipelineStage stage{.width = width};
    stage.layers.resize(static_cast<std::size_t>(size[part]));
    std::iota(stage.layers.begin(), stage.layers.end(), first);
    first += size[part];
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

/// As many replicas as there are devices for; recomputing before the last stage only if it does not fit otherwise.
void offer(const PipelineProblem& problem, PipelinePlan plan, const PlacementRules& rules, PlanOutcome& best) {
  const int devices = plan.devices(problem);
  if (devices > problem.devices()) return;
  plan.replicas = static_cast<int>(std::min<std::int64_t>(problem.devices() / devices, problem.micro_batches));
  for (const bool recompute : {false, true}) {
    if (recompute && !problem.recomputation) return;
    for (std::size_t s = 0; s + 1 < plan.stages.size(); ++s) plan.stages[s].recompute = recompute;
    const auto figures = evaluate(problem, plan, rules);
    const auto* known = std::get_if<PipelinePlan>(&best);
    if (const auto* found = std::get_if<PlanFigures>(&figures)) {
      if (known != nullptr && known->time <= found->time) return;
      plan.time = found->time;
      best = plan;
      return;
    }
    if (known == nullptr) best = std::get<NoPlan>(figures);
  }
}

}  // namespace

PlanOutcome metis_plan(const PipelineProblem& problem, const PlacementRules& rules) {
  if (std::string error = problem_error(problem); !error.empty()) return NoPlan{std::move(error)};
  PlanOutcome best = NoPlan{"the narrowest width needs more devices than there are"};
  for (const WidthProfile& profile : problem.widths) {
    Bisection bisection(profile);
    for (int count = 1; count <= std::min(problem.layers(), problem.devices()); ++count)
      offer(problem, consecutive(bisection.parts(count), count, profile.width), rules, best);
  }
  return best;
}

}  // namespace tessera
