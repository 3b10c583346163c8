// The one random number generator; seeded from the scenario, same numbers on every platform.
#pragma once

#include <cmath>
#include <cstdint>

namespace tessera {

/// PCG32 (O'Neill 2014, pcg-random.org, minimal variant): 64-bit state, period 2^64.
class Rng {
 public:
  explicit Rng(std::uint64_t seed, std::uint64_t stream = 1) : increment_((stream << 1) | 1) {
    next();
    state_ += seed;
    next();
  }

  std::uint32_t next() {
    const std::uint64_t old = state_;
    state_ = old * 6364136223846793005ULL + increment_;
    const auto shifted = static_cast<std::uint32_t>(((old >> 18) ^ old) >> 27);
    const auto rotation = static_cast<std::uint32_t>(old >> 59);
    return (shifted >> rotation) | (shifted << ((32 - rotation) & 31));
  }

  /// Uniform in [0, 1).
  double uniform() { return next() * 0x1p-32; }
  /// Uniform integer in [0, bound); bound > 0.
  std::uint32_t below(std::uint32_t bound) {
    const std::uint64_t wide = next();
    return static_cast<std::uint32_t>((wide * bound) >> 32);
  }
  /// Standard normal (Box-Muller, one of the pair).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

 private:
  std::uint64_t state_ = 0;
  std::uint64_t increment_;
};

}  // namespace tessera
