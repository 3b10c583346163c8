#include "sim/place/chip/economics.hpp"

#include <cmath>
#include <numbers>

namespace tessera {
namespace {

constexpr double kIdleWattsPerSquareMm = 90.0 / 600.0;  // TPUv4's; unverified
constexpr double kWaferDiameter = 300;                  // mm
constexpr double kDefectsPerSquareMm = 0.1 / 100;       // assumed
constexpr Money kWafer{3677};                           // CSET 2020; unverified
constexpr double kHbmPerGigabyte = 15;                  // assumed
constexpr double kPackageAndTest = 4.0 / 3;             // assumed

}  // namespace

Watts idle_power(const SystolicChip& chip) {
  return Watts(kIdleWattsPerSquareMm * area(chip).value());
}

double good_dies(Area die) {
  const double size = die.value(), radius = kWaferDiameter / 2;
  const double dies = std::numbers::pi * radius * radius / size * std::exp(-std::sqrt(size) / radius);
  const double defects = size * kDefectsPerSquareMm;
  const double root = (1 - std::exp(-defects)) / defects;
  return dies * root * root;
}

Money price(const SystolicChip& chip, Bytes memory) {
  const Money die = kWafer / good_dies(area(chip));
  return (die + Money(kHbmPerGigabyte * memory.value() / 1e9)) * kPackageAndTest;
}

}  // namespace tessera
