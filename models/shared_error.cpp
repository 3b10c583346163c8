#include "models/shared_error.hpp"

#include <cmath>

namespace tessera {

namespace {

constexpr double kAlike = 0.76, kAcross = 0.39;

/// Sustained clock and matrix units decide, or the bandwidth of device memory does.
bool bound_by_arithmetic(FamilyId family) {
  switch (family) {
    case FamilyId::gemm_simt:
    case FamilyId::gemm_matrix:
    case FamilyId::prefill:
    case FamilyId::conv:
    case FamilyId::moe:
    case FamilyId::mla_prefill:
      return true;
    default:
      return false;
  }
}

}  // namespace

double error_correlation(FamilyId a, FamilyId b) {
  if (a == b) return 1;
  return bound_by_arithmetic(a) == bound_by_arithmetic(b) ? kAlike : kAcross;
}

double shared_deviation(const FamilyWeights& weights) {
  double squares = 0, gpus = 0;
  const std::vector<LeftOut>& rows = weights.left_out;
  for (std::size_t first = 0; first < rows.size();) {  // a GPU's rows stand together
    std::size_t last = first;
    double sum = 0;
    for (; last < rows.size() && rows[last].gpu == rows[first].gpu; ++last) sum += std::log1p(rows[last].bias);
    const double mean = sum / static_cast<double>(last - first);
    squares += mean * mean;
    ++gpus;
    first = last;
  }
  return gpus > 0 ? std::sqrt(squares / gpus) : 0;
}

}  // namespace tessera
