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
  columns,  // GEMM n / tp; weight gradient of a row-split layer
  rows,     // GEMM k / tp: partial sums
  m,        // GEMM m / tp: weight gradient of a column-split layer
  heads,    // attention heads and kv_heads / tp, bmm batch / tp, rows of scores / tp, memory bytes / tp
  width,    // vector h / tp, MoE inter / tp, memory bytes / tp
};

/// By how much tensor parallelism divides that dimension, where it is not simply tp.
enum class Share : std::uint8_t {
  tp,     // 1 / tp
  kv,     // key or value heads: 1 / min(tp, kv_heads), the rest are copies
  qkv,    // queries, keys and values in one matrix: the two above together
  vocab,  // 1 / tp of the vocabulary padded to a multiple of 128 tp (Megatron-LM's default)
};

/// An operator: one kernel call of one micro-batch on the whole model.
struct Operator {
  Kernel kernel;
  Phase phase = Phase::forward;
  std::int32_t layer = -1;  // -1: outside the layers (embedding, head, loss, optimizer)
  std::uint32_t name = 0;   // index into Graph::names
  Split split = Split::none;
  Share share = Share::tp;
  /// Sum over the tensor-parallel group after this operator (forward of row-split, backward of column-split); 0: none.
  Bytes reduced_over_tp;
  Bytes passed_over_cp{};  // sent on round the ring while it runs, for the next step of ring attention; 0: none
  Bytes routed_over_ep{};  // goes to the experts' ranks before it and comes back after; 0: none
  /// Set on the operator that completes this parameter's gradient.
  ParameterId gradient_of = kNoParameter;
  /// Computes or accumulates a parameter's gradient: backward goes on without it.
  bool parameter_gradient = false;
  bool core_attention = false;  // between the projections: what selective recomputation computes again
};

struct Parameter {
  std::uint32_t name = 0;
  std::int64_t elements = 0;
  std::int32_t layer = -1;
  Split split = Split::none;
  Share share = Share::tp;
  bool expert = false;  // divided by ep
};

/// Operators of one micro-batch. Dependencies are the issue order (one stream), as eager frameworks run it;
/// the optimizer's operators, if any, come last and run once per step.
struct Graph {
  std::string model{};
  std::vector<Operator> operators{};
  std::vector<Parameter> parameters{};
  std::vector<std::string> names{};
  Dtype dtype = Dtype::fp32;                        // of weights and gradients
  Bytes hidden_states{};                            // what a layer hands to the next one; 0: layers read others, too
  std::int64_t heads = 0, kv_heads = 0, vocab = 0;  // what Split::heads and Share::vocab divide; 0: not there
  std::int64_t experts = 0;                         // what ep divides
  ParameterId tied = kNoParameter;                  // the embedding that the head uses too

  std::uint32_t intern(std::string_view name);  // index of an equal name, added if new
};

/// Trainable elements, tied weights counted once.
std::int64_t parameter_count(const Graph& graph);

}  // namespace tessera
