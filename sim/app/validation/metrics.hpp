// How far predictions are from measurements: the figures that `validate` prints.
#pragma once

#include <cstddef>
#include <span>

#include "sim/base/estimate.hpp"
#include "sim/base/units.hpp"

namespace tessera {

/// A measurement (> 0) and what was predicted for it.
struct Scored {
  Seconds measured;
  Estimate<Seconds> predicted;
};

/// Of n rows with e = p50 / measured - 1. Percentages, but for `band_width` and `pinball`. All 0 where n is 0.
struct Metrics {
  std::size_t n = 0;
  double mape = 0;        // mean |e|
  double median_ape = 0;  // median |e|; of an even n the mean of the middle two
  double p90_ape = 0;     // nearest rank: the smallest |e| that at least 90 % of the rows do not exceed
  double bias = 0;        // mean e
  double coverage = 0;    // share of rows with p10 <= measured <= p90
  double band_width = 0;  // mean p90 / p10
  double pinball = 0;     // mean over rows and the three quantiles q of max(q d, (q - 1) d), d = log(measured / p_q)
};

Metrics score(std::span<const Scored> rows);

}  // namespace tessera
