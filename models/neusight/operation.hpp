// Kernels as NeuSight sees them: one of five nets, a plain transfer, or nothing that it has a model for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/gpu.hpp"
#include "sim/graph/kernel.hpp"

namespace tessera::neusight {

/// The learned models, and MEM: bytes at full bandwidth.
enum class Kind : std::uint8_t { bmm, linear, elementwise, softmax, layernorm, memory };
inline constexpr std::size_t kNets = 5;
inline constexpr std::array<std::string_view, kNets> kNetNames{"bmm", "linear", "elementwise", "softmax", "layernorm"};
constexpr bool is_matrix(Kind kind) {
  return kind == Kind::bmm || kind == Kind::linear;
}

/// Matrices: out[m,n] = A[m,k] B[k,n], b times. Vectors: `b` rows of `n`.
struct Operation {
  Kind kind = Kind::memory;
  Op op = Op::memory;  // rows of the tile table of this very operator
  std::int64_t b = 1, m = 0, n = 0, k = 0;
  double bytes_per_output = 0, ops_per_output = 0;  // vectors
  Bytes bytes{};                                    // memory
};

/// Elementwise, softmax or LayerNorm over fp32; the paper's bytes and operations per output element.
Operation vector_operation(Op op, std::int64_t rows, std::int64_t h);

/// What a kernel amounts to, backward kernels as the sum that the paper derives for them. Throws RunError on another
/// dtype than fp32 and on operators that NeuSight has no model for.
std::vector<Operation> operations_of(const Kernel& kernel);

/// The five numbers that NeuSight knows of a GPU, in its units.
struct GpuNumbers {
  double sms = 0, gflops = 0, memory_gb = 0, bandwidth_gbs = 0, l2_mb = 0;
};
GpuNumbers numbers_of(const GpuSpec& gpu);

}  // namespace tessera::neusight
