#include "models/memory_footprint.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.hpp"
#include "sim/graph/pipeline.hpp"
#include "sim/graph/tensor_parallel.hpp"

namespace tessera {

namespace {

using namespace literals;

// What an idle PyTorch process holds on A100 and H100 (CUDA context, kernels, cuBLAS workspace): 0.5-0.7 GiB as
// nvidia-smi shows it; a NCCL communicator's channels: about 0.25 GiB. Assumptions, not fitted.
constexpr Bytes kContext = 0.6_GiB;
constexpr Bytes kCommunicator = 0.25_GiB;

/// Mixed precision keeps fp32 master weights beside the two moments.
constexpr double kMomentBytes = 8, kMasterBytes = 4;

class Footprint {
 public:
  /// Of the GPUs of one pipeline stage.
  Footprint(const ModelConfig& config, const BuildOptions& options, const Graph& graph, const ParallelSpec& spec,
            int stage)
      : c_(config),
        o_(options),
        spec_(spec),
        element_(element_size(options.dtype).value()),
        tp_(spec.tp),
        parameters_(local_parameters(graph, spec, stage)),
        stage_layers_(layers_of(config, spec, stage)),
        in_flight_(static_cast<double>(std::min<std::int64_t>(spec.pp - stage, spec.micro_batches))),
        last_(stage + 1 == spec.pp),
        vocab_(static_cast<double>(config.vocab) / tp_),
        tokens_(static_cast<double>(options.batch) * static_cast<double>(options.sequence)) {}

  MemoryFootprint components() {
    add("weights", parameters_ * element_, fmt::format("{} parameters x {} B", count(parameters_), element_));
    if (o_.mode == Mode::training) {
      training();
    } else {
      inference();
    }
    const int communicators = (spec_.tp > 1 ? 1 : 0) + (spec_.dp > 1 ? 1 : 0) + (spec_.pp > 1 ? 1 : 0);
    std::string formula = fmt::format("CUDA context and libraries {}", format(kContext));
    if (communicators > 0)
      formula += fmt::format(" + NCCL communicators {} x {}", communicators, format(kCommunicator));
    add("context", (kContext + communicators * kCommunicator).value(), std::move(formula));
    return std::move(result_);
  }

 private:
  static double local_parameters(const Graph& graph, const ParallelSpec& spec, int stage) {
    const TensorParallel tensor(graph, spec);
    const std::vector<int> stages = assign_stages(graph, spec.pp, spec.stage_layers).of_parameter;
    double sum = 0;
    for (std::size_t p = 0; p < stages.size(); ++p)
      if (stages[p] == stage) sum += static_cast<double>(tensor.local_elements(graph.parameters[p]));
    return sum;
  }
  static double layers_of(const ModelConfig& config, const ParallelSpec& spec, int stage) {
    const auto layers = static_cast<int>(config.layers + config.decoder_layers);
    if (spec.pp == 1) return layers;
    return static_cast<double>(std::ranges::count(stage_of_layers(layers, spec.pp, spec.stage_layers), stage));
  }

  static std::string count(double number) { return fmt::format("{:.4g} G", number * 1e-9); }

  void add(std::string name, double bytes, std::string formula) {
    result_.components.push_back({std::move(name), Bytes(bytes), std::move(formula)});
  }

  // --- widths per rank, in elements of one token ---
  [[nodiscard]] double query() const { return static_cast<double>(c_.heads * c_.head_dim) / tp_; }
  [[nodiscard]] double keys_and_values() const {
    const double heads = std::max(1.0, static_cast<double>(c_.kv_heads) / tp_);
    return 2 * heads * static_cast<double>(c_.head_dim);
  }
  [[nodiscard]] double hidden() const { return static_cast<double>(c_.hidden); }
  [[nodiscard]] double ffn() const { return static_cast<double>(c_.ffn) / tp_; }
  /// What one row keeps for the second matrix and the activation.
  [[nodiscard]] double ffn_kept() const { return (c_.gated_ffn ? 3 : 2) * ffn(); }
  /// Scores of one head and query: softmax's output, and with dropout its mask and the dropped output.
  [[nodiscard]] double scores_kept() const {
    if (o_.attention == AttentionKind::flash) return 0;
    const double each = c_.attention_dropout > 0 ? 2 * element_ + 1 : element_;
    return each * static_cast<double>(c_.heads) / tp_ * static_cast<double>(o_.sequence);
  }
  [[nodiscard]] double mask() const { return c_.dropout > 0 ? hidden() : 0; }  // one byte each

  /// Bytes a token leaves behind in an attention block: inputs of norm and projections; q, k, v, output; scores; mask.
  [[nodiscard]] double attention_block() const {
    return element_ * (2 * hidden() + 2 * query() + keys_and_values()) + scores_kept() + mask();
  }
  /// In a feed-forward block: inputs of norm and first matrix; the inner tensors; mask.
  [[nodiscard]] double dense_block() const { return element_ * (2 * hidden() + ffn_kept()) + mask(); }
  /// The same with experts: every visited expert gathers its input and keeps its inner tensors.
  [[nodiscard]] double sparse_block() const {
    double rows = static_cast<double>(c_.experts_per_token);
    if (c_.expert_capacity > 0 && o_.attention == AttentionKind::eager) {
      rows = static_cast<double>(c_.experts * c_.expert_capacity) / static_cast<double>(o_.sequence);
    }
    return element_ * (2 * hidden() + rows * (hidden() + ffn_kept())) + mask();
  }
  [[nodiscard]] double layers_kept() const {
    const auto decoder = static_cast<double>(c_.decoder_layers), layers = static_cast<double>(c_.layers) + decoder;
    const double sparse = c_.experts > 0 ? layers / static_cast<double>(c_.expert_step) : 0;
    const double all =
        (layers + decoder) * attention_block() + (layers - sparse) * dense_block() + sparse * sparse_block();
    return all * stage_layers_ / layers;
  }

  void training() {
    const bool wide = element_ >= 4, adam = o_.optimizer == OptimizerKind::adam;
    add("gradients", parameters_ * element_,
        fmt::format("{} parameters x {} B, in the buckets that are reduced", count(parameters_), element_));
    const double state = wide ? kMomentBytes : kMasterBytes + kMomentBytes;
    add("optimizer", adam ? parameters_ * state : 0,
        adam ? fmt::format("Adam: {} parameters x {} B ({}two fp32 moments)", count(parameters_), state,
                           wide ? "" : "fp32 master weights, ")
             : "no optimizer");
    const double outside = last_ ? 2 * element_ * hidden() + mask() : mask();  // final norm and head; embedding dropout
    add("activations", in_flight_ * tokens_ * (layers_kept() + outside),
        fmt::format("{:.0f} tokens x ({:.4g} B of {} layers + {:.4g} B outside), {}, no recomputation", tokens_,
                    layers_kept(), stage_layers_, outside,
                    in_flight_ > 1 ? fmt::format("{} micro-batches of 1F1B", in_flight_) : "one micro-batch"));
    const double per_logit = 2 * element_ + (adam ? 4 : 0);
    const bool logits = last_ && (c_.training_head == Head::language_model || c_.training_head == Head::pretraining);
    add("buffers", logits ? tokens_ * vocab_ * per_logit : 0,
        fmt::format("logits of {:.0f} tokens x {:.0f} words x {} B (values, gradients{})", logits ? tokens_ : 0.0,
                    vocab_, per_logit, adam ? ", fp32 loss" : ""));
  }

  void inference() {
    if (c_.causal && c_.decoder_layers == 0) {
      const double cache = keys_and_values() * stage_layers_ * element_;
      add("kv cache", tokens_ * cache,
          fmt::format("{:.0f} tokens x {:.4g} B of {} layers", tokens_, cache, stage_layers_));
    }
    // Residual and block input stay while the widest inner tensors live; scores before and after softmax.
    const bool eager = o_.attention == AttentionKind::eager;
    const double scores =
        eager ? 2 * element_ * static_cast<double>(c_.heads) / tp_ * static_cast<double>(o_.sequence) : 0;
    const double attention = element_ * (2 * query() + keys_and_values()) + scores;
    const double live = element_ * 2 * hidden() + std::max(attention, element_ * ffn_kept());
    add("activations", tokens_ * live, fmt::format("{:.0f} tokens x {:.4g} B live at once", tokens_, live));
    const bool logits = last_ && c_.head == Head::language_model;
    const double rows = eager ? tokens_ : static_cast<double>(o_.batch);
    add("buffers", logits ? rows * vocab_ * element_ : 0,
        fmt::format("logits of {:.0f} tokens x {:.0f} words x {} B", logits ? rows : 0.0, vocab_, element_));
  }

  const ModelConfig& c_;
  const BuildOptions& o_;
  const ParallelSpec& spec_;
  double element_, tp_, parameters_;
  double stage_layers_, in_flight_;  // layers of the stage; micro-batches that it keeps
  bool last_;
  double vocab_, tokens_;
  MemoryFootprint result_;
};

}  // namespace

Bytes MemoryFootprint::total() const {
  Bytes sum;
  for (const MemoryComponent& component : components) sum += component.size;
  return sum;
}

MemoryFootprint memory_footprint(const ModelConfig& config, const BuildOptions& options, const Graph& graph,
                                 const ParallelSpec& spec) {
  if (!config.network.empty()) return network_footprint(options, graph, kContext);
  MemoryFootprint fullest;
  for (int stage = 0; stage < spec.pp; ++stage) {
    MemoryFootprint footprint = Footprint(config, options, graph, spec, stage).components();
    if (fullest.components.empty() || footprint.total() > fullest.total()) fullest = std::move(footprint);
  }
  return fullest;
}

}  // namespace tessera
