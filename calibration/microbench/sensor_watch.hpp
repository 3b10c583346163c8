// Clock, power and temperature while something runs.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "calibration/microbench/device.hpp"

namespace tessera::microbench {

/// Median of each; zeros where nothing was known.
Sensors median(const std::vector<Sensors>& samples);

/// Reads the device's sensors every 20 ms (NVML averages over 25 ms and more) from construction to `stop`.
class SensorWatch {
 public:
  explicit SensorWatch(const Device& device);
  /// Median over the later half of what was seen.
  Sensors stop();

 private:
  void watch(const std::stop_token& token);

  const Device& device_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<Sensors> seen_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace tessera::microbench
