// How kernels over rows are held against their references.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "calibration/microbench/cuda/values.hpp"

namespace tessera::microbench {

/// Relative error of the worst of a few rows of a result of `rows` x `h`; infinite where something was not written.
double worst_row(const Buffer& result, Stored format, std::size_t rows, std::size_t h,
                 const std::function<std::vector<double>(std::size_t row)>& reference);

}  // namespace tessera::microbench
