#include "calibration/microbench/case.hpp"

#include <fmt/format.h>

namespace tessera::microbench {

std::string case_id(const Case& c) {
  std::string id = fmt::format("{} {}", c.op, to_string(c.dtype));
  if (!c.layout.empty()) id += " " + c.layout;
  id += fmt::format(" {}", to_string(c.timing));
  for (const Dim& d : c.dims) id += fmt::format(" {}={}", d.name, d.value);
  return id;
}

Seconds rough_time(const Case& c, const GpuSpec& gpu) {
  constexpr double kReached = 0.6;
  constexpr Seconds kLeast(3e-6);
  const FlopsPerSec peak = max(gpu.peak_of(c.dtype), gpu.fp32_vector_peak);
  // Buses are listed faster than they copy; unknown ones count as PCIe 3.
  const BytesPerSec path = c.over_pcie ? max(gpu.pcie_bandwidth, BytesPerSec(16e9)) : gpu.memory_bandwidth;
  return kLeast + max(c.work / (kReached * peak), c.moved / (kReached * path));
}

}  // namespace tessera::microbench
