#include "models/support.hpp"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/base/error.hpp"

namespace tessera {

std::optional<std::string> dtype_error(Dtype dtype, const GpuSpec& gpu) {
  if (gpu.peak_of(dtype) > FlopsPerSec()) return std::nullopt;
  std::vector<std::string_view> there;
  for (const Dtype other : kDtypes)
    if (gpu.peak_of(other) > FlopsPerSec()) there.push_back(to_string(other));
  return fmt::format("{} has no {}; it has {}", gpu.name, to_string(dtype), fmt::join(there, ", "));
}

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
