// The bar of a kernel's price as standard deviations of log(measured / predicted).
#pragma once

#include "models/kernel_cost.hpp"

namespace tessera {

/// Half of p10-p90 of a normal distribution, in standard deviations.
inline constexpr double kHalfBand = 1.2815515655446004;

/// What all kernels of a family share on one GPU, and what is the kernel's own.
struct LogError {
  double shared = 0, own = 0;
};
LogError log_error(const KernelCost& cost);

}  // namespace tessera
