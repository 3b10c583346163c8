// Plans that one would use without a search: what the planner is compared with.
#pragma once

#include "sim/place/pipeline/placement.hpp"

namespace tessera {

/// Every device holds the whole model (tensor-parallel over the narrowest width, where layers are).
PlanOutcome data_parallel_plan(const PipelineProblem& problem, const PlacementRules& rules = {});

/// Megatron-LM's advice (Narayanan et al., arXiv 2104.04473, takeaways 1 to 3): as many devices hold the model as it
/// takes for it to fit, tensor parallelism first, up to a node (the innermost network level), then equal pipeline
/// stages; replicas take the rest.
PlanOutcome megatron_plan(const PipelineProblem& problem, const PlacementRules& rules = {});

/// METIS (Karypis and Kumar 1998) cuts the layer graph into parts of equal compute with the least bytes between them,
/// for every number of parts and width; the best plan of those. METIS knows no direction: parts are put in their mean
/// topological order and keep their size, as consecutive layers.
PlanOutcome metis_plan(const PipelineProblem& problem, const PlacementRules& rules = {});

}  // namespace tessera
