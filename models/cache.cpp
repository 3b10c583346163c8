#include "models/cache.hpp"

#include <cmath>

namespace tessera {

namespace {

constexpr double kPartitioned = 32.0 * 1024 * 1024;

}  // namespace

Bytes usable_l2(const GpuSpec& gpu) {
  const bool hbm = gpu.memory_type.rfind("HBM", 0) == 0;
  return hbm && gpu.l2 >= Bytes(kPartitioned) ? gpu.l2 / 2 : gpu.l2;
}

double spilled_share(Bytes working_set, Bytes capacity, double sharpness) {
  if (capacity.value() <= 0) return 1;
  return 1 - 1 / (1 + std::pow(working_set / capacity, sharpness));
}

}  // namespace tessera
