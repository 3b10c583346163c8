// Two-dimensional convolutions: the row of the family table.
#pragma once

#include <array>
#include <string_view>

#include "models/family.hpp"

namespace tessera {

inline constexpr std::array<std::string_view, 9> kConvInputs{"log_winograd_over_direct",
                                                             "log_memory_over_base",
                                                             "log_base_over_floor",
                                                             "log_rounds",
                                                             "log_m",
                                                             "log_n",
                                                             "log_k",
                                                             "log_image",
                                                             "log_batch"};

// cuDNN calls take several kernels; what the smallest takes, alone and with PyTorch's host time before it.
inline constexpr std::array kConvConstants{NamedConstant{"floor_s", 5e-6}, NamedConstant{"eager_floor_s", 50e-6}};

KernelAnalysis analyse_conv(const Kernel&, const Device&, const PredictContext&, const FamilyWeights&);

}  // namespace tessera
