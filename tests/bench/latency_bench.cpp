// Kernel predictions per second, nothing cached, on one core.
#include <benchmark/benchmark.h>

#include "models/latency_model.hpp"
#include "sim/base/rng.hpp"

namespace tessera {
namespace {

std::vector<Kernel> different_gemms(Dtype dtype, std::size_t count) {
  Rng rng(1);
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < count; ++i) {
    kernels.push_back(
        {Op::gemm, dtype, GemmShape{.m = 1 + rng.below(16384), .n = 1 + rng.below(16384), .k = 1 + rng.below(16384)}});
  }
  return kernels;
}

void predict_gemms(benchmark::State& state, const char* gpu, Dtype dtype) {
  const auto model = make_latency_model();
  const GpuSpec spec = find_gpu(gpu);
  const std::vector<Kernel> kernels = different_gemms(dtype, 4096);
  for (auto _ : state) benchmark::DoNotOptimize(model->predict(kernels, spec, {}));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kernels.size()));
}
BENCHMARK_CAPTURE(predict_gemms, h100_bf16, "H100-SXM-80GB", Dtype::bf16);
BENCHMARK_CAPTURE(predict_gemms, a100_fp32, "A100-PCIE-80GB", Dtype::fp32);

void read_weights(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(make_latency_model());
}
BENCHMARK(read_weights)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tessera
