// GPUs and links as a SimGrid platform whose routes are computed on demand: memory grows with links, not with pairs.
#pragma once

#include <simgrid/forward.h>

#include <vector>

#include "sim/des/engine.hpp"

namespace tessera {

/// The SM pool is a host of one core whose speed is the number of SMs. Memory is a host whose speed is its bandwidth,
/// not a link: SimGrid 3.32 ignores Comm::set_rate of a one-sided flow, and a cohort's traffic has a bounded rate.
struct GpuHosts {
  simgrid::s4u::Host* sms;
  simgrid::s4u::Host* hbm;
};

/// Builds the platform and seals it; returns the hosts of each GPU.
/// SimGrid's links have no latency: it would share a link in proportion to 1 / latency, as TCP does. Latency is
/// waited for before a flow starts.
std::vector<GpuHosts> build_platform(const std::vector<EngineGpu>& gpus, EngineNetwork network);

}  // namespace tessera
