// A pattern of 32-bit words whose sum has a closed form.
#pragma once

#include <cstdint>

namespace tessera::microbench {

/// Word i of the pattern, modulo 2^32.
constexpr std::uint32_t kStep = 2654435761u, kFirst = 12345u;

/// Sum of the first `count` words, modulo 2^32.
constexpr std::uint32_t pattern_sum(std::uint64_t count) {
  const std::uint64_t pairs = count % 2 == 0 ? (count / 2) * (count - 1) : count * ((count - 1) / 2);
  return static_cast<std::uint32_t>(pairs) * kStep + static_cast<std::uint32_t>(count) * kFirst;
}
static_assert(pattern_sum(3) == 3 * kFirst + 3 * kStep);
static_assert(pattern_sum(4) == 4 * kFirst + 6 * kStep);

}  // namespace tessera::microbench
