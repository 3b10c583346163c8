// The original's placement: papers' dynamic programme over (layers left, stages left).
// For all stages of one width the number of devices is implied by the number of stages, so the table has no device
// dimension; where layers need different widths a cell holds the few (devices, bottleneck) pairs that matter.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "sim/base/text.hpp"
#include "sim/place/pipeline/chain_costs.hpp"
#include "sim/place/pipeline/placement.hpp"

namespace tessera {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// A way to place the layers from `first` to the end in some number of stages.
struct Cell {
  double worst = kInfinite;  // load of the slowest stage, or memory of the fullest
  int devices = 0;
  int end = 0;            // of its first stage
  std::size_t after = 0;  // cell of the rest
};

struct Best {
  Seconds time{kInfinite};
  const WidthProfile* profile = nullptr;
  int replicas = 1;
  std::vector<int> cuts;  // first layer of every stage
};

class Table {
 public:
  Table(const ChainCosts& costs, int devices, Bytes memory) : costs_(costs), devices_(devices), memory_(memory) {
    const int layers = costs.layers(), stages = std::min(layers, devices);
    cells_.resize(static_cast<std::size_t>(stages + 1),
                  std::vector<std::vector<Cell>>(static_cast<std::size_t>(layers + 1)));
    at(0, layers).push_back({.worst = 0});
    narrowest_ = costs.stage(0, 1).devices;
    for (int layer = 1; layer < layers; ++layer)
      narrowest_ = std::min(narrowest_, costs.stage(layer, layer + 1).devices);
  }

  /// Fills the table of loads; `visit(stages, cell)` sees every way to place all the layers.
  template <class Visit>
  void loads(Visit visit) {
    fill(
        [&](const ChainCosts::Stage& stage, int from_end) {
          return ChainCosts::memory(stage, from_end) <= memory_ ? ChainCosts::load(stage, from_end).value() : kInfinite;
        },
        [&](const ChainCosts::Stage& stage) { return stage.constant > memory_ ? kInfinite : stage.compute.value(); },
        visit);
  }
  /// The same with the fullest device's memory in place of the load.
  [[nodiscard]] Bytes least_memory() {
    double least = kInfinite;
    fill([](const ChainCosts::Stage& stage, int from_end) { return ChainCosts::memory(stage, from_end).value(); },
         [](const ChainCosts::Stage& stage) { return stage.constant.value(); },
         [&](int, const Cell& cell) { least = std::min(least, cell.worst); });
    return Bytes(least);
  }
  [[nodiscard]] std::vector<int> cuts(int stages, const Cell& first) const {
    std::vector<int> result{0};
    const Cell* cell = &first;
    for (int s = stages - 1; s > 0; --s) {
      result.push_back(cell->end);
      cell = &cells_[static_cast<std::size_t>(s)][static_cast<std::size_t>(cell->end)][cell->after];
    }
    return result;
  }

 private:
  std::vector<Cell>& at(int stages, int first) {
    return cells_[static_cast<std::size_t>(stages)][static_cast<std::size_t>(first)];
  }

  /// `worth` of a stage with so many stages to the end; `bound`: below it, and growing with the stage.
  template <class Worth, class Bound, class Visit>
  void fill(Worth worth, Bound bound, Visit visit) {
    for (int s = 1; s < static_cast<int>(cells_.size()); ++s) {
      for (int first = costs_.layers() - s; first > 0; --first) fill_cell(s, first, worth, bound);
      finish(s, worth, visit);
    }
  }

  template <class Worth, class Bound>
  void fill_cell(int s, int first, Worth worth, Bound bound) {
    std::vector<Cell>& found = at(s, first);
    for (int end = first + 1; end <= costs_.layers() - s + 1; ++end) {
      const ChainCosts::Stage& stage = costs_.stage(first, end);
      // The one way that is there has the fewest devices possible: only a lower load could join it.
      const bool closed = found.size() == 1 && found.front().devices == s * narrowest_;
      if (bound(stage) >= (closed ? found.front().worst : kInfinite)) break;
      if (at(s - 1, end).empty()) continue;
      const double own = worth(stage, s);
      if (own < kInfinite) extend(found, stage.devices, own, end, at(s - 1, end));
    }
  }

  /// The first stage's parameters count besides the bottleneck, so that every way is shown.
  template <class Worth, class Visit>
  void finish(int s, Worth worth, Visit visit) {
    for (int end = 1; end <= costs_.layers() - s + 1; ++end) {
      const std::vector<Cell>& rest = at(s - 1, end);
      const double own = worth(costs_.stage(0, end), s);
      for (std::size_t after = 0; after < rest.size(); ++after) {
        const Cell cell{std::max(own, rest[after].worst), rest[after].devices + costs_.stage(0, end).devices, end,
                        after};
        if (cell.devices <= devices_ && cell.worst < kInfinite) visit(s, cell);
      }
    }
  }

  /// Adds a stage in front of every way to place the rest.
  void extend(std::vector<Cell>& found, int devices, double own, int end, const std::vector<Cell>& rest) const {
    for (std::size_t after = 0; after < rest.size(); ++after) {
      const Cell cell{std::max(own, rest[after].worst), rest[after].devices + devices, end, after};
      if (cell.devices > devices_) continue;
      const auto beats = [](const Cell& a, const Cell& b) { return a.devices <= b.devices && a.worst <= b.worst; };
      if (std::ranges::any_of(found, [&](const Cell& other) { return beats(other, cell); })) continue;
      std::erase_if(found, [&](const Cell& other) { return beats(cell, other); });
      found.push_back(cell);
    }
  }

  const ChainCosts& costs_;
  int devices_, narrowest_ = 1;
  Bytes memory_;
  std::vector<std::vector<std::vector<Cell>>> cells_;
};

/// Replica counts worth trying: the smallest for each number of micro-batches that a replica gets, since more only
/// cost gradient sums.
std::vector<int> replica_counts(std::int64_t micro_batches, int devices) {
  const std::int64_t most = std::min<std::int64_t>(devices, micro_batches);
  std::vector<int> counts;
  for (std::int64_t d = 1; d <= most;) {
    counts.push_back(static_cast<int>(d));
    const std::int64_t each = (micro_batches + d - 1) / d;
    if (each == 1) break;
    d = (micro_batches + each - 2) / (each - 1);
  }
  return counts;
}

class Solver {
 public:
  explicit Solver(const PipelineProblem& problem)
      : problem_(problem), counts_(replica_counts(problem.micro_batches, problem.devices())) {}

  void solve(const WidthProfile& profile, const ChainCosts& costs) {
    const Bytes memory = problem_.pools.front().memory;
    Table table(costs, problem_.devices(), memory);
    table.loads([&](int stages, const Cell& cell) { close(profile, costs, table, stages, cell); });
  }
  [[nodiscard]] const Best& best() const { return best_; }

 private:
  void close(const WidthProfile& profile, const ChainCosts& costs, const Table& table, int stages, const Cell& cell) {
    const Bytes first = problem_.training ? costs.stage(0, cell.end).parameters : Bytes();
    const std::int64_t batch = problem_.micro_batches, most = problem_.devices() / cell.devices;
    const std::int64_t fewest_rounds = (batch + std::min(most, batch) - 1) / std::min(most, batch) + stages - 1;
    if (Seconds(cell.worst) * static_cast<double>(fewest_rounds) >= best_.time) return;
    for (const int d : counts_) {
      if (d > most) break;
      const std::int64_t rounds = (batch + d - 1) / d + stages - 1;
      const Seconds time = Seconds(cell.worst) * static_cast<double>(rounds) +
                           4.0 * (d - 1) * first / problem_.network.back().bandwidth / d;
      if (time < best_.time) best_ = {time, &profile, d, table.cuts(stages, cell)};
    }
  }

  const PipelineProblem& problem_;
  std::vector<int> counts_;
  Best best_;
};

PipelinePlan plan_of(const Best& best, const PipelineProblem& problem) {
  PipelinePlan plan{.replicas = best.replicas, .time = best.time, .exact = true};
  const auto stages = best.cuts.size();
  for (std::size_t s = 0; s < stages; ++s) {
    const int end = s + 1 < stages ? best.cuts[s + 1] : problem.layers();
    PipelineStage stage{.width = best.profile->width, .recompute = problem.recomputation && s + 1 < stages};
    stage.layers.resize(static_cast<std::size_t>(end - best.cuts[s]));
    std::iota(stage.layers.begin(), stage.layers.end(), best.cuts[s]);
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

}  // namespace

PlanOutcome solve_phaze(const PipelineProblem& problem) {
  if (std::string error = problem_error(problem); !error.empty()) return NoPlan{std::move(error)};
  if (problem.pools.size() > 1) return NoPlan{"the original places on devices of one kind only"};
  const LayerEdges order(problem.widths.front());
  if (!order.chain())
    return NoPlan{fmt::format("layers {} and {} are not linked; the original places chains only", order.first_gap(),
                              order.first_gap() + 1)};
  Solver solver(problem);
  for (const WidthProfile& profile : problem.widths)
    solver.solve(profile, ChainCosts(profile, LayerEdges(profile), problem));
  if (solver.best().profile != nullptr) return plan_of(solver.best(), problem);

  Bytes least{kInfinite};
  for (const WidthProfile& profile : problem.widths) {
    const ChainCosts costs(profile, LayerEdges(profile), problem);
    least = min(least, Table(costs, problem.devices(), problem.pools.front().memory).least_memory());
  }
  if (least == Bytes(kInfinite))
    return NoPlan{fmt::format("tensor width {} needs more than the {} devices that there are",
                              problem.widths.front().width, problem.devices())};
  const Bytes memory = problem.pools.front().memory;
  return NoPlan{
      fmt::format("the least that a plan needs is {} per device, of {} that there are", format(least), format(memory)),
      least - memory};
}

}  // namespace tessera
