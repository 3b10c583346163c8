// Scheduling one layer: bounds, list schedules and proven optima. TESSERA_DATA adds the recorded layers of Llama2-7B.
#include <cstdlib>

#include <benchmark/benchmark.h>

#include "sim/place/schedule/schedule.hpp"
#include "tests/validation/phaze_layers.hpp"

namespace tessera {
namespace {

/// `layers` like blocks of a transformer: a norm, three products side by side, a vector chain, a fused product.
struct Blocks {
  explicit Blocks(int count) : order(graph(count)) {
    for (const CoreClass core : order.graph().core) {
      const double one = core == CoreClass::vector ? 3.0 : 10.0;
      latency.push_back({Seconds(one), Seconds(0.6 * one)});
    }
  }
  static OperatorGraph graph(int count) {
    OperatorGraph graph;
    const auto add = [&](CoreClass core, std::initializer_list<int> before) {
      const int self = static_cast<int>(graph.core.size());
      graph.core.push_back(core);
      for (const int b : before) graph.edges.push_back({b, self});
      return self;
    };
    int last = add(CoreClass::vector, {});
    for (int b = 0; b < count; ++b) {
      const int q = add(CoreClass::tensor, {last}), k = add(CoreClass::tensor, {last}),
                v = add(CoreClass::tensor, {last});
      const int rope_q = add(CoreClass::vector, {q}), rope_k = add(CoreClass::vector, {k});
      const int scores = add(CoreClass::fused, {rope_q, rope_k});
      last = add(CoreClass::vector, {add(CoreClass::tensor, {scores, v}), last});
    }
    return graph;
  }
  OperatorOrder order;
  std::vector<OperatorLatency> latency;
};

void bound(benchmark::State& state) {
  const Blocks blocks(4);
  for (auto _ : state) benchmark::DoNotOptimize(schedule_bound({blocks.order, blocks.latency, {4, 2}}));
}
BENCHMARK(bound)->Unit(benchmark::kMicrosecond);

void list(benchmark::State& state) {
  const Blocks blocks(4);
  for (auto _ : state) benchmark::DoNotOptimize(list_schedule({blocks.order, blocks.latency, {4, 2}}));
}
BENCHMARK(list)->Unit(benchmark::kMillisecond);

void optimum(benchmark::State& state) {
  const Blocks blocks(4);
  for (auto _ : state) benchmark::DoNotOptimize(optimal_schedule({blocks.order, blocks.latency, {2, 1}}));
}
BENCHMARK(optimum)->Unit(benchmark::kMillisecond);

}  // namespace

/// One benchmark per recorded layer, whose counters say what was proven.
void register_recorded_layers() {
  const char* data = std::getenv("TESSERA_DATA");
  if (data == nullptr) return;
  static const std::vector<RecordedLayer> layers = recorded_layers(std::filesystem::path(data) / "phaze" / "llama2");
  for (const RecordedLayer& layer : layers) {
    benchmark::RegisterBenchmark(layer.name.c_str(), [&layer](benchmark::State& state) {
      Schedule schedule;
      for (auto _ : state) schedule = optimal_schedule(layer.problem());
      state.counters["gap"] = schedule.gap();
      state.counters["nodes"] = static_cast<double>(schedule.nodes);
    })->Unit(benchmark::kMillisecond);
  }
}

}  // namespace tessera

int main(int argc, char** argv) {
  tessera::register_recorded_layers();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
