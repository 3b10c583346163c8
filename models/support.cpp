#include "models/support.hpp"

#include <fmt/core.h>

#include "sim/base/error.hpp"

namespace tessera {

void require_supported(const Kernel& kernel, const GpuSpec& gpu) {
  if (const auto mistake = shape_error(kernel)) {
    throw RunError(fmt::format("{}: {}", describe_kernel(kernel), *mistake));
  }
  if (gpu.peak_of(kernel.dtype).value() <= 0) {
    throw RunError(
        fmt::format("{}: {} does not support {}", describe_kernel(kernel), gpu.name, to_string(kernel.dtype)));
  }
}

}  // namespace tessera
