// Builds a graph module by module: operators forward, and a tape from which backward is played in reverse.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/graph/graph.hpp"
#include "sim/graph/model_config.hpp"

namespace tessera {

/// An operator before it has its place in the graph.
struct Step {
  std::string name{};
  Kernel kernel;
  Split split = Split::none;
  Share share = Share::tp;
  Bytes reduced_over_tp{};
  ParameterId gradient_of = kNoParameter;
  bool parameter_gradient = false;
  Phase phase = Phase::backward;  // of a step on the tape
  Bytes passed_over_cp{}, routed_over_ep{};
};
using Steps = std::vector<Step>;

/// Megatron-LM's two ways to split a linear layer: its outputs, or its inputs (partial sums, then a sum over tp).
enum class Parallel : std::uint8_t { none, column, row };

struct Linear {
  std::string_view name{};
  std::int64_t rows = 0, in = 0, out = 0;
  bool bias = false;
  Parallel parallel = Parallel::none;
  Share share = Share::tp;
  bool sums_over_tp = true;         // false: the caller sums (the gradients of a branch, the outputs of experts)
  bool narrow = true;               // in BuildOptions::products
  ParameterId tied = kNoParameter;  // weight that another module owns and completes
};

class GraphBuilder {
 public:
  GraphBuilder(Graph& graph, const ModelConfig& model, const BuildOptions& how)
      : config(model), options(how), graph_(graph) {}

  const ModelConfig& config;
  const BuildOptions& options;

  [[nodiscard]] bool training() const { return options.mode == Mode::training; }
  /// Layers of fused kernels, whatever their attention's core is.
  [[nodiscard]] bool flash() const { return options.attention != AttentionKind::eager; }
  /// Of one context-parallel rank.
  [[nodiscard]] std::int64_t sequence() const { return options.sequence / options.context; }
  [[nodiscard]] std::int64_t tokens() const { return options.batch * sequence(); }
  [[nodiscard]] bool mixed() const { return element_size(options.dtype) < Bytes(4); }
  void set_layer(std::int64_t layer) { layer_ = static_cast<std::int32_t>(layer); }
  /// What is emitted forward from here on is the attention core, or is not.
  void set_core_attention(bool core) { core_attention_ = core; }

  // --- kernels in the model's dtype ---
  [[nodiscard]] Kernel vector(Op op, std::int64_t rows, std::int64_t h) const;
  [[nodiscard]] Kernel gemm(Op op, const GemmShape& shape) const;
  /// Of a linear layer: `narrow` ones are in the type of BuildOptions::products.
  [[nodiscard]] Kernel product(Op op, const GemmShape& shape, bool narrow) const;
  /// Moves so many elements of the model's dtype.
  [[nodiscard]] Kernel memory(std::int64_t read, std::int64_t written) const;
  [[nodiscard]] Kernel bytes(Bytes read, Bytes written) const;
  [[nodiscard]] Bytes size(std::int64_t elements) const;

  // --- emission ---
  void forward(const Step& step);
  /// Backward of what was just emitted: played, in this order, before all that is on the tape. Inference: ignored.
  void backward(Steps steps);
  /// A chain of elementwise kernels, or the one kernel that a fusing compiler makes of it.
  void chain(const Step& fused_forward, const Steps& forward, const Step& fused_backward, const Steps& backward);
  void play_backward();
  void optimize(const Step& step) { emit(step, Phase::optimizer, layer_); }

  // --- parameters ---
  ParameterId parameter(std::string_view name, std::int64_t elements, Split split = Split::none,
                        Share share = Share::tp);
  /// The steps that add a fresh gradient into the accumulated one, or mark `last` as completing it.
  void complete(Steps& steps, ParameterId parameter) const;

  // --- modules ---
  void linear(const Linear& linear);
  /// fp8 training: a tensor of the model's type cast, as it is and transposed for the gradient of the weights.
  [[nodiscard]] std::optional<Step> cast(const Linear& l, std::int64_t elements, int copies, Split split) const;
  void cast_rows_again(const Linear& l, Split input, Steps& backward) const;
  void layernorm(std::string_view name, std::int64_t rows, std::int64_t h);
  /// `unfused`: the kernels that Hugging Face's module launches.
  void rmsnorm(std::string_view name, std::int64_t rows, std::int64_t h, bool unfused, Split split = Split::none,
               Share share = Share::tp);
  void norm(std::string_view name, std::int64_t rows);
  void dropout(std::string_view name, std::int64_t elements, double probability, Split split = Split::none);
  void activation(std::string_view name, Activation activation, std::int64_t rows, std::int64_t h, Split split);
  /// Token table of `rows_of_table` rows: returns the weight; its gradient is completed by `embedding`'s backward.
  ParameterId embedding(std::string_view name, std::int64_t lookups, std::int64_t rows_of_table, bool split_vocabulary,
                        bool tied);
  /// A sum of two tensors whose gradient passes through.
  void add(std::string_view name, std::int64_t rows, std::int64_t h);
  void tie(ParameterId table) { graph_.tied = table; }
  void divide_by_experts(ParameterId parameter) {
    graph_.parameters[static_cast<std::size_t>(parameter)].expert = true;
  }
  /// A copy (contiguous, reshape) whose gradient passes through.
  void copy(std::string_view name, std::int64_t elements, Split split = Split::none, Share share = Share::tp);
  /// What a tensor's `uses` readers send back is added up; `sum_over_tp`: they are column-parallel layers.
  void branch(std::string_view name, std::int64_t rows, std::int64_t h, std::int64_t uses, bool sum_over_tp = false);

 private:
  void emit(const Step& step, Phase phase, std::int32_t layer);
  Steps gelu_new_backward(std::string_view name, std::int64_t rows, std::int64_t h, Split split) const;

  struct TapeEntry {
    std::int32_t layer;
    Steps steps;
  };
  Graph& graph_;
  std::int32_t layer_ = -1;
  bool core_attention_ = false;
  std::vector<TapeEntry> tape_;
};

}  // namespace tessera
