#include "models/activations.hpp"

#include <algorithm>

#include "sim/graph/pipeline.hpp"

namespace tessera {

LayerActivations::LayerActivations(const ModelConfig& config, const BuildOptions& options, const ParallelSpec& spec)
    : c_(config), o_(options), spec_(spec), element_(element_size(options.dtype).value()), tp_(spec.tp) {}

double LayerActivations::query() const {
  return static_cast<double>(c_.heads * c_.head_dim) / tp_;
}

double LayerActivations::keys_and_values() const {
  const double heads = std::max(1.0, static_cast<double>(c_.kv_heads) / tp_);
  return 2 * heads * static_cast<double>(c_.head_dim);
}

double LayerActivations::ffn() const {
  return static_cast<double>(c_.ffn) / tp_;
}

double LayerActivations::ffn_kept() const {
  return (c_.gated_ffn ? 3 : 2) * ffn();
}

double LayerActivations::wide() const {
  return hidden() / (spec_.sequence_parallel ? tp_ : 1);
}

/// Scores of one head and query: softmax's output, and with dropout its mask and the dropped output.
double LayerActivations::scores_kept() const {
  if (o_.attention == AttentionKind::flash) return 0;
  const double each = c_.attention_dropout > 0 ? 2 * element_ + 1 : element_;
  return each * static_cast<double>(c_.heads) / tp_ * static_cast<double>(o_.sequence);
}

/// Inputs of norm and projections; q, k, v, output; scores; mask.
double LayerActivations::attention_block() const {
  return element_ * (2 * wide() + 2 * query() + keys_and_values()) + scores_kept() + mask();
}

/// Inputs of norm and first matrix; the inner tensors; mask.
double LayerActivations::dense_block() const {
  return element_ * (2 * wide() + ffn_kept()) + mask();
}

/// The same with experts: every visited expert gathers its input and keeps its inner tensors.
double LayerActivations::sparse_block() const {
  double rows = static_cast<double>(c_.experts_per_token);
  if (c_.expert_capacity > 0 && o_.attention == AttentionKind::eager)
    rows = static_cast<double>(c_.experts * c_.expert_capacity) / static_cast<double>(o_.sequence);
  if (spec_.ep > 1) rows *= spec_.expert_load;
  return element_ * (2 * wide() + rows * (hidden() + ffn_kept())) + mask();
}

double LayerActivations::sparse_share() const {
  return c_.experts > 0 ? 1 / static_cast<double>(c_.expert_step) : 0;
}

double LayerActivations::kept(Recompute recompute) const {
  const auto decoder = static_cast<double>(c_.decoder_layers), layers = static_cast<double>(c_.layers) + decoder;
  const double attention = attention_block() * (layers + decoder) / layers;
  const double feed_forward = (1 - sparse_share()) * dense_block() + sparse_share() * sparse_block();
  switch (recompute) {
    case Recompute::none:
      break;
    case Recompute::selective:
      return attention + feed_forward - scores_kept();
    case Recompute::operators:
      return element_ * (wide() + 2 * query() + keys_and_values() + ffn_kept() - ffn());
    case Recompute::full:
      return element_ * wide();
  }
  return attention + feed_forward;
}

double LayerActivations::outside(bool last) const {
  return last ? 2 * element_ * wide() + mask() : mask();
}

LiveActivations live_activations(const ParallelSpec& spec, int device, const std::vector<Bytes>& of_chunk) {
  LiveActivations result;
  Bytes held;
  std::int64_t passes = 0;
  for (const Pass& pass : pass_order(spec, device)) {
    const Bytes bytes = of_chunk[static_cast<std::size_t>(pass.chunk)];
    if (pass.forward) {
      held += bytes, ++passes;
    } else if (pass.part != BackwardPart::inputs) {
      held -= bytes, --passes;
    }
    if (held > result.peak * (1 + 1e-12)) result = {held, passes, pass.micro_batch};
  }
  return result;
}

}  // namespace tessera
