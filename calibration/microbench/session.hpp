// Runs a plan on a device: verify, warm up, repeat, watch clock and power, write.
#pragma once

#include <functional>
#include <string_view>

#include "calibration/microbench/device.hpp"
#include "calibration/microbench/plan.hpp"
#include "calibration/microbench/results.hpp"

namespace tessera::microbench {

struct SessionOptions {
  bool retry = false;  // also what failed before
  /// Called before each case that runs, and with its outcome after it.
  std::function<void(std::string_view)> progress;
};

struct SessionReport {
  std::size_t measured = 0, already_there = 0, unsupported = 0, wrong = 0;
};

/// Cases that the folder holds are left out. What a device or build cannot do, and a result that is off its reference
/// by more than the tolerance, is written to failed.csv and not timed. RunError when the device is lost: the case is
/// among the failed, the next run goes on behind it.
SessionReport run_session(Device& device, const Plan& plan, ResultFolder& folder, const SessionOptions& options);

}  // namespace tessera::microbench
