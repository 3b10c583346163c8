// Speed of building what is simulated: operators of a model, then the plan of one step.
#include <benchmark/benchmark.h>

#include "sim/graph/model_config.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {
namespace {

BuildOptions training() {
  return {.mode = Mode::training,
          .batch = 1,
          .sequence = 2048,
          .dtype = Dtype::bf16,
          .attention = AttentionKind::flash,
          .optimizer = OptimizerKind::adam,
          .accumulate = true,
          .fused = false};
}

void build_operators(benchmark::State& state, const char* model) {
  const ModelConfig config = find_model(model);
  std::int64_t operators = 0;
  for (auto _ : state) operators += static_cast<std::int64_t>(build_graph(config, training()).operators.size());
  state.SetItemsProcessed(operators);
}
BENCHMARK_CAPTURE(build_operators, llama_2_7b, "llama-2-7b");
BENCHMARK_CAPTURE(build_operators, gpt3_175b, "gpt3-175b");

void build_plan(benchmark::State& state) {
  const Graph graph = build_graph(find_model("llama-2-7b"), training());
  const ParallelSpec spec{.tp = 2, .dp = 4, .micro_batches = state.range(0)};
  std::int64_t tasks = 0;
  for (auto _ : state) tasks += static_cast<std::int64_t>(make_plan(graph, spec).tasks.size());
  state.SetItemsProcessed(tasks);
}
BENCHMARK(build_plan)->Arg(1)->Arg(16);

/// The plan of scenarios/studies/gpt3-175b-1024.yaml, by micro-batches: linear in them.
void build_interleaved_plan(benchmark::State& state) {
  const Graph graph = build_graph(find_model("gpt3-175b"), training());
  const ParallelSpec spec{.tp = 8,
                          .dp = 16,
                          .pp = 8,
                          .micro_batches = state.range(0),
                          .chunks = 4,
                          .sharding = Sharding::zero1,
                          .recompute = Recompute::selective,
                          .sequence_parallel = true};
  std::int64_t tasks = 0;
  for (auto _ : state) tasks += static_cast<std::int64_t>(make_plan(graph, spec).tasks.size());
  state.SetItemsProcessed(tasks);
}
BENCHMARK(build_interleaved_plan)->Arg(24)->Arg(48)->Arg(96)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tessera
