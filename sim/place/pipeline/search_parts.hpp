// What the planner does around its main search.
#pragma once

#include <vector>

#include "sim/place/pipeline/downsets.hpp"
#include "sim/place/pipeline/placement.hpp"

namespace tessera {

/// Replica counts of the whole pipeline that are tried: the smallest for each number of micro-batches per replica, and
/// the largest for each number of devices per replica. `equal_shares`: of these, those that divide the micro-batches.
std::vector<int> pipeline_replica_counts(const PipelineProblem& problem, bool equal_shares);

/// Replaces `best` (empty: none yet) by a better plan of interleaved stages of one width, where there is one: chunks
/// that cut the layers as evenly as possible, for every number of devices, 2 to 8 chunks on each. Only where the
/// stages divide the micro-batches, which Megatron-LM's schedule needs, and all devices are alike.
void improve_by_interleaving(const PipelineProblem& problem, const PlannerOptions& options, PipelinePlan& best);

/// Why there is no plan: the least memory that plans of one width and one replica per stage need, as far as there are
/// devices for them.
NoPlan least_memory(const PipelineProblem& problem, const PlannerOptions& options, const Downsets& sets);

}  // namespace tessera
