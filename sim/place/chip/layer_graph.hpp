// The operators of one layer as a chip sees them: products, vector functions and what is fused to what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/place/schedule/problem.hpp"

namespace tessera {

/// `batch` products of n x c times c x k. `weight`: the c x k operand is a parameter, the same for the whole batch.
struct GemmWork {
  std::int64_t batch = 1, n = 0, c = 0, k = 0;
  bool weight = false;
  friend bool operator==(const GemmWork&, const GemmWork&) = default;
};

/// Functions of a vector core; `view` takes no time.
enum class VectorOp : std::uint8_t {
  view,
  add,
  multiply,
  negate,
  divide,
  power,
  mean,
  root,
  sine,
  cosine,
  relu,
  gelu,
  silu,
  tanh,
  softmax,
  dropout,
  mask,
  layernorm
};

struct LayerOperator {
  std::string name;
  CoreClass core = CoreClass::none;
  GemmWork gemm{};                       // tensor, fused
  VectorOp vector = VectorOp::view;      // vector
  std::vector<VectorOp> fused{};         // followers: of the product, or of the vector function
  std::int64_t elements = 0;             // of the output, per micro-batch
  std::int64_t operands = 1;             // tensors of that size that it reads
  std::int64_t parameter_elements = 0;   // of a vector function's weight: its gradient is summed
  std::optional<bool> summed_forward{};  // a sum over the tensor-parallel group: in forward, or in backward
};

/// One layer; edges in forward direction, backward is their reverse.
struct LayerGraph {
  std::string name;
  std::vector<LayerOperator> operators{};
  std::vector<Precedence> edges{};
  std::int64_t parameter_elements = 0;
  std::int64_t traced_elements = 0;  // outputs of all traced nodes (the original's activations)
  std::int64_t kept_elements = 0;    // what backward reads
};

/// A model at one tensor width: its distinct layers and their order.
struct WidthLayers {
  int width = 1;
  std::vector<LayerGraph> distinct;
  std::vector<int> order{};  // index into `distinct`
  Bytes boundary{};          // from one layer to the next
};

struct ChipModel {
  std::string name;
  std::int64_t micro_batch = 1;
  std::vector<WidthLayers> widths;  // ascending
};

}  // namespace tessera
