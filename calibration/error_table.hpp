// How wrong a family is on what its fit has not seen: the table of errors, and the error bars.
#pragma once

#include "calibration/fit.hpp"

namespace tessera {

/// Whether protocol S holds this shape out: a fifth of all, by a hash, the same ones every time and on every GPU.
bool held_out(const Kernel& kernel);

/// Refits without each architecture (L) and without the shapes held out (S), and asks `weights` about GPUs without rows
/// to fit (N). Rows of GPUs named in `options.leave_out` are in the table, never in the bars.
void fill_error_table(const Recipe& recipe, const Dataset& data, const FitOptions& options, FamilyWeights& weights);

/// Without those refits: bars from the rows fitted on; errors on unseen GPUs are about twice theirs.
void estimate_bars(const Recipe& recipe, const Dataset& data, FamilyWeights& weights);

}  // namespace tessera
