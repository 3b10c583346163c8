// Kernels bound by memory: rows of the family table for elementwise, row-wise and byte-moving operators.
#pragma once

#include <array>

#include "models/family.hpp"

namespace tessera {

/// Order of kVectorConstants.
enum class VectorConstant : std::uint8_t { eager, eager_hidden, pow_cycles, pow_cycles_wave64 };

inline constexpr std::array kVectorConstants{
    // Host time before the kernel starts, of a PyTorch call timed by two events; the call's return hides what follows.
    NamedConstant{"eager_s", 14e-6},
    NamedConstant{"eager_hidden_s", 13e-6},
    // Clock cycles of a lane per power, by the width of a warp: 32 (NVIDIA) and 64 (AMD).
    NamedConstant{"pow_lane_cycles", 52},
    NamedConstant{"pow_lane_cycles_wave64", 185},
};

/// Order of kRowsConstants.
enum class RowsConstant : std::uint8_t {
  eager_softmax,
  eager_norm,
  eager_hidden,
  softmax_block,
  softmax_vector_step,
  softmax_scalar_step,
  softmax_warp,
  softmax_warp_issue,
  norm_block,
  norm_step,
  norm_fixed_issue,
  norm_issue,
  wave64_latency,
  eager_wave64,
};

inline constexpr std::array kRowsConstants{
    NamedConstant{"eager_softmax_s", 20e-6},
    NamedConstant{"eager_norm_s", 40e-6},
    NamedConstant{"eager_hidden_s", 13e-6},
    // Clock cycles: of one block from start to end (fixed, and per dependent step over its row); of one warp scheduler
    // per warp and step.
    NamedConstant{"softmax_block_cycles", 8000},
    NamedConstant{"softmax_vector_step_cycles", 1500},
    NamedConstant{"softmax_scalar_step_cycles", 1500},
    NamedConstant{"softmax_warp_cycles", 2000},
    NamedConstant{"softmax_warp_issue_cycles", 20},
    NamedConstant{"norm_block_cycles", 3000},
    NamedConstant{"norm_step_cycles", 500},
    NamedConstant{"norm_fixed_issue_cycles", 275},
    NamedConstant{"norm_issue_cycles", 125},
    // A block's cycles where a warp has 64 lanes (AMD), relative.
    NamedConstant{"wave64_latency", 2.5},
    // Host time of a call there, relative: AMD's rows ran PyTorch 2.4, NVIDIA's 2.1.
    NamedConstant{"eager_wave64", 0.8},
};

/// As kVectorConstants.
inline constexpr std::array kMemoryConstants{NamedConstant{"eager_s", 14e-6}, NamedConstant{"eager_hidden_s", 13e-6}};

/// Elementwise, and the backwards that are priced by their bytes.
KernelAnalysis analyse_vector(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);
/// softmax, layernorm, rmsnorm: kernels that walk over rows.
KernelAnalysis analyse_rows(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);
/// Copies, look-ups, optimizer steps: bytes alone.
KernelAnalysis analyse_memory(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);

}  // namespace tessera
