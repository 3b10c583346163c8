#include "models/shared_error.hpp"

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

}  // namespace tessera
