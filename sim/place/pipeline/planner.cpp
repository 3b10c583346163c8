// The corrected search: labels over downsets. A label is a way to place the layers of a downset at the pipeline's end;
// it is dropped when another is at least as good in everything that can still matter, or when even the best end that
// its remaining layers could get is no better than the incumbent. That is exact for each replica count tried, unless a
// downset collects more labels than kMostLabels (then PipelinePlan::exact is false).
#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "sim/base/text.hpp"
#include "sim/place/pipeline/downsets.hpp"
#include "sim/place/pipeline/placement.hpp"
#include "sim/place/pipeline/search_parts.hpp"
#include "sim/place/pipeline/seats.hpp"
#include "sim/place/pipeline/stage_table.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMostDownsets = 512, kMostLabels = 128, kMostPools = 4;
constexpr std::array kStageReplicas{1, 2, 3, 4};
constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

/// One stage of some layers, whatever comes after it.
struct Move {
  std::size_t width = 0, small = 0;  // width: index; small: the downset of what comes after
  int pool = 0, replicas = 1;
  int devices = 1;
  std::int64_t rounds = 1, sync_replicas = 1;
  Seconds load{}, recomputing_load{}, sync{};
};

struct Label {
  std::array<int, kMostPools> used{};
  int after = 0, stages = 0;  // stage replicas and stages, from here to the end
  PipelineTime time{};
  Seconds sync{};
  Move move{};
  bool recompute = false;
  std::size_t rest = 0;  // label of move.small
};

class Search {
 public:
  Search(const PipelineProblem& problem, const PlannerOptions& options, const Downsets& sets)
      : problem_(problem), options_(options), sets_(sets), table_(problem, sets, options.rules) {}

  void incumbent(const PipelinePlan& plan) {
    if (best_.stages.empty() || plan.time < best_.time) best_ = plan;
  }
  /// Replica counts by the best time that they could give, then every one that could beat the incumbent.
  void run() {
    std::vector<std::pair<Seconds, int>> counts;
    for (const int replicas : pipeline_replica_counts(problem_, options_.equal_shares))
      counts.emplace_back(least(replicas), replicas);
    std::ranges::sort(counts);
    for (const auto& [bound, replicas] : counts) {
      if (bound >= best_time()) break;
      run(replicas, DeviceOrder::replicas_adjacent);
      if (options_.device_orders && problem_.network.size() > 1) run(replicas, DeviceOrder::stages_adjacent);
    }
  }
  [[nodiscard]] const PipelinePlan& best() const { return best_; }
  [[nodiscard]] bool exact() const { return exact_; }

 private:
  [[nodiscard]] Seconds best_time() const {
    const Seconds best = best_.stages.empty() ? kNever : best_.time;
    return options_.cutoff > Seconds() ? min(best, options_.cutoff) : best;
  }

  [[nodiscard]] double power(int replicas, const std::array<int, kMostPools>& used) const {
    double sum = 0, fastest = 0;
    for (std::size_t p = 0; p < problem_.pools.size(); ++p) {
      const DevicePool& pool = problem_.pools[p];
      sum += (pool.devices / replicas - used[p]) * pool.speed_ratio;
      fastest = std::max(fastest, pool.speed_ratio);
    }
    return sum / fastest;
  }
  /// What the busiest stage of the layers outside `set` does after the first micro-batch, at least.
  [[nodiscard]] Seconds least_rest(std::size_t set, int replicas, double power) const {
    if (set + 1 == sets_.size()) return Seconds(0);
    const double rounds = static_cast<double>(problem_.micro_batches) / replicas - kStageReplicas.back();
    return power > 0 ? table_.least_work(set) / power * std::max(0.0, rounds) : kNever;
  }
  [[nodiscard]] Seconds least(int replicas) const {
    return table_.least_time(0) + least_rest(0, replicas, power(replicas, {}));
  }

  void run(int replicas, DeviceOrder order) {
    replicas_ = replicas;
    order_ = order;
    labels_.assign(sets_.size(), {});
    labels_.front().push_back({});
    for (std::size_t large = 1; large < sets_.size(); ++large) {
      for (std::size_t small = large; small-- > 0;)
        if (!labels_[small].empty() && sets_.inside(small, large)) extend(small, large);
    }
  }

  void extend(std::size_t small, std::size_t large) {
    const auto options = options_.stage_replicas ? std::span(kStageReplicas) : std::span(kStageReplicas).first(1);
    for (std::size_t width = 0; width < problem_.widths.size(); ++width) {
      const Segment& segment = table_.at(width, small, large);
      for (int pool = 0; pool < static_cast<int>(problem_.pools.size()); ++pool)
        for (const int replicas : options) extend(segment, width, small, large, pool, replicas);
    }
  }
  void extend(const Segment& segment, std::size_t width, std::size_t small, std::size_t large, int pool, int replicas) {
    if (std::int64_t{replicas} * replicas_ > problem_.micro_batches) return;
    const PipelineStage stage{.width = problem_.widths[width].width, .replicas = replicas, .pool = pool};
    const Seating seating = seat(segment, stage, replicas_, order_, problem_);
    if (seating.devices * replicas > problem_.pools[static_cast<std::size_t>(pool)].devices / replicas_) return;
    if (!fits(segment, 1, false, seating.sync_replicas, pool)) return;
    Move move{
        width, small, pool, replicas, seating.devices, rounds_of(problem_, replicas_, replicas), seating.sync_replicas};
    move.load = stage_load(segment, seating, false, problem_);
    if (move.load * static_cast<double>(move.rounds) >= best_time()) return;
    move.recomputing_load = stage_load(segment, seating, true, problem_);
    move.sync = stage_sync(segment, seating, problem_, options_.rules);
    for (std::size_t rest = 0; rest < labels_[small].size(); ++rest) add(segment, move, rest, large);
  }

  [[nodiscard]] bool fits(const Segment& segment, int in_flight, bool recompute, std::int64_t sync_replicas,
                          int pool) const {
    return stage_memory(segment, in_flight, recompute, sync_replicas, problem_, options_.rules) <=
           problem_.pools[static_cast<std::size_t>(pool)].memory;
  }

  void add(const Segment& segment, const Move& move, std::size_t rest, std::size_t large) {
    Label label = labels_[move.small][rest];
    const auto pool = static_cast<std::size_t>(move.pool);
    label.used[pool] += move.devices * move.replicas;
    if (label.used[pool] > problem_.pools[pool].devices / replicas_) return;
    if (options_.most_stages > 0 && label.stages >= options_.most_stages) return;
    const bool inner = label.after > 0;
    label.after += move.replicas;
    const int kept = in_flight(label.after, move.replicas, move.rounds, options_.rules);
    label.recompute = !options_.stage_recompute && problem_.recomputation && inner;
    if (options_.stage_recompute && problem_.recomputation && inner)
      label.recompute = !fits(segment, kept, false, move.sync_replicas, move.pool);
    if (!fits(segment, kept, label.recompute, move.sync_replicas, move.pool)) return;
    ++label.stages;
    label.time.add(label.recompute ? move.recomputing_load : move.load, move.rounds);
    label.sync = options_.rules.first_stage_sync_only ? move.sync : max(label.sync, move.sync);
    label.move = move;
    label.rest = rest;
    if (bound(label, large) >= best_time()) return;
    if (large + 1 == sets_.size()) return finish(label);
    insert(labels_[large], label);
  }

  [[nodiscard]] Seconds bound(const Label& label, std::size_t set) const {
    PipelineTime time = label.time;
    time.first += table_.least_time(set);
    time.rest = max(time.rest, least_rest(set, replicas_, power(replicas_, label.used)));
    const bool open = set + 1 < sets_.size();
    const Seconds sync = open && options_.rules.first_stage_sync_only ? Seconds(0) : label.sync;
    return time.total(options_.rules, label.stages + (open ? 1 : 0)) + sync;
  }

  [[nodiscard]] bool beats(const Label& a, const Label& b) const {
    for (std::size_t p = 0; p < problem_.pools.size(); ++p)
      if (a.used[p] > b.used[p]) return false;
    if (a.after > b.after || a.time.rest > b.time.rest) return false;
    if (!options_.rules.first_stage_sync_only && a.sync > b.sync) return false;
    if (options_.rules.slowest_stage_fill || options_.most_stages > 0) {
      if (a.stages > b.stages) return false;
    }
    return options_.rules.slowest_stage_fill ? a.time.slowest <= b.time.slowest : a.time.first <= b.time.first;
  }

  void insert(std::vector<Label>& labels, const Label& label) {
    if (std::ranges::any_of(labels, [&](const Label& other) { return beats(other, label); })) return;
    std::erase_if(labels, [&](const Label& other) { return beats(label, other); });
    if (labels.size() < kMostLabels) return labels.push_back(label);
    exact_ = false;
    const auto total = [&](const Label& l) { return l.time.total(options_.rules, l.stages) + l.sync; };
    const auto worst = std::ranges::max_element(labels, {}, [&](const Label& l) { return total(l).value(); });
    if (total(label) < total(*worst)) *worst = label;
  }

  void finish(const Label& last) {
    PipelinePlan plan;
    plan.replicas = replicas_;
    plan.order = order_;
    plan.time = last.time.total(options_.rules, last.stages) + last.sync;
    std::size_t large = sets_.size() - 1;
    const Label* label = &last;
    while (large > 0) {
      const Move& move = label->move;
      plan.stages.push_back({.layers = sets_.between(move.small, large),
                             .width = problem_.widths[move.width].width,
                             .replicas = move.replicas,
                             .pool = move.pool,
                             .recompute = label->recompute});
      large = move.small;
      label = &labels_[move.small][label->rest];
    }
    best_ = std::move(plan);
  }

  const PipelineProblem& problem_;
  const PlannerOptions& options_;
  const Downsets& sets_;
  StageTable table_;
  PipelinePlan best_;
  bool exact_ = true;
  std::vector<std::vector<Label>> labels_;  // per downset
  int replicas_ = 1;
  DeviceOrder order_ = DeviceOrder::replicas_adjacent;
};

/// The original's plan as it does under these rules, if it fits.
void offer_uniform(Search& search, const PipelineProblem& problem, const PlannerOptions& options) {
  PlanOutcome outcome = solve_phaze(problem);
  auto* plan = std::get_if<PipelinePlan>(&outcome);
  if (plan == nullptr) return;
  if (options.most_stages > 0 && static_cast<int>(plan->stages.size()) > options.most_stages) return;
  if (options.equal_shares && problem.micro_batches % plan->replicas != 0) return;
  for (const auto order : {DeviceOrder::replicas_adjacent, DeviceOrder::stages_adjacent}) {
    plan->order = order;
    const auto figures = evaluate(problem, *plan, options.rules);
    if (const auto* found = std::get_if<PlanFigures>(&figures)) {
      plan->time = found->time;
      search.incumbent(*plan);
    }
    if (!options.device_orders) return;
  }
}

/// Searches the widths one by one, so that each has bounds of its own; `best`: the incumbent. False: not exact.
bool search_each_width(const PipelineProblem& problem, const PlannerOptions& options, const Downsets& sets,
                       PipelinePlan& best) {
  bool exact = true;
  for (const WidthProfile& profile : problem.widths) {
    PipelineProblem one = problem;
    one.widths = {profile};
    Search search(one, options, sets);
    if (!best.stages.empty()) search.incumbent(best);
    search.run();
    best = search.best();
    exact = exact && search.exact();
  }
  return exact;
}

}  // namespace

std::vector<int> pipeline_replica_counts(const PipelineProblem& problem, bool equal_shares) {
  const auto most = static_cast<int>(std::min<std::int64_t>(problem.devices(), problem.micro_batches));
  const auto rounds = [&](int d) { return (problem.micro_batches + d - 1) / d; };
  std::vector<int> counts;
  for (int d = 1; d <= most; ++d) {
    const bool fewer_rounds = d == 1 || rounds(d) < rounds(d - 1);
    const bool most_for_its_devices = d == most || problem.devices() / (d + 1) < problem.devices() / d;
    if (equal_shares ? problem.micro_batches % d == 0 : fewer_rounds || most_for_its_devices) counts.push_back(d);
  }
  return counts;
}

PlanOutcome plan_pipeline(const PipelineProblem& problem, const PlannerOptions& options) {
  if (std::string error = problem_error(problem); !error.empty()) return NoPlan{std::move(error)};
  if (problem.pools.size() > kMostPools)
    return NoPlan{fmt::format("{} kinds of devices, of at most {}", problem.pools.size(), kMostPools)};
  const auto sets = Downsets::of(problem, kMostDownsets);
  if (!sets) return NoPlan{fmt::format("the layers branch into more than {} possible cuts", kMostDownsets)};
  if (options.rules.overlapped_skip_edges && !LayerEdges(problem.widths.front()).chain())
    return NoPlan{"skip edges overlap with computation on chains only"};
  Search search(problem, options, *sets);
  offer_uniform(search, problem, options);
  PipelinePlan best = search.best();
  PlannerOptions plain = options;  // fast, and its plan cuts most of what follows
  plain.stage_replicas = plain.stage_widths = false;
  bool exact = search_each_width(problem, plain, *sets, best);
  if (options.stage_replicas || (options.stage_widths && problem.widths.size() > 1)) {
    if (!best.stages.empty()) search.incumbent(best);
    if (options.stage_widths) {
      search.run();
      best = search.best();
      exact = search.exact();
    } else {
      exact = search_each_width(problem, options, *sets, best);
    }
  }
  if (options.interleaving) improve_by_interleaving(problem, options, best);
  if (best.stages.empty() && options.cutoff > Seconds()) return NoPlan{"no plan is as fast as asked"};
  if (best.stages.empty()) return least_memory(problem, options, *sets);
  best.exact = exact;
  return best;
}

}  // namespace tessera
