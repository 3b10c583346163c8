// What to tell a user whose model does not fit.
#pragma once

#include <string>

#include "models/memory_footprint.hpp"
#include "sim/app/run.hpp"

namespace tessera {

/// Per component against the capacity, by how much it is over, and what would make it fit, each tried with the same
/// memory model: a smaller micro-batch, recomputation, sharding, sequence parallelism, more tensor or pipeline
/// parallelism on the GPUs that there are, a GPU with more memory; all together where nothing alone does.
std::string memory_complaint(const RunSpec& spec, const MemoryFootprint& footprint);

}  // namespace tessera
