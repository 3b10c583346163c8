// The error bar of one kernel: quantiles of what fits were wrong by on rows that they had not seen.
#pragma once

#include <array>

namespace tessera {

/// What widens a kernel's bar.
struct BarInputs {
  double floor_share = 0;   // of the predicted time that is the floor's
  double spread = 0;        // deviation of the ensemble's members, on the log
  double narrow = 0;        // log2 of 16 bits over the operands' bits; 0 for wider ones
  double out_of_range = 0;  // widths outside the fitted range
};

/// log(measured / predicted) lies between p10 and p90 times a scale in 80 % of cases.
struct Bar {
  std::array<double, 4> log_scale{};  // constant, then per floor share, spread and narrowness
  double p10 = 0, p90 = 0;
  /// Deviations of log(measured / predicted): what all the family's kernels on one GPU have in common, and what is a
  /// kernel's own.
  double shared = 0, own = 0;

  friend bool operator==(const Bar&, const Bar&) = default;
};

/// The inputs as the scale takes them: 1, then each held where the data ends.
std::array<double, 4> bar_terms(const BarInputs& inputs);
/// exp(sum of coefficient x term), held within e^1.5 of the constant's. Without what lies outside the fitted range.
double bar_scale(const Bar& bar, const BarInputs& inputs);
/// That, widened by its own size per width outside the fitted range, up to four times: no data says by how much.
double widened_scale(const Bar& bar, const BarInputs& inputs);

}  // namespace tessera
