// The placement solvers against exhaustive search on small chains.
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "sim/place/pipeline/placement.hpp"
#include "tests/property/random_placement.hpp"

namespace tessera {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// The original's objective written down a second time, from its description and without the solver's code: all ways
/// to cut the chain, all replica counts.
class Exhaustive {
 public:
  explicit Exhaustive(const PipelineProblem& problem) : p_(problem) {}

  double best() {
    double best = kNever;
    for (const WidthProfile& profile : p_.widths)
      for (std::uint32_t mask = 0; mask < 1u << (p_.layers() - 1); ++mask)
        best = std::min(best, best_of(profile, mask));
    return best;
  }

 private:
  struct Stage {
    double load = 0, memory = 0, parameters = 0;
    int devices = 1;
  };

  double best_of(const WidthProfile& profile, std::uint32_t mask) const {
    std::vector<int> cuts{0};
    for (int layer = 1; layer < p_.layers(); ++layer)
      if ((mask >> (layer - 1) & 1) != 0) cuts.push_back(layer);
    cuts.push_back(p_.layers());
    const int stages = static_cast<int>(cuts.size()) - 1;
    double worst = 0, first = 0;
    int devices = 0;
    for (int s = 0; s < stages; ++s) {
      const auto at = static_cast<std::size_t>(s);
      const Stage stage = cost(profile, cuts[at], cuts[at + 1], stages - s);
      if (stage.memory > p_.pools[0].memory.value()) return kNever;
      worst = std::max(worst, stage.load);
      devices += stage.devices;
      if (s == 0) first = stage.parameters;
    }
    double best = kNever;
    for (int d = 1; d <= p_.micro_batches && d * devices <= p_.devices(); ++d) {
      const double rounds = std::ceil(static_cast<double>(p_.micro_batches) / d) + stages - 1;
      best = std::min(best, worst * rounds + 4.0 * (d - 1) / d * first / p_.network[0].bandwidth.value());
    }
    return best;
  }

  /// Waits for what comes from outside the stage, walking along the chain.
  [[nodiscard]] double walk(const WidthProfile& profile, int first, int end, bool transfers) const {
    double clock = 0;
    for (int layer = first; layer < end; ++layer) {
      for (const LayerEdge& edge : profile.edges)
        if (transfers && edge.to == layer && edge.from < first) clock = std::max(clock, arrival(edge));
      clock += profile.layers[static_cast<std::size_t>(layer)].forward.value();
    }
    return clock;
  }
  [[nodiscard]] double walk_back(const WidthProfile& profile, int first, int end, double start) const {
    double clock = start;
    for (int layer = end - 1; layer >= first; --layer) {
      for (const LayerEdge& edge : profile.edges)
        if (edge.from == layer && edge.to >= end) clock = std::max(clock, arrival(edge));
      clock += profile.layers[static_cast<std::size_t>(layer)].backward.value();
    }
    return clock;
  }
  [[nodiscard]] double arrival(const LayerEdge& edge) const {
    return edge.bytes / p_.network[0].bandwidth / Seconds(1);
  }

  [[nodiscard]] Stage cost(const WidthProfile& profile, int first, int end, int from_end) const {
    Stage stage;
    double activations = 0, boundary = 0;
    for (int layer = first; layer < end; ++layer) {
      const LayerCost& cost = profile.layers[static_cast<std::size_t>(layer)];
      stage.parameters += cost.parameters.value();
      activations += cost.activations.value();
      if (cost.tensor_parallel) stage.devices = profile.width;
    }
    for (const LayerEdge& edge : profile.edges)
      if (edge.from < first && edge.to >= first && edge.to < end) boundary += edge.bytes.value();
    const bool recompute = p_.recomputation && from_end > 1;
    stage.load = walk(profile, first, end, true) +
                 walk_back(profile, first, end, recompute ? walk(profile, first, end, false) : 0);
    stage.memory = (p_.optimizer == PipelineOptimizer::adam ? 3 : 2) * stage.parameters + activations +
                   (from_end - 1) * (p_.recomputation ? boundary : activations);
    return stage;
  }

  const PipelineProblem& p_;
};

TEST(PhazePlacement, EqualsExhaustiveSearchOn10000RandomChains) {
  Rng rng(20240613);
  int infeasible = 0;
  for (int i = 0; i < 10000; ++i) {
    const PipelineProblem problem = random_placement(rng);
    const double best = Exhaustive(problem).best();
    const PlanOutcome outcome = solve_phaze(problem);
    const auto* plan = std::get_if<PipelinePlan>(&outcome);
    ASSERT_EQ(plan != nullptr, best < kNever) << "case " << i;
    if (plan == nullptr) {
      ++infeasible;
      continue;
    }
    ASSERT_NEAR(plan->time.value() / best, 1, 1e-12) << "case " << i;
    const auto figures = evaluate(problem, *plan, PlacementRules::phaze());
    ASSERT_TRUE(std::holds_alternative<PlanFigures>(figures)) << "case " << i << ": " << std::get<NoPlan>(figures).why;
    ASSERT_NEAR(std::get<PlanFigures>(figures).time.value() / best, 1, 1e-12) << "case " << i;
  }
  EXPECT_GT(infeasible, 500);
  EXPECT_LT(infeasible, 5000);
}

}  // namespace
}  // namespace tessera
