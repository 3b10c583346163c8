// GACER-R: the search for pieces (space) and pointers (time) of a set of tenants; a re-implementation from the system's
// description, every ambiguity an option.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/dispatch/deployment.hpp"
#include "sim/dispatch/policy.hpp"

namespace tessera {

struct GacerOptions {
  enum class Objective : std::uint8_t { makespan, residue } objective = Objective::makespan;
  /// What the search believes: this engine's rules, or GACER's own packing of widths (gacer_packing.hpp).
  enum class Evaluator : std::uint8_t { rules, packing } evaluator = Evaluator::rules;
  bool spatial = true, temporal = true;
  Seconds pointer_cost{20e-6};  // T_SW: one synchronisation of CPU and GPU, and the kernels issued again
  int most_pointers = 8;
  int fixed_pointers = -1;  // exactly so many; -1: as many as pay
  std::vector<std::uint32_t> piece_counts{2, 4, kQuarterFirst, kQuarterLast};
  int candidates = 24;     // widest kernels that are tried in pieces
  double concat_cost = 1;  // of the copy after the pieces; 0: free
  int restarts = 0;        // from random pointers, beside the even ones
  int budget = 4000;       // evaluations of a cluster
  std::uint64_t seed = 1;
};

struct GacerPlan {
  std::vector<std::vector<std::uint32_t>> pointers, pieces;  // by tenant: positions, and pieces of every kernel
  Seconds makespan;                                          // predicted, of one request of each
  Seconds residue;      // SM time left unused, in seconds of the whole GPU, switches included
  int evaluations = 0;  // clusters simulated
};

/// One request of every tenant, begun together. The plan is never worse than plain streams, as the evaluator sees them.
GacerPlan search_gacer(const TenantSet& tenants, const GacerOptions& options = {});
Deployment deployment_of(const GacerPlan& plan, const TenantSet& tenants, const GacerOptions& options = {});
std::unique_ptr<DispatchPolicy> make_gacer_with(GacerOptions options);

}  // namespace tessera
