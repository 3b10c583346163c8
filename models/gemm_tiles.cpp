#include "models/gemm_tiles.hpp"

#include "models/family.hpp"
#include "models/occupancy.hpp"

namespace tessera {

namespace {

// Tiles by kernel names: cuBLAS and MAGMA sgemm (NeuSight's profiles), CUTLASS defaults per architecture, rocBLAS
// macro-tiles. {m, n, threads, registers, k_step bytes, stages}
constexpr std::array kLaneTiles{GemmTile{32, 32, 64, 80, 32, 2},     GemmTile{64, 32, 64, 96, 32, 2},
                                GemmTile{32, 64, 64, 96, 32, 2},     GemmTile{64, 64, 64, 120, 32, 2},
                                GemmTile{128, 32, 128, 96, 32, 2},   GemmTile{32, 128, 128, 96, 32, 2},
                                GemmTile{128, 64, 128, 120, 32, 2},  GemmTile{64, 128, 128, 120, 32, 2},
                                GemmTile{128, 128, 256, 122, 32, 2}, GemmTile{256, 128, 256, 200, 32, 2}};
// Strided batches: cuBLAS 12.1 has one favourite per generation (NeuSight's profiles: 99 % of A100's and Pascal's
// rows).
constexpr std::array kLaneBatchedTiles{GemmTile{128, 128, 256, 122, 32, 2}};
constexpr std::array kOldLaneBatchedTiles{GemmTile{64, 64, 64, 120, 32, 2}, GemmTile{64, 128, 128, 120, 32, 2},
                                          GemmTile{128, 32, 128, 96, 32, 2}, GemmTile{32, 128, 128, 96, 32, 2}};
// Pascal: 99 % of P100's and P4's batches, and most of their linear layers.
constexpr std::array kPascalTiles{GemmTile{128, 32, 128, 96, 32, 2}, GemmTile{32, 128, 128, 96, 32, 2},
                                  GemmTile{64, 64, 64, 120, 32, 2}};
constexpr std::array kPascalBatchedTiles{GemmTile{64, 128, 128, 120, 32, 2}};
constexpr std::array kMmaTiles{
    GemmTile{16, 64, 64, 64, 64, 4},    GemmTile{32, 64, 64, 96, 64, 4},    GemmTile{64, 32, 64, 96, 64, 4},
    GemmTile{64, 64, 128, 96, 64, 4},   GemmTile{128, 32, 128, 96, 64, 4},  GemmTile{32, 128, 128, 96, 64, 4},
    GemmTile{128, 64, 128, 128, 64, 4}, GemmTile{64, 128, 128, 128, 64, 4}, GemmTile{128, 128, 128, 200, 64, 4},
    GemmTile{256, 64, 128, 200, 64, 3}, GemmTile{64, 256, 128, 200, 64, 3}, GemmTile{256, 128, 256, 220, 64, 3},
    GemmTile{128, 256, 256, 220, 64, 3}};
constexpr std::array kWgmmaTiles{GemmTile{64, 16, 128, 90, 128, 6},    GemmTile{64, 32, 128, 90, 128, 6},
                                 GemmTile{64, 64, 128, 120, 128, 6},   GemmTile{64, 128, 128, 168, 128, 5},
                                 GemmTile{128, 64, 256, 120, 128, 5},  GemmTile{64, 256, 128, 168, 128, 4},
                                 GemmTile{128, 128, 384, 168, 128, 4}, GemmTile{256, 64, 384, 168, 128, 4},
                                 GemmTile{128, 256, 384, 168, 128, 4}, GemmTile{256, 128, 384, 168, 128, 4}};
constexpr std::array kTcgen05Tiles{GemmTile{64, 16, 192, 90, 128, 8},    GemmTile{64, 32, 192, 90, 128, 8},
                                   GemmTile{64, 64, 192, 128, 128, 7},   GemmTile{128, 32, 192, 90, 128, 8},
                                   GemmTile{128, 64, 192, 128, 128, 7},  GemmTile{128, 128, 192, 128, 128, 6},
                                   GemmTile{128, 192, 192, 128, 128, 5}, GemmTile{128, 256, 192, 128, 128, 4},
                                   GemmTile{256, 128, 192, 128, 128, 4}, GemmTile{256, 256, 192, 128, 128, 3}};
constexpr std::array kMfmaTiles{
    GemmTile{32, 32, 64, 96, 64, 1},     GemmTile{64, 32, 128, 96, 64, 1},    GemmTile{32, 64, 128, 96, 64, 1},
    GemmTile{64, 64, 256, 96, 64, 1},    GemmTile{128, 64, 256, 128, 64, 1},  GemmTile{64, 128, 256, 128, 64, 1},
    GemmTile{128, 128, 256, 168, 64, 1}, GemmTile{256, 128, 256, 256, 64, 1}, GemmTile{128, 256, 256, 256, 64, 1}};

// Ampere and later have 100 KiB and more of shared memory, and kernels that copy into it asynchronously.
constexpr Bytes kAsyncCopySharedMemory{100 * 1024.0};
constexpr std::array kSplits{1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
constexpr std::int64_t kShortestSlice = 128;  // of k; shorter ones are not shipped

// Share of the rate = side / (side + half), relative to a large tile's, which the sustained rate already contains.
constexpr double kLaneSide = 128, kMatrixSide = 170;
// Pascal's schedulers feed 32 lanes each, so that every load takes an FFMA's slot, and a small tile loads more per
// FFMA: NeuSight's P100 reaches 0.64 and 0.74 of peak in two sessions with tiles of 128 x 32 (linear), 0.80 and 0.89
// with 64 x 128 (bmm).
constexpr double kPascalSide = 77, kPascalHalf = 50;
// A long row of a k-contiguous operand puts each row of a tile on its own page: TLB misses. Pascal's reach is short.
// Time grows by up to this share; half of it at rows of kLongRow bytes. (NeuSight's linear: 0.36 of the rate on P100,
// 0.65 on P4, 0.83 on V100 and A100 at k = 65536.)
constexpr double kLongRow = 64 * 1024, kLongRowCost = 0.2, kLongRowCostPascal = 1.2;
// Clusters of two SMs load a shared operand once (Hopper's multicast, Blackwell's paired SMs).
constexpr double kClusterTraffic = 0.5;
// Blocks of one SM fill and drain their tiles beside each other's multiply-adds, up to this many.
constexpr int kOverlappedTiles = 2;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

bool is_pascal(const GpuSpec& gpu) {
  return gpu.vendor == "NVIDIA" && gpu.matrix_unit == MatrixUnit::none;
}

double tile_efficiency(const GemmTile& tile, double large, double half) {
  const double side = 2.0 * tile.m * tile.n / (tile.m + tile.n);
  return side / (side + half) * (large + half) / large;
}

double long_row_slowdown(const GemmShape& shape, const GemmContext& context, const Device& device) {
  if (shape.layout != GemmLayout::tn || context.unit != MatrixUnit::none) return 1;
  const double cost = is_pascal(device.spec) ? kLongRowCostPascal : kLongRowCost;
  const double rows = static_cast<double>(shape.k) * context.element / kLongRow;
  return 1 + cost * rows * rows / (1 + rows * rows);
}

/// All SMs at the clock that these of them leave: the power cap is one for the board.
FlopsPerSec rate(const GemmContext& context, double busy_ratio) {
  return max(context.rate, min(context.uncapped, context.rate / busy_ratio));
}

/// What all SMs would reach with this tile.
FlopsPerSec tile_rate(const GemmTile& tile, const GemmContext& context, const GpuSpec& gpu, double busy_ratio) {
  const double large = context.unit == MatrixUnit::none ? kLaneSide : kMatrixSide;
  const FlopsPerSec powered = rate(context, busy_ratio) * tile_efficiency(tile, large, context.constants.half_side);
  if (!is_pascal(gpu)) return powered;
  const FlopsPerSec uncapped = max(context.rate, context.uncapped);
  const FlopsPerSec issued = uncapped * tile_efficiency(tile, kPascalSide, kPascalHalf);
  return context.rate < uncapped ? min(issued, powered) : issued;
}

bool has_clusters(MatrixUnit unit) {
  return unit == MatrixUnit::wgmma || unit == MatrixUnit::tcgen05;
}

}  // namespace

std::span<const GemmTile> gemm_tiles(MatrixUnit unit, const GpuSpec& gpu, bool batched) {
  switch (unit) {
    case MatrixUnit::none:
      if (is_pascal(gpu)) return batched ? std::span<const GemmTile>(kPascalBatchedTiles) : kPascalTiles;
      if (!batched) return kLaneTiles;
      return gpu.shared_memory_per_sm < kAsyncCopySharedMemory ? std::span<const GemmTile>(kOldLaneBatchedTiles)
                                                               : kLaneBatchedTiles;
    case MatrixUnit::mma_sync:
      return kMmaTiles;
    case MatrixUnit::wgmma:
      return kWgmmaTiles;
    case MatrixUnit::tcgen05:
      return kTcgen05Tiles;
    case MatrixUnit::mfma:
      return kMfmaTiles;
  }
  return kLaneTiles;
}

BlockFootprint footprint(const GemmTile& tile) {
  return {.threads = tile.threads,
          .registers_per_thread = tile.registers_per_thread,
          .shared_memory = Bytes(static_cast<double>(tile.m + tile.n) * tile.k_step * tile.stages)};
}

GemmPlan plan_gemm(const GemmShape& shape, const GemmTile& tile, int split_k, const GemmContext& context,
                   const Device& device) {
  GemmPlan plan;
  plan.tile = tile;
  plan.split_k = split_k;
  plan.tiles_m = ceil_div(shape.m, tile.m);
  plan.tiles_n = ceil_div(shape.n, tile.n);
  const std::int64_t outputs = shape.batch * plan.tiles_m * plan.tiles_n;
  plan.blocks = outputs * split_k;
  const int sms = device.spec.sms;
  const auto slice = static_cast<double>(ceil_div(shape.k, split_k));
  const double side_sum = tile.m + tile.n;
  const double tile_flops = 2.0 * tile.m * tile.n * slice;
  plan.executed = Flops(tile_flops * static_cast<double>(plan.blocks));
  plan.l2_bytes = Bytes(static_cast<double>(plan.blocks) * side_sum * slice * context.element *
                        (has_clusters(context.unit) ? kClusterTraffic : 1));
  // The busiest SM decides: blocks are dealt out one by one.
  const auto rounds = static_cast<double>(ceil_div(plan.blocks, sms));
  const Hertz clock = device.spec.boost_clock;
  const GemmConstants& c = context.constants;
  const double busy = std::min(1.0, static_cast<double>(plan.blocks) / sms);
  const FlopsPerSec per_sm = tile_rate(tile, context, device.spec, busy) / static_cast<double>(sms);
  plan.blocks_per_sm = resident_blocks(device.spec, footprint(tile));
  const Seconds store = Bytes(1.0 * tile.m * tile.n * context.result) / (device.l2 * c.l2_share) * sms;
  const double visit_cycles = context.visited ? c.visit_cycles * tile.m * tile.n : 0;
  plan.compute =
      Flops(rounds * tile_flops) / per_sm * long_row_slowdown(shape, context, device) + visit_cycles * rounds / clock +
      (c.tile_cycles / clock + store * c.store_share) * (rounds / std::min(plan.blocks_per_sm, kOverlappedTiles));
  const BytesPerSec draw = min(device.hbm * c.memory_share, device.hbm_per_sm * (busy * sms));
  plan.memory = max(context.hbm_bytes / draw, plan.l2_bytes / (device.l2 * (busy * c.l2_share)));
  if (split_k > 1) {
    const double partial = static_cast<double>(shape.batch * shape.m * shape.n) * 4.0 * (split_k + 1);
    plan.reduction = Bytes(partial) / (device.l2 * c.l2_share) + c.reduction_cycles / clock;
  }
  plan.time = max(plan.compute, plan.memory) + plan.reduction + c.start_cycles / clock;
  return plan;
}

GemmPlan choose_gemm(const GemmShape& shape, const GemmContext& context, const Device& device) {
  GemmPlan best;
  for (const GemmTile& tile : gemm_tiles(context.unit, device.spec, shape.batch > 1)) {
    for (int split : kSplits) {
      if (split > 1 && (!context.split_k || shape.k < split * kShortestSlice)) break;
      const GemmPlan plan = plan_gemm(shape, tile, split, context, device);
      if (best.time.value() == 0 || plan.time < best.time) best = plan;
      // More slices than SM slots only cost.
      if (plan.blocks >= 2 * std::int64_t{device.spec.sms}) break;
    }
  }
  return best;
}

}  // namespace tessera
