// Makers of the dispatch policies, one per file of this folder.
#pragma once

#include "sim/dispatch/policy.hpp"

namespace tessera {

std::unique_ptr<DispatchPolicy> make_streams();

}  // namespace tessera
