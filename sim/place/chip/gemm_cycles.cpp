#include "sim/place/chip/gemm_cycles.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

constexpr double kPortWords = 64;                       // a cycle, between an SRAM and its arrays
constexpr std::int64_t kSkewedCapacity = 512 * 512;     // from here on the mapper prefers one long side
constexpr std::int64_t kDoubledCapacity = 1024 * 1024;  // 256 x 256 arrays
constexpr Bytes kRoomyBuffer{128 * 1048576.0};

struct Tile {
  std::int64_t n = 1, c = 1, k = 1;
};

std::int64_t power_of_two_in(std::int64_t x) {
  return x & -x;
}

/// Words of one operand's tile in the registers of an array: 32 bytes a MAC.
std::int64_t tile_capacity(const SystolicChip& chip) {
  return std::int64_t{16} * chip.width * chip.depth;
}

std::int64_t square_side(std::int64_t capacity) {
  std::int64_t side = 1;
  while (4 * side * side <= capacity) side *= 2;
  return side;
}

struct Dimension {
  std::int64_t limit;  // largest power of two that divides it
  std::int64_t* tile;
};

/// The original mapper's tile, as found in its recorded mappings: powers of two that divide, two sides of a tile fill
/// the registers; cubes on small arrays, and on large ones, where one side is short, a long side beside it (but for one
/// core with the whole of a large buffer).
Tile divisor_tile(const SystolicChip& chip, int cores, std::int64_t n, std::int64_t c, std::int64_t k) {
  const std::int64_t capacity = tile_capacity(chip), root = square_side(capacity);
  Tile tile;
  std::array sides{Dimension{power_of_two_in(c), &tile.c}, Dimension{power_of_two_in(k), &tile.k},
                   Dimension{power_of_two_in(n), &tile.n}};
  std::ranges::stable_sort(sides, {}, [](const Dimension& d) { return d.limit; });
  const auto& [small, second, third] = sides;
  *small.tile = std::min(small.limit, root);
  const bool whole = small.tile == &tile.c && small.limit == c;
  const bool roomy =
      cores == 1 && chip.buffer >= kRoomyBuffer && capacity == kSkewedCapacity && 2 * *small.tile == root;
  if (capacity < kSkewedCapacity || *small.tile == root || whole || roomy) {
    *second.tile = std::min(second.limit, root);
    *third.tile = std::min(third.limit, capacity / root);
    return tile;
  }
  const bool by_c = small.tile == &tile.c;
  const auto is_long = [&](const Dimension& d) { return d.tile == (by_c ? &tile.k : &tile.c); };
  const Dimension& along = is_long(second) ? second : third;
  const Dimension& across = is_long(second) ? third : second;
  *along.tile = std::min(along.limit, capacity / *small.tile);
  if (by_c && capacity >= kDoubledCapacity) *along.tile /= 2;
  *across.tile = std::min(across.limit, capacity / *along.tile);
  return tile;
}

struct PortWords {
  double read = 0, written = 0;
};

/// Words through the SRAM ports: each operand once per tile of the dimension it lacks; partial sums come back unless c
/// is whole.
PortWords port_words(double n, double c, double k, const Tile& tile) {
  const double macs = n * c * k;
  const double passes = c / std::min(static_cast<double>(tile.c), c);
  return {macs / static_cast<double>(tile.k) + macs / static_cast<double>(tile.n) + n * k * (passes - 1),
          n * k * passes};
}

GemmCost compatible(const SystolicChip& chip, const GemmWork& work, int cores) {
  const std::int64_t rows = work.batch * work.n;
  const auto n = static_cast<double>(rows), c = static_cast<double>(work.c), k = static_cast<double>(work.k);
  const PortWords words = port_words(n, c, k, divisor_tile(chip, cores, rows, work.c, work.k));
  const double macs = n * c * k / (static_cast<double>(cores) * chip.width * chip.depth);
  return {std::max({macs, words.read / kPortWords, words.written / kPortWords}), words.read + words.written, Bytes()};
}

/// Share of the array's rows or columns in use when a dimension is padded to it.
double used(double extent, double side) {
  return extent / (std::ceil(extent / side) * side);
}

/// The best of the ways to lay two of the three dimensions on the array.
double utilisation(const SystolicChip& chip, double n, double c, double k) {
  const auto both = [&](double x, double y) {
    return std::max(used(x, chip.width) * used(y, chip.depth), used(y, chip.width) * used(x, chip.depth));
  };
  return std::max({both(n, c), both(n, k), both(c, k)});
}

/// The tile with the least port time among powers of two, one side cut to the dimension.
PortWords best_words(const SystolicChip& chip, std::int64_t n, std::int64_t c, std::int64_t k) {
  const std::int64_t capacity = tile_capacity(chip);
  PortWords best{1e300, 1e300};
  for (std::int64_t tn = 1; tn < 2 * n && tn <= capacity; tn *= 2) {
    const std::int64_t rows = std::min(tn, n);
    for (std::int64_t tk = 1; tk < 2 * k && rows * std::min(tk, k) <= capacity; tk *= 2) {
      const std::int64_t columns = std::min(tk, k);
      const Tile tile{rows, std::min(c, capacity / std::max(rows, columns)), columns};
      const PortWords words = port_words(static_cast<double>(n), static_cast<double>(c), static_cast<double>(k), tile);
      if (std::max(words.read, words.written) < std::max(best.read, best.written)) best = words;
    }
  }
  return best;
}

/// HBM traffic with a block of the result and the operands' strips in the buffer: the whole of one operand or both
/// where they fit, else strips read again for every block.
Bytes hbm_bytes(const GemmWork& work, Bytes buffer) {
  const auto n = static_cast<double>(work.n), c = static_cast<double>(work.c), k = static_cast<double>(work.k);
  const double capacity = buffer / kSystolicWord / 2;  // half: the next strip loads meanwhile
  const double left = n * c, right = c * k, result = n * k;
  double words = left + right + result;
  if (std::min(left, right) > capacity) {
    const double side = std::sqrt(capacity);
    words = left * std::ceil(k / side) + right * std::ceil(n / side) + result;
  }
  const auto batch = static_cast<double>(work.batch);
  const double shared_right = work.weight ? (batch - 1) * right : 0;
  return kSystolicWord * std::max(batch * words - shared_right, batch * result + right);
}

std::int64_t share(std::int64_t total, std::int64_t parts) {
  return (total + parts - 1) / parts;
}

/// One core's part: whole products of the batch first, then rows or columns.
GemmCost one_core(const SystolicChip& chip, const GemmWork& part, const ChipRules& rules) {
  const auto n = static_cast<double>(part.n), c = static_cast<double>(part.c), k = static_cast<double>(part.k);
  const auto batch = static_cast<double>(part.batch);
  const PortWords words = rules.divisor_tiles ? port_words(n, c, k, divisor_tile(chip, 1, part.n, part.c, part.k))
                                              : best_words(chip, part.n, part.c, part.k);
  const double pes = static_cast<double>(chip.width) * chip.depth;
  const double macs = n * c * k / (pes * (rules.divisor_tiles ? 1 : utilisation(chip, n, c, k)));
  return {batch * std::max({macs, words.read / kPortWords, words.written / kPortWords}),
          batch * (words.read + words.written), Bytes()};
}

GemmCost split(const SystolicChip& chip, const GemmWork& work, int cores, const ChipRules& rules) {
  GemmWork part = work;
  if (part.weight) {  // one tall product
    part.n *= part.batch;
    part.batch = 1;
  }
  const std::int64_t by_batch = std::min<std::int64_t>(cores, part.batch), rest = cores / by_batch;
  part.batch = share(part.batch, by_batch);
  GemmWork by_rows = part, by_columns = part;
  by_rows.n = share(part.n, rest);
  by_columns.k = share(part.k, rest);
  const GemmCost rows = one_core(chip, by_rows, rules), columns = one_core(chip, by_columns, rules);
  GemmCost best = rows.cycles <= columns.cycles ? rows : columns;
  best.sram_words *= cores;
  best.cycles = std::max(best.cycles, kBufferShare * best.sram_words / kBufferWords);
  return best;
}

}  // namespace

GemmCost gemm_cost(const SystolicChip& chip, const GemmWork& work, int cores, const ChipRules& rules) {
  GemmCost cost = rules.one_sram_port ? compatible(chip, work, cores) : split(chip, work, cores, rules);
  cost.hbm = hbm_bytes(work, chip.buffer * (static_cast<double>(cores) / chip.tensor_cores));
  if (!rules.free_product_memory) cost.cycles = std::max(cost.cycles, cost.hbm / hbm_bandwidth(chip) * kSystolicClock);
  return cost;
}

}  // namespace tessera
