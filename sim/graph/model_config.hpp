// A model by its architecture's numbers, as read from a Hugging Face config.json; or a network of sim/graph/zoo.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/dtype.hpp"
#include "sim/config/node.hpp"
#include "sim/graph/graph.hpp"

namespace tessera {

enum class Activation : std::uint8_t { relu, gelu, gelu_new, silu };
enum class Norm : std::uint8_t { layernorm, rmsnorm };
/// What stands on the last layer; classifier and pretraining are BERT's.
enum class Head : std::uint8_t { none, language_model, classifier, pretraining };

/// Decoder-only, encoder-only and encoder-decoder transformers, dense or mixture of experts.
struct ModelConfig {
  std::string name;          // file stem or built-in name
  std::string architecture;  // HF model_type: gpt2, gpt_neox, opt, bert, llama, mistral, qwen2, qwen3, mixtral,
                             // switch_transformers
  std::int64_t layers = 0, decoder_layers = 0;  // decoder_layers > 0: encoder-decoder
  std::int64_t hidden = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0, vocab = 0;
  std::int64_t positions = 0;    // learned position embeddings; 0: rotary or relative
  std::int64_t token_types = 0;  // bert
  std::int64_t experts = 0, experts_per_token = 0, expert_ffn = 0,
               expert_step = 0;       // every expert_step-th layer is sparse
  std::int64_t expert_capacity = 0;   // rows of one expert's buffer for each sample (Switch)
  std::int64_t relative_buckets = 0;  // T5's relative position bias
  Head head = Head::language_model;   // in inference
  Head training_head = Head::language_model;
  double dropout = 0, attention_dropout = 0;  // probabilities, in training
  double rotary_ratio = 0;                    // share of head_dim that rotary positions turn; 0: none
  Activation activation = Activation::gelu;
  Norm norm = Norm::layernorm;
  bool gated_ffn = false, attention_bias = false, qkv_bias = false, ffn_bias = false;
  bool tied_embeddings = false, parallel_residual = false, pooler = false, causal = true, qk_norm = false;
  // --- of model_type "network" ---
  std::string network{};                // a row of the table in sim/graph/zoo; empty: a transformer by the above
  std::int64_t image = 0, classes = 0;  // pixels of a side; outputs
  std::int64_t fixed_sequence = 0;      // tokens of a sample whatever the workload says (images); 0: the workload's
};

/// Reads a config.json (nested, null and extra keys as published files have them). An unknown architecture or a
/// missing or contradictory field throws InputError naming the field.
ModelConfig read_model_config(const std::filesystem::path& path);
ModelConfig read_model_config(const Document& document, std::string name);

/// Built-in names (stems of scenarios/models/*.json), sorted.
std::vector<std::string> builtin_models();
/// `model` is a built-in name (case and punctuation ignored) or a path ending in .json.
/// Unknown: InputError with the nearest name.
ModelConfig find_model(std::string_view model);

enum class Mode : std::uint8_t { inference, training };
/// eager: kernel by kernel, as Hugging Face's modules. flash: one kernel. fused_softmax: two batched products and one
/// kernel for scale, mask and softmax, in a layer fused as with flash (Megatron-LM before FlashAttention).
enum class AttentionKind : std::uint8_t { eager, flash, fused_softmax };
enum class OptimizerKind : std::uint8_t { none, adam };

struct BuildOptions {
  Mode mode = Mode::inference;
  std::int64_t batch = 1;     // of one micro-batch
  std::int64_t sequence = 0;  // tokens per sample
  Dtype dtype = Dtype::fp32;
  AttentionKind attention = AttentionKind::eager;
  OptimizerKind optimizer = OptimizerKind::none;
  bool accumulate = true;           // training: add each gradient into the accumulated one
  bool fused = false;               // elementwise chains fused into one kernel (torch.compile-like)
  int context = 1;                  // ranks that share every sequence: the graph is that of one of them
  std::optional<Dtype> products{};  // type of the layers' linear products (fp8 training); none: the model's
  bool row_scales = false;          // narrow products scale every row of both operands, not whole tensors
};

/// A sequence beyond learned positions and counts below 1 throw InputError (without a position in a file).
/// Training: forward, backward with separate input- and weight-gradient GEMMs, accumulation, optimizer on request.
Graph build_graph(const ModelConfig& config, const BuildOptions& options);

}  // namespace tessera
