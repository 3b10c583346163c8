#include "calibration/microbench/cuda/row_errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration/microbench/reference.hpp"

namespace tessera::microbench {

double worst_row(const Buffer& result, Stored format, std::size_t rows, std::size_t h,
                 const std::function<std::vector<double>(std::size_t row)>& reference) {
  if (unwritten(result)) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (const std::size_t row : {std::size_t{0}, rows / 3, rows / 2, rows - 1}) {
    const double error = relative_error(download(result, format, row * h, h), reference(row));
    if (std::isnan(error)) return error;
    worst = std::max(worst, error);
  }
  return worst;
}

}  // namespace tessera::microbench
