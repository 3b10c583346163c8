// What happened on a shared GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"

namespace tessera {

struct RequestSpan {
  std::uint32_t tenant = 0;
  Seconds arrival, start, end;  // start: of its first kernel
};

struct KernelSpan {
  std::uint32_t tenant = 0, kernel = 0;  // position in the tenant's list; pieces have that of the whole
  Seconds start, end;
};

/// From `at` on, until the next one.
struct UsageStep {
  Seconds at;
  double sms = 0;      // filled by resident blocks
  BytesPerSec demand;  // of device memory by resident blocks; more than there is where it is short
};

struct Timeline {
  Seconds makespan;                   // end of the last request
  std::vector<RequestSpan> requests;  // in order of their ends
  std::vector<KernelSpan> kernels;    // in order of their ends, if recorded
  std::vector<UsageStep> usage;       // if recorded
  Seconds sm_time;                    // SMs x time filled by blocks, as if undisturbed
  Bytes hbm_carried;
  Joules energy;  // above idle
  std::uint64_t events = 0;
};

}  // namespace tessera
