// Error bars from what fits were wrong by on rows that they had not seen.
#pragma once

#include <cstdint>
#include <span>

#include "models/bar.hpp"

namespace tessera {

/// One such row.
struct Residue {
  std::uint16_t gpu = 0;
  BarInputs inputs{};
  double error = 0;  // log(measured / predicted)
};

/// The scale minimises the Laplace likelihood, mean of log(scale) + |error| / scale; p10 and p90 are quantiles of error
/// / scale. Every GPU counts alike, whatever its number of rows. At least one row.
Bar fit_bar(std::span<const Residue> residues);

}  // namespace tessera
