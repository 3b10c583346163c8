// A predicted quantity with its error bar, and where the prediction comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/base/units.hpp"

namespace tessera {

/// Quantiles of a prediction: 80 % of outcomes are expected in [p10, p90].
template <class Q>
struct Estimate {
  Q p10{}, p50{}, p90{};

  static constexpr Estimate exact(Q q) { return {q, q, q}; }
  constexpr Estimate& operator*=(double k) {
    p10 *= k;
    p50 *= k;
    p90 *= k;
    return *this;
  }
};

/// How a number was obtained; worst of its parts where it has several (declared from best to worst).
enum class Provenance : std::uint8_t {
  measured,      // a measurement of this very shape on this very GPU
  calibrated,    // a fitted model, shifted by measurements of this very GPU
  fitted,        // a fitted model, inside the range it was fitted on
  typical,       // the same, but the runtime asked for was not measured: the typical kernel instead
  closed_form,   // physics with literature constants, nothing fitted
  extrapolated,  // a fitted model, outside the range it was fitted on
};
inline constexpr std::size_t kProvenanceCount = static_cast<std::size_t>(Provenance::extrapolated) + 1;

std::string_view to_string(Provenance provenance);

}  // namespace tessera
