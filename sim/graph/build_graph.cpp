#include <fmt/core.h>

#include <array>
#include <string>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/graph/architectures.hpp"

namespace tessera {

namespace {

struct Architecture {
  std::string_view model_type;
  void (*build)(GraphBuilder&);
};
constexpr std::array<Architecture, 11> kBuilders{{{"bert", build_bert},
                                                  {"gpt2", build_decoder},
                                                  {"gpt_neox", build_decoder},
                                                  {"llama", build_decoder},
                                                  {"mistral", build_decoder},
                                                  {"mixtral", build_decoder},
                                                  {"network", build_network},
                                                  {"opt", build_decoder},
                                                  {"qwen2", build_decoder},
                                                  {"qwen3", build_decoder},
                                                  {"switch_transformers", build_switch}}};

void (*builder_of(std::string_view architecture))(GraphBuilder&) {
  for (const Architecture& row : kBuilders) {
    if (row.model_type == architecture) return row.build;
  }
  return nullptr;
}

constexpr std::int64_t kMostTokens = 1 << 24;  // scores of so many tokens still count in 64 bits

void check(const ModelConfig& config, const BuildOptions& options) {
  const auto refuse = [](std::string message) { throw InputError(Diagnostic{.message = std::move(message)}); };
  if (options.batch < 1) refuse(fmt::format("batch is {}, expected 1 or more", options.batch));
  if (options.sequence < 1) refuse(fmt::format("sequence is {}, expected 1 or more", options.sequence));
  if (options.context < 1) refuse(fmt::format("context is {}, expected 1 or more", options.context));
  if (options.context > 1 && options.attention != AttentionKind::flash)
    refuse("context parallelism is modelled for flash attention");
  if (options.context > 1 && config.decoder_layers > 0)
    refuse(fmt::format("{}: context parallelism of encoder-decoder models is not modelled", config.name));
  if (options.sequence % (2 * options.context) != 0 && options.context > 1) {
    refuse(fmt::format("cp {}: sequence {} is not divided into {} equal parts, two for each rank", options.context,
                       options.sequence, 2 * options.context));
  }
  if (options.batch > kMostTokens / options.sequence) {
    refuse(fmt::format("batch {} of {} tokens is more than the {} tokens that a micro-batch may have", options.batch,
                       options.sequence, kMostTokens));
  }
  const std::int64_t positions = config.positions - (config.architecture == "opt" ? 2 : 0);  // two rows are padding
  if (config.positions > 0 && options.sequence > positions) {
    refuse(fmt::format("sequence {} exceeds the {} positions of {}", options.sequence, positions, config.name));
  }
}

Bytes hidden_states(const ModelConfig& config, const BuildOptions& options) {
  const std::int64_t elements =
      config.decoder_layers > 0 || !config.network.empty() ? 0 : options.batch * options.sequence * config.hidden;
  return static_cast<double>(elements / options.context) * element_size(options.dtype);
}

}  // namespace

Graph build_graph(const ModelConfig& config, const BuildOptions& asked) {
  BuildOptions options = asked;
  if (config.fixed_sequence > 0) options.sequence = config.fixed_sequence;
  void (*const build)(GraphBuilder&) = builder_of(config.architecture);
  TESSERA_ASSERT(build != nullptr, "read_model_config knows the architectures that have a builder");
  check(config, options);
  Graph graph{.model = config.name,
              .dtype = options.dtype,
              .hidden_states = hidden_states(config, options),
              .heads = config.heads,
              .kv_heads = config.kv_heads,
              .vocab = config.vocab,
              .experts = config.experts};
  GraphBuilder builder(graph, config, options);
  build(builder);
  if (options.mode == Mode::inference) return graph;
  builder.play_backward();
  if (options.optimizer == OptimizerKind::adam) optimizer_step(builder, graph);
  return graph;
}

}  // namespace tessera
