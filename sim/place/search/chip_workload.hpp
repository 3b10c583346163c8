// One model trained on many devices of one kind of chip: what a chip gives, and what it could give at best.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/place/chip/chip_rules.hpp"
#include "sim/place/chip/layer_estimator.hpp"
#include "sim/place/chip/layer_graph.hpp"
#include "sim/place/chip/systolic.hpp"
#include "sim/place/pipeline/placement.hpp"
#include "sim/place/pipeline/problem.hpp"
#include "sim/place/schedule/ilp.hpp"
#include "sim/place/schedule/schedule.hpp"

namespace tessera {

/// The system around the chip.
struct TrainingSystem {
  int devices = 1024;
  Bytes memory;                       // HBM of one device
  std::vector<NetworkLevel> network;  // innermost first
  std::int64_t batch = 4096;          // samples of one optimizer step
  bool recomputation = true;          // plans may recompute
  PipelineOptimizer optimizer = PipelineOptimizer::adam;
  int zero_stage = 0;
};

/// Nodes of the search of operator schedules that close most chips with two tensor cores or more; milliseconds.
inline constexpr std::int64_t kThoroughNodes = 20'000;

/// How chips are judged.
struct Judgement {
  ChipRules chip{};
  PlannerOptions planner{};            // of the corrected placement
  std::optional<ExpertPlan> expert{};  // the only plan there is, where given
  bool original_placement = false;     // the original's dynamic programme under its own rules
  std::int64_t schedule_nodes = 0;     // of the search that follows list schedules of operators; 0: none

  [[nodiscard]] PlacementRules rules() const;
  static Judgement phaze();       // as released
  static Judgement phaze_fork();  // one unit of time; what the public log ran
};

struct LayerTimes {
  Seconds forward, backward;
  double gap = 0;  // of the operator schedules: (found - proven) / found, the larger of both
  Joules forward_energy{}, backward_energy{};  // of one device, beside its idle power
};

/// What one chip gives.
struct ChipResult {
  bool feasible = false;
  std::string why{};  // not feasible
  Bytes short_of{};   // not for memory: 0
  Seconds step{};     // of one batch
  double samples_per_second = 0;
  PipelinePlan plan{};
  std::vector<std::vector<LayerTimes>> layers{};  // by width, by distinct layer
  double gap = 0;   // largest of the layers: no schedules give more than samples_per_second / (1 - gap)
  Joules energy{};  // of one batch on all devices in use
  Watts power{};    // of one device in use, mean over a step
};

/// One pass of one layer scheduled twice.
struct SolvedPass {
  std::string layer;
  Direction direction = Direction::forward;
  Schedule own;
  IlpSchedule programme;
};

/// Prepared once; const and safe from several threads.
class ChipWorkload {
 public:
  ChipWorkload(const ChipModel& model, TrainingSystem system, const Judgement& judgement);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const TrainingSystem& system() const { return system_; }
  [[nodiscard]] std::int64_t micro_batch() const { return micro_batch_; }
  [[nodiscard]] PlacementRules rules() const { return judgement_.rules(); }

  /// No plan gives more: perfect pipelines on all devices, every layer at its proven bound, no recomputation, no device
  /// idle.
  struct Ideal {
    double samples_per_second = 0, samples_per_joule = 0;
  };
  [[nodiscard]] Ideal ideal(const SystolicChip& chip) const;
  /// No operator schedules give more under this planner, where it is exact (no stage replicas, no interleaving): the
  /// placement of the layers' bounds. Below `least` it is any number below.
  [[nodiscard]] double bound_samples_per_second(const SystolicChip& chip, double least = 0) const;
  /// Operator schedules and placement.
  [[nodiscard]] ChipResult evaluate(const SystolicChip& chip) const;
  /// The same operator schedules under an expert's plan.
  [[nodiscard]] ChipResult evaluate_expert(const SystolicChip& chip, const ExpertPlan& expert, bool shifted) const;

  /// The same operator schedules under any plan, whatever it was made for.
  [[nodiscard]] ChipResult evaluate_plan(const SystolicChip& chip, const PipelinePlan& plan) const;
  /// The best of different plans by their cost, best first: with at most so many stages for several limits,
  /// interleaved, by the original's programme, by Megatron-LM's advice, data-parallel. For a search's own comparison of
  /// them.
  [[nodiscard]] std::vector<ChipResult> best_plans(const SystolicChip& chip, std::size_t count) const;
  /// Layers without the sums over the tensor-parallel group, by width, by distinct layer.
  [[nodiscard]] std::vector<std::vector<LayerTimes>> compute_times(const SystolicChip& chip) const;
  /// One pass of every distinct layer of a width through the integer linear programme, where operators do not share
  /// ports, and by our own search. Forks: call it before any thread exists.
  [[nodiscard]] std::vector<SolvedPass> solve_passes(const SystolicChip& chip, int width, const IlpOptions& options,
                                                     std::span<const LinearSolver> installed = linear_solvers()) const;
  /// Of the widths: which distinct layer each layer is.
  [[nodiscard]] std::vector<int> layer_order(int width) const { return widths_[width_index(width)].order; }
  [[nodiscard]] std::size_t width_index(int width) const;

  /// The placement problem of layers with these times.
  [[nodiscard]] PipelineProblem problem(const std::vector<std::vector<LayerTimes>>& times) const;

 private:
  struct Width {
    int width = 1;
    std::vector<LayerEstimator> distinct;
    std::vector<int> order;
    Bytes boundary;
  };
  struct Costs;

  /// `sums`: with those over the tensor-parallel group.
  [[nodiscard]] Costs costs(const SystolicChip& chip, std::optional<std::int64_t> nodes, bool sums = true) const;
  [[nodiscard]] double samples_per_second(Seconds step) const;
  [[nodiscard]] ChipResult finish(const SystolicChip& chip, Costs costs, PlanOutcome outcome) const;
  /// `cutoff`: see PlannerOptions.
  [[nodiscard]] PlanOutcome place(const PipelineProblem& problem, Seconds cutoff = {}) const;

  std::string name_;
  std::int64_t micro_batch_;
  TrainingSystem system_;
  Judgement judgement_;
  std::vector<Width> widths_;
};

}  // namespace tessera
