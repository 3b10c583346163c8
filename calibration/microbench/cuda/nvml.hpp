// Clock, power and temperature from the driver's management library, where it can be loaded.
#pragma once

#include <memory>
#include <string>

#include "calibration/microbench/device.hpp"

namespace tessera::microbench {

/// NVML by dlopen: nothing is linked, and without it everything reads as not known.
class Nvml {
 public:
  explicit Nvml(const std::string& pci_bus_id);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] Sensors sensors() const;
  /// Driver, maximal clocks and power limit.
  void describe(Machine& machine) const;

 private:
  struct Functions;
  std::unique_ptr<Functions> functions_;  // null: not there
};

}  // namespace tessera::microbench
