// How a matrix multiplication is cut into thread blocks: candidate tiles, split-k, waves, and the choice among them.
#pragma once

#include <cstdint>
#include <span>

#include "models/device.hpp"
#include "models/kernel_cost.hpp"
#include "sim/graph/kernel.hpp"

namespace tessera {

/// Output tile of one block, and what the block holds.
struct GemmTile {
  int m = 0, n = 0;
  int threads = 128, registers_per_thread = 128;
  int k_step = 32;  // bytes of one row of an operand in one stage
  int stages = 2;
};

/// The tiles that libraries use for a way of multiplying on a generation of GPUs.
std::span<const GemmTile> gemm_tiles(MatrixUnit unit, const GpuSpec& gpu, bool batched);

/// What a block of this tile holds on its SM.
BlockFootprint footprint(const GemmTile& tile);

/// One way to run a GEMM, and its closed-form time.
struct GemmPlan {
  GemmTile tile;
  int split_k = 1;
  std::int64_t tiles_m = 1, tiles_n = 1;  // per batch entry
  std::int64_t blocks = 1;                // batch and split included
  int blocks_per_sm = 1;
  Flops executed;  // padding included
  Bytes l2_bytes;  // what blocks read from L2
  Seconds compute, memory, reduction;
  Seconds time;
};

/// The numbers of the closed form that are fitted; cycles are of the boost clock.
struct GemmConstants {
  double half_side = 12;           // harmonic tile side at which an SM reaches half its rate
  double start_cycles = 2500;      // launch to first multiply-add, and the last store
  double tile_cycles = 1000;       // filling and draining one tile, shared by the blocks of an SM
  double reduction_cycles = 2000;  // the second pass of split-k, besides its bytes
  double l2_share = 0.7;           // of the L2 rate
  double memory_share = 1;         // of the device's sustained memory rate
  double store_share = 0;          // of a tile's store into L2 that no multiply-add hides
  double visit_cycles = 0;         // of an SM per result whose epilogue multiplies it by its scales
};

/// What decides besides the shape.
struct GemmContext {
  FlopsPerSec rate;        // sustained by all SMs
  FlopsPerSec uncapped{};  // of all SMs where power does not bind; never below rate
  MatrixUnit unit = MatrixUnit::none;
  double element = 4;  // bytes of an operand's element, and of the result's
  double result = 4;
  bool split_k = true;   // whether the library cuts k among blocks
  bool visited = false;  // whether the epilogue scales every result by itself (CUTLASS 2.x, mma.sync)
  Bytes hbm_bytes;       // L2 hits left out
  GemmConstants constants{};
};

/// The closed-form time of one candidate.
GemmPlan plan_gemm(const GemmShape& shape, const GemmTile& tile, int split_k, const GemmContext& context,
                   const Device& device);
/// The fastest candidate; what a library's heuristic approximates.
GemmPlan choose_gemm(const GemmShape& shape, const GemmContext& context, const Device& device);

}  // namespace tessera
