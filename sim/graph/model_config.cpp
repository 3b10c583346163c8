// Hugging Face config.json files: one `describe` per family of architectures.
#include "sim/graph/model_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/text.hpp"
#include "sim/graph/hf_fields.hpp"
#include "sim/graph/zoo/network.hpp"

namespace tessera {

namespace {

struct Gpt2File {
  ModelConfig config;
};

void describe(Reader& r, Gpt2File& file) {
  ModelConfig& c = file.config;
  r.allow_unknown();
  size(r, "n_layer", c.layers, "layers");
  size(r, "n_embd", c.hidden, "width of the residual stream");
  size(r, "n_head", c.heads, "attention heads");
  size(r, "vocab_size", c.vocab, "rows of the token embedding");
  c.positions = 1024;
  r.optional("n_positions", c.positions, "rows of the position embedding");
  positive(r, "n_positions", c.positions);
  divides(r, "n_head", c.heads, "n_embd", c.hidden);
  c.ffn = 4 * c.hidden;
  r.optional("n_inner", c.ffn, "width of the feed-forward layer");
  positive(r, "n_inner", c.ffn);
  activation(r, "activation_function", "gelu_new", c.activation);
  c.dropout = c.attention_dropout = 0.1;
  probability(r, "resid_pdrop", c.dropout);
  probability(r, "attn_pdrop", c.attention_dropout);
  c.tied_embeddings = true;
  r.optional("tie_word_embeddings", c.tied_embeddings, "head and token embedding share their weights");
  heads(r, c);
  c.kv_heads = c.heads;
  c.head_dim = c.hidden / c.heads;
  c.attention_bias = c.qkv_bias = c.ffn_bias = true;
}

struct NeoxFile {
  ModelConfig config;
};

void describe(Reader& r, NeoxFile& file) {
  ModelConfig& c = file.config;
  r.allow_unknown();
  size(r, "num_hidden_layers", c.layers, "layers");
  size(r, "hidden_size", c.hidden, "width of the residual stream");
  size(r, "num_attention_heads", c.heads, "attention heads");
  size(r, "intermediate_size", c.ffn, "width of the feed-forward layer");
  size(r, "vocab_size", c.vocab, "rows of the token embedding");
  divides(r, "num_attention_heads", c.heads, "hidden_size", c.hidden);
  activation(r, "hidden_act", "gelu", c.activation);
  c.rotary_ratio = 0.25;
  r.optional("rotary_pct", c.rotary_ratio, "share of head_dim that rotary positions turn");
  c.parallel_residual = true;
  r.optional("use_parallel_residual", c.parallel_residual, "attention and feed-forward read the same input");
  probability(r, "hidden_dropout", c.dropout);
  probability(r, "attention_dropout", c.attention_dropout);
  r.optional("tie_word_embeddings", c.tied_embeddings, "head and token embedding share their weights");
  heads(r, c);
  c.kv_heads = c.heads;
  c.head_dim = c.hidden / c.heads;
  c.attention_bias = c.qkv_bias = c.ffn_bias = true;
}

struct OptFile {
  ModelConfig config;
};

void describe(Reader& r, OptFile& file) {
  ModelConfig& c = file.config;
  r.allow_unknown();
  size(r, "num_hidden_layers", c.layers, "layers");
  size(r, "hidden_size", c.hidden, "width of the residual stream");
  size(r, "num_attention_heads", c.heads, "attention heads");
  size(r, "ffn_dim", c.ffn, "width of the feed-forward layer");
  size(r, "vocab_size", c.vocab, "rows of the token embedding");
  size(r, "max_position_embeddings", c.positions, "positions; the table has two rows more");
  divides(r, "num_attention_heads", c.heads, "hidden_size", c.hidden);
  std::int64_t projected = c.hidden;
  r.optional("word_embed_proj_dim", projected, "width of the token embedding");
  if (projected != c.hidden) {
    r.error("word_embed_proj_dim", fmt::format("found {}, only hidden_size ({}) is supported", projected, c.hidden));
  }
  unsupported_unless(r, "do_layer_norm_before", true, "norm in front of each block");
  activation(r, "activation_function", "relu", c.activation);
  c.dropout = 0.1;
  probability(r, "dropout", c.dropout);
  probability(r, "attention_dropout", c.attention_dropout);
  c.tied_embeddings = true;
  r.optional("tie_word_embeddings", c.tied_embeddings, "head and token embedding share their weights");
  heads(r, c);
  c.positions += 2;
  c.kv_heads = c.heads;
  c.head_dim = c.hidden / c.heads;
  c.attention_bias = c.qkv_bias = c.ffn_bias = true;
}

struct BertFile {
  ModelConfig config;
};

void describe(Reader& r, BertFile& file) {
  ModelConfig& c = file.config;
  r.allow_unknown();
  size(r, "num_hidden_layers", c.layers, "layers");
  size(r, "hidden_size", c.hidden, "width of the residual stream");
  size(r, "num_attention_heads", c.heads, "attention heads");
  size(r, "intermediate_size", c.ffn, "width of the feed-forward layer");
  size(r, "vocab_size", c.vocab, "rows of the token embedding");
  size(r, "max_position_embeddings", c.positions, "rows of the position embedding");
  c.token_types = 2;
  r.optional("type_vocab_size", c.token_types, "rows of the token type embedding");
  positive(r, "type_vocab_size", c.token_types);
  divides(r, "num_attention_heads", c.heads, "hidden_size", c.hidden);
  activation(r, "hidden_act", "gelu", c.activation);
  c.dropout = c.attention_dropout = 0.1;
  probability(r, "hidden_dropout_prob", c.dropout);
  probability(r, "attention_probs_dropout_prob", c.attention_dropout);
  c.head = c.training_head = Head::none;
  heads(r, c, true);
  c.kv_heads = c.heads;
  c.head_dim = c.hidden / c.heads;
  c.attention_bias = c.qkv_bias = c.ffn_bias = c.tied_embeddings = true;
  c.causal = false;
}

/// Llama and what descends from it: rotary positions, RMSNorm, gated feed-forward, grouped keys and values.
void describe_llama(Reader& r, ModelConfig& c) {
  r.allow_unknown();
  size(r, "num_hidden_layers", c.layers, "layers");
  size(r, "hidden_size", c.hidden, "width of the residual stream");
  size(r, "num_attention_heads", c.heads, "attention heads");
  size(r, "intermediate_size", c.ffn, "width of the feed-forward layer");
  size(r, "vocab_size", c.vocab, "rows of the token embedding");
  c.kv_heads = c.heads;
  r.optional("num_key_value_heads", c.kv_heads, "heads of keys and values");
  positive(r, "num_key_value_heads", c.kv_heads);
  divides(r, "num_key_value_heads", c.kv_heads, "num_attention_heads", c.heads);
  if (r.has("head_dim")) {
    r.optional("head_dim", c.head_dim, "width of a head");
    positive(r, "head_dim", c.head_dim);
  } else {
    divides(r, "num_attention_heads", c.heads, "hidden_size", c.hidden);
    c.head_dim = c.heads > 0 ? c.hidden / c.heads : 1;
  }
  activation(r, "hidden_act", "silu", c.activation);
  probability(r, "attention_dropout", c.attention_dropout);
  r.optional("tie_word_embeddings", c.tied_embeddings, "head and token embedding share their weights");
  heads(r, c);
  c.norm = Norm::rmsnorm;
  c.gated_ffn = true;
  c.rotary_ratio = 1;
}

struct LlamaFile {
  ModelConfig config;
};

void describe(Reader& r, LlamaFile& file) {
  ModelConfig& c = file.config;
  describe_llama(r, c);
  r.optional("attention_bias", c.attention_bias, "biases of the four attention projections");
  r.optional("mlp_bias", c.ffn_bias, "biases of the feed-forward layer");
  c.qkv_bias = c.attention_bias;
}

struct Qwen2File {
  ModelConfig config;
};

void describe(Reader& r, Qwen2File& file) {
  describe_llama(r, file.config);
  unsupported_unless(r, "use_sliding_window", false, "attention over a window");
  file.config.qkv_bias = true;
}

struct Qwen3File {
  ModelConfig config;
};

void describe(Reader& r, Qwen3File& file) {
  ModelConfig& c = file.config;
  describe_llama(r, c);
  r.optional("attention_bias", c.attention_bias, "biases of the four attention projections");
  unsupported_unless(r, "use_sliding_window", false, "attention over a window");
  c.qkv_bias = c.attention_bias;
  c.qk_norm = true;
}

struct MixtralFile {
  ModelConfig config;
};

void describe(Reader& r, MixtralFile& file) {
  ModelConfig& c = file.config;
  describe_llama(r, c);
  size(r, "num_local_experts", c.experts, "experts in each layer");
  size(r, "num_experts_per_tok", c.experts_per_token, "experts that one token visits");
  if (c.experts_per_token > c.experts) {
    r.error("num_experts_per_tok", fmt::format("found {}, but there are {} experts", c.experts_per_token, c.experts));
  }
  c.expert_ffn = c.ffn;
  c.expert_step = 1;
}

struct SwitchFile {
  ModelConfig config;
};

/// Every step-th layer of a stack is sparse, as Hugging Face derives it from the number of sparse layers.
std::int64_t sparse_step(Reader& r, std::string_view key, std::int64_t layers, std::int64_t absent) {
  std::int64_t sparse = absent;
  r.optional(key, sparse, "layers with experts");
  if (sparse <= 0 || sparse > layers) {
    r.error(key, fmt::format("found {}, expected 1 to {} layers", sparse, layers));
    return 1;
  }
  return layers / sparse;
}

void experts(Reader& r, ModelConfig& c) {
  size(r, "num_experts", c.experts, "experts in each sparse layer");
  c.expert_capacity = 64;
  r.optional("expert_capacity", c.expert_capacity, "rows of an expert's buffer for each sample");
  positive(r, "expert_capacity", c.expert_capacity);
  c.expert_step = sparse_step(r, "num_sparse_encoder_layers", c.layers, std::max<std::int64_t>(1, c.layers / 4));
  const std::int64_t decoder_step =
      sparse_step(r, "num_sparse_decoder_layers", c.decoder_layers, std::max<std::int64_t>(1, c.decoder_layers / 4));
  if (decoder_step != c.expert_step) {
    r.error("num_sparse_decoder_layers",
            fmt::format("every {}. decoder layer is sparse, but every {}. encoder layer; only "
                        "equal steps are supported",
                        decoder_step, c.expert_step));
  }
  c.experts_per_token = 1;
}

void describe(Reader& r, SwitchFile& file) {
  ModelConfig& c = file.config;
  r.allow_unknown();
  size(r, "num_layers", c.layers, "encoder layers");
  c.decoder_layers = c.layers;
  r.optional("num_decoder_layers", c.decoder_layers, "decoder layers");
  positive(r, "num_decoder_layers", c.decoder_layers);
  size(r, "d_model", c.hidden, "width of the residual stream");
  size(r, "d_ff", c.ffn, "width of the feed-forward layer");
  size(r, "num_heads", c.heads, "attention heads");
  c.head_dim = 64;
  r.optional("d_kv", c.head_dim, "width of a head");
  positive(r, "d_kv", c.head_dim);
  size(r, "vocab_size", c.vocab, "rows of the token embedding");
  experts(r, c);
  unsupported_unless(r, "is_gated_act", false, "gated feed-forward");
  c.relative_buckets = 32;
  r.optional("relative_attention_num_buckets", c.relative_buckets, "buckets of the relative position bias");
  positive(r, "relative_attention_num_buckets", c.relative_buckets);
  activation(r, "dense_act_fn", "relu", c.activation);
  c.dropout = 0.1;
  probability(r, "dropout_rate", c.dropout);
  c.tied_embeddings = true;
  r.optional("tie_word_embeddings", c.tied_embeddings, "head and token embedding share their weights");
  heads(r, c);
  c.attention_dropout = c.dropout;
  c.kv_heads = c.heads;
  c.expert_ffn = c.ffn;
  c.norm = Norm::rmsnorm;
}

template <class File>
ModelConfig read_as(const Document& document) {
  return read<File>(document).config;
}

struct Architecture {
  std::string_view model_type;
  ModelConfig (*read)(const Document&);
};
constexpr std::array<Architecture, 11> kArchitectures{{{"bert", read_as<BertFile>},
                                                       {"gpt2", read_as<Gpt2File>},
                                                       {"gpt_neox", read_as<NeoxFile>},
                                                       {"llama", read_as<LlamaFile>},
                                                       {"mistral", read_as<LlamaFile>},
                                                       {"mixtral", read_as<MixtralFile>},
                                                       {"network", read_network},
                                                       {"opt", read_as<OptFile>},
                                                       {"qwen2", read_as<Qwen2File>},
                                                       {"qwen3", read_as<Qwen3File>},
                                                       {"switch_transformers", read_as<SwitchFile>}}};

/// The language model of a file: its `text_config` where there is one (vision parts are not modelled). A null means
/// "not given" in these files.
Document language_model(const Document& document) {
  const Node* text = document.root.find("text_config");
  const bool nested = text != nullptr && text->kind == Node::Kind::map;
  Document result{document.file, nested ? *text : document.root};
  std::erase_if(result.root.fields, [](const auto& field) { return field.second.kind == Node::Kind::null; });
  return result;
}

const Architecture& architecture_of(const Document& document) {
  std::vector<std::string> known;
  known.reserve(kArchitectures.size());
  for (const Architecture& row : kArchitectures) known.emplace_back(row.model_type);
  const Node* type = document.root.find("model_type");
  if (type == nullptr || type->kind != Node::Kind::scalar) {
    const Node& at = type == nullptr ? document.root : *type;
    throw InputError(Diagnostic{document.file, at.line, at.column,
                                fmt::format("model_type: missing; expected one of {}", fmt::join(known, ", "))});
  }
  for (const Architecture& row : kArchitectures) {
    if (row.model_type == type->scalar) return row;
  }
  throw InputError(Diagnostic{document.file, type->line, type->column,
                              fmt::format("model_type: unknown architecture '{}'{}; expected one of {}", type->scalar,
                                          did_you_mean(type->scalar, known), fmt::join(known, ", "))});
}

}  // namespace

ModelConfig read_model_config(const Document& document, std::string name) {
  const Document model = language_model(document);
  const Architecture& architecture = architecture_of(model);
  ModelConfig config = architecture.read(model);
  config.name = std::move(name);
  config.architecture = architecture.model_type;
  config.pooler = config.architecture == "bert" && config.training_head != Head::language_model;
  return config;
}

ModelConfig read_model_config(const std::filesystem::path& path) {
  return read_model_config(parse_document(path), path.stem().string());
}

}  // namespace tessera
