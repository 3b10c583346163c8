// GACER's experiments (arXiv 2304.11745) on the sharing engine: sets of tenants, policies, and what came out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/latency_model.hpp"
#include "sim/app/reproduce/colocation.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/dispatch/policy.hpp"
#include "sim/dispatch/timeline.hpp"

namespace tessera {

/// Tenants of one experiment; each sends one request at 0.
struct TenantGroup {
  std::string name;
  GpuSpec gpu;
  std::vector<Tenant> tenants;
};

/// Orion's kernels, measured on a V100 (`data`/orion_v100_profiles): 2 to 5 tenants, and training beside inference.
std::vector<TenantGroup> orion_groups(const std::filesystem::path& data);
/// Built-in models: vision, vision + language, vision + recurrent, training + inference; two to five tenants.
std::vector<TenantGroup> model_groups(const GpuSpec& gpu, std::int64_t batch, const LatencyModel& latency);

/// A policy under test: its name and how it is made.
struct PolicyContender {
  std::string name;
  std::function<std::unique_ptr<DispatchPolicy>()> make;
};
std::vector<PolicyContender> contenders();
PolicyContender contender(std::string_view policy);
/// Stages with barriers.
PolicyContender ios_like();
/// Rules, stages, and GACER with a tenth of its budget: for many groups.
std::vector<PolicyContender> quick_contenders();

struct PolicyOutcome {
  bool done = false;  // false: the policy cannot put this group on this GPU
  Seconds makespan;
  Seconds processor;  // of the whole evaluation on this machine, searches included
  double tail = 0;    // geometric mean over tenants of p99 latency / solo time
  Hertz goodput;      // requests within their SLO, all tenants
};
PolicyOutcome run_group(const TenantGroup& group, const PolicyContender& contender);

struct MakespanRow {
  std::string group, gpu;
  std::int64_t batch = 0;  // 0: as profiled
  std::size_t tenants = 0;
  Seconds bound;                        // the longest tenant alone
  std::vector<PolicyOutcome> outcomes;  // parallel to the contenders
};
MakespanRow makespans(const TenantGroup& group, std::int64_t batch, const std::vector<PolicyContender>& contenders);

struct ArrivalRow {
  std::string group;
  double load = 0;
  std::int64_t burst = 1;
  std::vector<PolicyOutcome> outcomes,
      charged;  // parallel to the contenders; charged: nobody is served during the search
};
/// Poisson arrivals, so that services ask for `load` of the GPU's time in equal parts, were they run one by one; with
/// an SLO of three times their time alone. Training goes on beside them, less urgent.
ArrivalRow with_arrivals(const TenantGroup& group, double load, std::int64_t burst,
                         const std::vector<PolicyContender>& contenders);

/// The makespan where durations differ from those that the plan was made for, by a lognormal factor of this deviation.
struct NoiseRow {
  std::string group;
  double deviation = 0;
  double gacer_over_lookahead = 0, gacer_over_streams = 0;  // mean over the draws
};
NoiseRow with_noise(const TenantGroup& group, double deviation, int draws);

/// One row of an ablation: what GACER may use, and the makespan.
struct AblationRow {
  std::string group;
  std::vector<double> speedups;  // over sequential, parallel to the variants
};

struct GacerResults {
  std::vector<PolicyContender> contenders, model_contenders;
  std::vector<MakespanRow> profiles, models;  // of the contenders and of the model_contenders
  std::vector<PolicyContender> parts, pointers, pieces;
  std::vector<AblationRow> by_part, by_pointers, by_pieces;
  std::vector<NoiseRow> noise;
  std::vector<ArrivalRow> arrivals;
  std::vector<ShareRow> shares;
  std::vector<CopyRow> copies;
  std::vector<SliceRow> slices;
  std::vector<PreemptionRow> preemption;
  std::optional<PairRow> pair;
  std::vector<TrainingPairRow> training;
};
/// Fills by_part, by_pointers and by_pieces.
void run_ablations(GacerResults& r, std::span<const TenantGroup> groups,
                   const std::function<void(std::string_view)>& progress);
/// "R50+MB2: sequential 9.22 ms; streams 1.22x, ...".
std::string makespan_line(const MakespanRow& row, const std::vector<PolicyContender>& contenders);
std::string gacer_page(const GacerResults& results, std::string_view command);
std::string gacer_picture(const GacerResults& results);

/// exp of the mean logarithm of what is positive.
double geometric_mean(const std::vector<double>& values);

}  // namespace tessera
