// How the errors of families of kernels hang together on one GPU; pure.
#pragma once

#include "models/family.hpp"

namespace tessera {

/// Correlation between what two families' errors share on one GPU (KernelCost::shared_ratio): 1 for the same family.
/// Measured, not chosen: the mean product of standardised biases of pairs of families on GPUs left out of their fits
/// (the tables in calibration/weights, 89 pairs): 0.66 among families bound by arithmetic (15 pairs), 0.83 among
/// those bound by memory (24), 0.39 across (50); the first two pooled.
double error_correlation(FamilyId a, FamilyId b);

}  // namespace tessera
