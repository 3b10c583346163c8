// What `validate` says about one row.
#pragma once

#include <optional>
#include <string>

#include "models/kernel_cost.hpp"
#include "sim/base/estimate.hpp"
#include "sim/base/units.hpp"

namespace tessera {

struct Prediction {
  Estimate<Seconds> time;
  Provenance provenance = Provenance::closed_form;
};

/// Either a prediction, or why there is none (does not fit, not supported).
struct Outcome {
  std::optional<Prediction> prediction;
  std::string unsupported;
};

/// Which part of a row's run was measured.
enum class MeasuredPart : std::uint8_t { whole, forward, backward };

}  // namespace tessera
