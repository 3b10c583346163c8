// GACER's own model of a cluster: kernels are widths of the SM pool and durations, nothing else slows them.
#pragma once

#include "sim/base/units.hpp"
#include "sim/dispatch/program.hpp"

namespace tessera {

/// When all have ended: a tenant's next kernel starts as soon as its width, min(1, SMs that it fills / SMs), fits
/// beside those that run, those that have waited longest first. No queues, bandwidth, L2, clock or gaps.
Seconds packed_makespan(const SliceProgram& program);

}  // namespace tessera
