#include "sim/dispatch/gacer_packing.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace tessera {

namespace {

constexpr Seconds kNever(std::numeric_limits<double>::infinity());
constexpr double kRounding = 1e-9;  // of widths

struct Lane {
  const std::vector<DeviceKernel>* kernels;
  std::size_t next = 0;
  Seconds since, end = kNever;  // waits since; the running one ends
  double width = 0;

  [[nodiscard]] bool waits() const { return end == kNever && next < kernels->size(); }
};

double width_of(const DeviceKernel& kernel, const GpuSpec& gpu) {
  return std::min(1.0, kernel.sms_of(kernel.blocks) / gpu.sms);
}

}  // namespace

Seconds packed_makespan(const SliceProgram& program) {
  std::vector<Lane> lanes;
  for (const TenantProgram& tenant : program.tenants) lanes.push_back({&tenant.kernels, 0, Seconds(0.0), kNever, 0});
  Seconds now;
  for (double room = 1;;) {
    std::ranges::stable_sort(lanes, {}, &Lane::since);
    for (Lane& lane : lanes) {
      if (!lane.waits()) continue;
      const DeviceKernel& kernel = (*lane.kernels)[lane.next];
      lane.width = width_of(kernel, program.gpu);
      if (lane.width > room + kRounding) continue;
      room -= lane.width;
      lane.end = now + kernel.time();
    }
    const auto first = std::ranges::min_element(lanes, {}, &Lane::end);
    if (first == lanes.end() || first->end == kNever) return now;
    now = first->since = first->end;
    first->end = kNever;
    room += first->width;
    ++first->next;
  }
}

}  // namespace tessera
