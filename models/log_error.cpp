#include "models/log_error.hpp"

#include <cmath>

namespace tessera {

LogError log_error(const KernelCost& cost) {
  const double deviation = std::log(cost.time.p90 / cost.time.p10) / (2 * kHalfBand);
  return {deviation * std::sqrt(cost.shared_ratio), deviation * std::sqrt(1 - cost.shared_ratio)};
}

}  // namespace tessera
