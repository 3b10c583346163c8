// The machine that measurements were made on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/json.hpp"

namespace tessera::microbench {

/// Zero or empty: not known.
struct Machine {
  std::string device;              // as the driver calls it
  std::string compute_capability;  // "9.0"
  int sms = 0;
  int devices = 1;  // visible GPUs
  Bytes memory, l2;
  std::string driver;                                          // its version, or the CUDA version it supports
  std::vector<std::pair<std::string, std::string>> libraries;  // name and version
  Hertz max_sm_clock, max_memory_clock;
  Watts power_limit;
  friend bool operator==(const Machine&, const Machine&) = default;
};

Json as_json(const Machine& machine);
/// Throws RunError naming what is missing.
Machine machine_from_json(const Json& json);

/// What makes two machines' measurements differ: one line per field.
std::vector<std::string> differences(const Machine& a, const Machine& b);

}  // namespace tessera::microbench
