// What happened in a simulation: spans on tracks, bytes on links, energy on GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace tessera {

/// A timeline: one stream of one GPU, or one link.
struct Track {
  std::string name;
  std::int32_t gpu = -1;  // -1: a link
};

/// A stretch of time on a track.
struct Span {
  std::uint32_t track = 0;
  std::uint32_t task = 0;  // index of the plan's task
  Seconds start, end;
};

struct LinkUse {
  std::string name;
  BytesPerSec bandwidth;
  Bytes carried;  // payload
  Seconds busy;   // carried / bandwidth
};

struct GpuUse {
  Seconds compute_busy;           // some kernel runs
  Seconds communication_busy;     // some collective runs
  Seconds exposed_communication;  // a collective runs and no kernel does
  Seconds idle;                   // neither
  Bytes hbm_carried;              // by the link to device memory
  std::int32_t gpu = -1;          // in the cluster
};

/// Result of one simulation. Ranks folded onto one representative share its spans.
struct Trace {
  Seconds makespan;
  std::vector<Track> tracks;
  std::vector<Span> spans;
  std::vector<LinkUse> links;  // of the network that carried something
  std::vector<GpuUse> gpus;    // of all simulated GPUs, also those without tracks
  std::uint32_t folded = 1;    // ranks that a simulated GPU stands for, on average
  std::uint64_t events = 0;    // activities the engine completed
};

}  // namespace tessera
