// GPUs and links as a SimGrid platform whose routes are computed on demand: memory grows with links, not with pairs.
#pragma once

#include <simgrid/forward.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "sim/des/engine.hpp"

namespace tessera {

/// The SM pool is a host of one core whose speed is the number of SMs. Memory is a host whose speed is its bandwidth,
/// not a link: SimGrid 3.32 ignores Comm::set_rate of a one-sided flow, and a cohort's traffic has a bounded rate.
struct GpuHosts {
  simgrid::s4u::Host* sms;
  simgrid::s4u::Host* hbm;
};

/// SimGrid knows a route by the hosts at its ends. Ours belong to flows, several of which may join two GPUs by
/// different links, so each has a pair of ports of its own.
struct Platform {
  std::vector<GpuHosts> gpus;
  std::vector<simgrid::s4u::Host*> ports;
  [[nodiscard]] std::pair<simgrid::s4u::Host*, simgrid::s4u::Host*> ends(std::size_t route) const {
    const std::size_t from = route / (ports.size() - 1), to = route % (ports.size() - 1);
    return {ports[from], ports[to < from ? to : to + 1]};
  }
};

/// Builds the platform and seals it.
/// SimGrid's links have no latency: it would share a link in proportion to 1 / latency, as TCP does. Latency is
/// waited for before a flow starts.
Platform build_platform(const std::vector<EngineGpu>& gpus, EngineNetwork network);

}  // namespace tessera
