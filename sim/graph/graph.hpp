// A model as operators in the order a framework issues them, before any parallelism.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/graph/kernel.hpp"

namespace tessera {

enum class OperatorId : std::uint32_t {};
enum class ParameterId : std::uint32_t {};
inline constexpr ParameterId kNoParameter{0xffffffffu};

enum class Phase : std::uint8_t { forward, backward, accumulate, optimizer };
std::string_view to_string(Phase phase);

/// Which dimension of a kernel tensor parallelism divides (Megatron-LM, arXiv 1909.08053, section 3).
enum class Split : std::uint8_t {
  none,     // every rank does the whole
  columns,  // GEMM n / tp
  rows,     // GEMM k / tp: partial sums
  m,        // GEMM m / tp: weight gradient of a row-split layer
  heads,    // attention heads and kv_heads / tp, bmm batch / tp, softmax rows / tp
  width,    // vector h / tp, memory bytes / tp
};

/// An operator: one kernel call of one micro-batch on the whole model.
struct Operator {
  Kernel kernel;
  Phase phase = Phase::forward;
  std::int32_t layer = -1;  // -1: outside the layers (embedding, head, loss, optimizer)
  std::uint32_t name = 0;   // index into Graph::names
  Split split = Split::none;
  /// Sum over the tensor-parallel group after this operator (forward of row-split, backward of column-split); 0: none.
  Bytes reduced_over_tp;
  /// Set on the operator that completes this parameter's gradient.
  ParameterId gradient_of = kNoParameter;
};

struct Parameter {
  std::uint32_t name = 0;
  std::int64_t elements = 0;
  std::int32_t layer = -1;
  Split split = Split::none;
};

/// Operators of one micro-batch. Dependencies are the issue order (one stream), as eager frameworks run it;
/// the optimizer's operators, if any, come last and run once per step.
struct Graph {
  std::string model;
  std::vector<Operator> operators;
  std::vector<Parameter> parameters;
  std::vector<std::string> names;

  std::uint32_t intern(std::string_view name);  // index of an equal name, added if new
};

/// Trainable elements, tied weights counted once.
std::int64_t parameter_count(const Graph& graph);

}  // namespace tessera
