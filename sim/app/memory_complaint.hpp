// What to tell a user whose model does not fit.
#pragma once

#include <string>

#include "models/memory_footprint.hpp"
#include "sim/app/run.hpp"

namespace tessera {

/// Per component against the capacity, by how much it is over, and what would make it fit: a smaller micro-batch, more
/// tensor parallelism, a GPU with more memory; each tried with the same memory model.
std::string memory_complaint(const RunSpec& spec, const MemoryFootprint& footprint);

}  // namespace tessera
