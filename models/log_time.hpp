// How a network's output becomes a time: a bounded correction of a closed form, over a floor.
#pragma once

#include <algorithm>
#include <cmath>

namespace tessera {

/// Largest |log(time / closed form)| that a network may express: a factor of e^2 either way.
inline constexpr double kMaxCorrection = 2.0;

inline double bounded(double net) {
  return kMaxCorrection * std::tanh(net / kMaxCorrection);
}

/// log(e^a + e^b); b may be -infinity.
inline double log_add(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  return high + std::log1p(std::exp(low - high));
}

/// log of the time from the logs of the closed form and of the floor.
inline double log_time(double log_base, double net, double log_floor) {
  return log_add(log_base + bounded(net), log_floor);
}

}  // namespace tessera
