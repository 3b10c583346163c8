#include <array>

#include "sim/base/error.hpp"
#include "sim/graph/architectures.hpp"

namespace tessera {

namespace {

struct Architecture {
  std::string_view model_type;
  void (*build)(GraphBuilder&);
};
constexpr std::array<Architecture, 10> kBuilders{{{"bert", build_bert},
                                                  {"gpt2", build_decoder},
                                                  {"gpt_neox", build_decoder},
                                                  {"llama", build_decoder},
                                                  {"mistral", build_decoder},
                                                  {"mixtral", build_decoder},
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

}  // namespace

Graph build_graph(const ModelConfig& config, const BuildOptions& options) {
  void (*const build)(GraphBuilder&) = builder_of(config.architecture);
  TESSERA_ASSERT(build != nullptr, "read_model_config knows the architectures that have a builder");
  TESSERA_ASSERT(options.batch > 0 && options.sequence > 0, "batch and sequence are checked where they are read");
  Graph graph{.model = config.name,
              .dtype = options.dtype,
              .heads = config.heads,
              .kv_heads = config.kv_heads,
              .vocab = config.vocab};
  GraphBuilder builder(graph, config, options);
  build(builder);
  if (options.mode == Mode::inference) return graph;
  builder.play_backward();
  if (options.optimizer == OptimizerKind::adam) optimizer_step(builder, graph);
  return graph;
}

}  // namespace tessera
