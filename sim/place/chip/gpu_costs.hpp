// What a parametric GPU costs: silicon, power, and rent, each with the error of its formula.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/amount.hpp"
#include "sim/base/estimate.hpp"
#include "sim/place/chip/gpu_template.hpp"

namespace tessera {

/// A die whose area the vendor or a teardown published, as built (not as sold).
struct KnownDie {
  std::string_view name;
  double process_nm = 0;
  int sms = 0, fp32_lanes_per_sm = 0, matrix_fmas_per_sm = 0;
  double l2_mib = 0;
  int hbm_stacks = 0, gddr_bits = 0;
  Area area;
  std::string_view source;
};
std::span<const KnownDie> known_dies();

/// All dies together. Five constants fitted on known_dies(); the bar is that of dies left out of the fit.
Estimate<Area> die_area(const GpuTemplate& gpu);
/// The same formula for a known die.
Area predicted_area(const KnownDie& die);

/// What the board would draw with 16-bit matrix units at their reachable rate, were there no cap (the formula of the
/// latency model). Vendors cap boards below or above it.
Watts uncapped_power(const GpuTemplate& gpu);

/// Rent per GPU-hour on demand: a GPU of which none is on offer yet. The bar is that of GPUs left out of the fit.
Estimate<Money> rent_per_hour(const GpuSpec& gpu);
struct KnownRent {
  std::string_view gpu;
  FlopsPerSec peak;  // dense, 16-bit
  Bytes memory;
  Money per_hour;  // median of what was on offer
};
std::span<const KnownRent> known_rents();
Money predicted_rent(FlopsPerSec peak, Bytes memory);

/// Largest die that a mask exposes: 26 x 33 mm.
inline constexpr Area kReticle{858.0};

/// Why it cannot be built: a value out of range, a die larger than the reticle, more HBM than its edges hold. Empty: it
/// can.
std::vector<std::string> gpu_template_errors(const GpuTemplate& gpu);

}  // namespace tessera
