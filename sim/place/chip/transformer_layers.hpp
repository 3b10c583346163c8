// Operator graphs of transformers for a chip, made from their architecture: our graphs of models that were not traced.
#pragma once

#include <cstdint>

#include "sim/graph/model_config.hpp"
#include "sim/place/chip/chip_rules.hpp"
#include "sim/place/chip/layer_graph.hpp"

namespace tessera {

/// How the original traced a model.
enum class Tracing : std::uint8_t {
  whole_model,  // Hugging Face: linear layers lose the micro-batch, the last layer is taken for another block
  one_layer,    // Megatron-LM, Llama: the head is in every layer
};

struct ChipModelOptions {
  std::int64_t micro_batch = 1, sequence = 0;
  Tracing tracing = Tracing::whole_model;
  int widest = 1;     // tensor widths 1, 2, 4, .. as far as they divide heads and feed-forward
  int narrowest = 1;  // GPT-3's slices begin at 4
  ChipRules rules{};
};

/// Embedding, blocks and head of a dense decoder or encoder at every tensor width, one fused GEMM follower as the
/// original fuses. InputError where no width divides the model or it is a mixture of experts. Not modelled:
/// cross-attention, experts, the embedding's look-up (free, as in the original).
ChipModel transformer_layers(const ModelConfig& model, const ChipModelOptions& options);

}  // namespace tessera
