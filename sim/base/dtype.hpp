// Number formats that kernels compute in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/units.hpp"

namespace tessera {

enum class Dtype : std::uint8_t { fp32, tf32, fp16, bf16, fp8, int8, nvfp4 };

inline constexpr std::array kDtypes{Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16,
                                    Dtype::fp8,  Dtype::int8, Dtype::nvfp4};
inline constexpr std::size_t kDtypeCount = kDtypes.size();

std::string_view to_string(Dtype dtype);
std::optional<Dtype> parse_dtype(std::string_view name);

/// Bytes per stored element; tf32 is stored as fp32; nvfp4 is 4 bits plus an fp8 scale per 16 elements.
Bytes element_size(Dtype dtype);

}  // namespace tessera
