#include "sim/app/megatron_arguments.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/config/json.hpp"

namespace tessera {
namespace {

struct Argument {
  std::string value;
  int line = 0;
};

/// Words of the file, a shell's comments left out: options with the word behind them, unless that is an option too.
std::map<std::string, Argument, std::less<>> words_of(std::string_view text) {
  std::map<std::string, Argument, std::less<>> found;
  std::string option, word;
  int line = 1;
  bool comment = false;
  const auto end_word = [&] {
    if (word.starts_with("--")) {
      const std::size_t equals = word.find('=');
      option = word.substr(2, equals == std::string::npos ? equals : equals - 2);
      found[option] = {equals == std::string::npos ? "" : word.substr(equals + 1), line};
    } else if (!word.empty() && word != "\\" && !option.empty()) {
      if (found[option].value.empty()) found[option].value = word;
      option.clear();
    }
    word.clear();
  };
  for (const char c : text) {
    comment = c != '\n' && (comment || (c == '#' && word.empty()));
    if (comment) continue;
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '"' || c == '\'' || c == '(' || c == ')')
      end_word();
    else
      word += c;
    if (c == '\n') ++line;
  }
  end_word();
  return found;
}

class Arguments {
 public:
  explicit Arguments(const std::filesystem::path& file) : file_(file.string()), words_(words_of(read_file(file))) {}

  bool flag(std::string_view name) {
    used_.insert(std::string(name));
    return words_.contains(name);
  }
  std::string text(std::string_view name, std::string_view otherwise) {
    used_.insert(std::string(name));
    const auto found = words_.find(name);
    return found == words_.end() ? std::string(otherwise) : found->second.value;
  }
  std::int64_t number(std::string_view name, std::optional<std::int64_t> otherwise) {
    used_.insert(std::string(name));
    const auto found = words_.find(name);
    if (found == words_.end()) {
      if (!otherwise) missing(name);
      return otherwise.value_or(1);
    }
    const std::string& value = found->second.value;
    std::int64_t result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error == std::errc{} && end == value.data() + value.size() && result > 0) return result;
    mistake(found->second.line, fmt::format("--{}: expected a positive whole number, found '{}'", name, value));
    return 1;
  }
  /// At the option's line.
  void mistake(std::string_view name, std::string message) {
    const auto found = words_.find(name);
    mistake(found == words_.end() ? 0 : found->second.line, std::move(message));
  }
  void mistake(int line, std::string message) {
    mistakes_.push_back({file_, line, line > 0 ? 1 : 0, std::move(message)});
  }
  void check() const {
    if (!mistakes_.empty()) throw InputError(mistakes_);
  }
  [[nodiscard]] std::vector<std::string> unused() const {
    std::vector<std::string> names;
    for (const auto& [name, argument] : words_)
      if (!used_.contains(name)) names.push_back(name);
    return names;
  }

 private:
  /// Misspelt, perhaps: the nearest option that is there.
  void missing(std::string_view name) {
    std::vector<std::string> there;
    for (const auto& [word, argument] : words_) there.push_back(word);
    const std::optional<std::string> near = nearest_name(name, there);
    if (!near) return mistake(0, fmt::format("missing option --{}", name));
    mistake(*near, fmt::format("missing option --{}; is '--{}' meant for it?", name, *near));
  }

  std::string file_;
  std::map<std::string, Argument, std::less<>> words_;
  std::set<std::string> used_;
  std::vector<Diagnostic> mistakes_;
};

struct Sizes {
  std::int64_t layers, hidden, heads, groups, sequence, positions, vocab, ffn;
};

Sizes sizes_of(Arguments& a) {
  Sizes s{};
  s.layers = a.number("num-layers", {});
  s.hidden = a.number("hidden-size", {});
  s.heads = a.number("num-attention-heads", {});
  s.groups = a.flag("group-query-attention") ? a.number("num-query-groups", {}) : s.heads;
  s.sequence = a.number("seq-length", {});
  s.positions = a.number("max-position-embeddings", s.sequence);
  s.vocab = a.number("vocab-size", 50257);  // GPT-2's, which its examples train with
  // Gated blocks are narrower by default: 2/3 of the plain width, in multiples of 64 (Megatron-LM's arguments.py).
  s.ffn = a.number("ffn-hidden-size", a.flag("swiglu") ? 8 * s.hidden / 3 / 64 * 64 : 4 * s.hidden);
  return s;
}

Json llama(Arguments& a, const Sizes& s) {
  Json::Object model{{"model_type", "llama"},
                     {"num_hidden_layers", s.layers},
                     {"hidden_size", s.hidden},
                     {"num_attention_heads", s.heads},
                     {"num_key_value_heads", s.groups},
                     {"intermediate_size", a.flag("num-experts") ? a.number("moe-ffn-hidden-size", s.ffn) : s.ffn},
                     {"vocab_size", s.vocab},
                     {"hidden_act", "silu"},
                     {"tie_word_embeddings", !a.flag("untie-embeddings-and-output-weights")}};
  if (a.flag("kv-channels")) model.emplace_back("head_dim", a.number("kv-channels", {}));
  if (a.flag("num-experts")) {
    model[0].second = "mixtral";
    model.emplace_back("num_local_experts", a.number("num-experts", {}));
    model.emplace_back("num_experts_per_tok", a.number("moe-router-topk", 2));
  }
  return Json(std::move(model));
}

Json gpt(Arguments& a, const Sizes& s) {
  if (a.flag("num-experts")) a.mistake("num-experts", "--num-experts: experts are read with --swiglu alone");
  if (s.groups != s.heads) a.mistake("group-query-attention", "--group-query-attention: read with --swiglu alone");
  if (const std::int64_t each = s.hidden / s.heads; a.flag("kv-channels") && a.number("kv-channels", {}) != each)
    a.mistake("kv-channels",
              fmt::format("--kv-channels: other than hidden-size / heads, {}, is read with --swiglu alone", each));
  return Json(Json::Object{{"model_type", "gpt2"},
                           {"n_layer", s.layers},
                           {"n_embd", s.hidden},
                           {"n_head", s.heads},
                           {"n_inner", s.ffn},
                           {"n_positions", s.positions},
                           {"vocab_size", s.vocab},
                           {"activation_function", "gelu"}});
}

std::string recompute_of(Arguments& a) {
  if (a.flag("recompute-activations")) return "selective";
  return a.text("recompute-granularity", "none");
}

/// Layers per virtual stage are Megatron-LM's way to say chunks.
std::int64_t chunks_of(Arguments& a, std::int64_t layers, std::int64_t pp) {
  if (!a.flag("num-layers-per-virtual-pipeline-stage")) return 1;
  const std::int64_t each = a.number("num-layers-per-virtual-pipeline-stage", {});
  if (layers % (pp * each) == 0) return layers / (pp * each);
  a.mistake("num-layers-per-virtual-pipeline-stage",
            fmt::format("--num-layers-per-virtual-pipeline-stage {}: {} layers are not divided over {} stages", each,
                        layers, pp));
  return 1;
}

std::string workload_of(Arguments& a, const Sizes& s) {
  const bool fp8 = a.flag("fp8-format") || a.flag("fp8-hybrid");
  const std::string dtype = a.flag("bf16") ? "bf16" : a.flag("fp16") ? "fp16" : "fp32";
  const bool flash = a.flag("use-flash-attn") || a.text("transformer-impl", "") == "transformer_engine" ||
                     a.text("attention-backend", "") == "flash";
  std::string text = fmt::format(
      "    workload:\n      model: model.json\n      mode: training\n      dtype: {}\n      sequence: {}\n"
      "      global_batch: {}\n      micro_batch: {}\n      attention: {}\n      recompute: {}\n",
      dtype, s.sequence, a.number("global-batch-size", {}), a.number("micro-batch-size", {}),
      flash ? "flash" : "fused_softmax", recompute_of(a));
  if (fp8) text += "      products: fp8\n";
  return text;
}

std::string parallel_of(Arguments& a, const Sizes& s) {
  const std::int64_t pp = a.number("pipeline-model-parallel-size", 1);
  const bool sharded = a.flag("use-distributed-optimizer");
  const bool fsdp = a.flag("use-torch-fsdp2") || a.flag("use-megatron-fsdp");
  return fmt::format(
      "    parallel:\n      tp: {}\n      pp: {}\n      cp: {}\n      ep: {}\n      chunks: {}\n"
      "      sequence_parallel: {}\n      sharding: {}\n      overlap: {}\n      reduced_as: {}\n",
      a.number("tensor-model-parallel-size", 1), pp, a.number("context-parallel-size", 1),
      a.number("expert-model-parallel-size", 1), chunks_of(a, s.layers, pp), a.flag("sequence-parallel"),
      fsdp      ? "zero3"
      : sharded ? "zero1"
                : "none",
      a.flag("overlap-grad-reduce"), a.flag("fp16") ? "fp16" : "fp32");
}

}  // namespace

ImportedScenario read_megatron_arguments(const std::filesystem::path& file, std::string_view cluster) {
  Arguments a(file);
  const Sizes sizes = sizes_of(a);
  const bool llama_like = a.flag("swiglu");
  (void)a.text("normalization", ""), (void)a.text("position-embedding-type", "");
  ImportedScenario result;
  result.model = (llama_like ? llama(a, sizes) : gpt(a, sizes)).dump() + '\n';
  result.scenario =
      fmt::format("# Imported from {}.\nname: {}\nruns:\n  - name: train\n{}    cluster: {}\n{}",
                  file.filename().string(), "megatron", workload_of(a, sizes), cluster, parallel_of(a, sizes));
  a.check();
  result.ignored = a.unused();
  return result;
}

}  // namespace tessera
