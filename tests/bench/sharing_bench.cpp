// Speed of several tenants on a V100: the fast evaluator, the event loop, GACER's search. Kernels are drawn like those
// of published V100 profiles of vision models at small batches: 8 to 120 us, two thirds of them on a part of the SMs.
#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include "sim/base/isolate.hpp"
#include "sim/base/rng.hpp"
#include "sim/des/tenants.hpp"
#include "sim/dispatch/evaluate.hpp"
#include "sim/dispatch/gacer.hpp"

namespace tessera {
namespace {

Tenant vision_tenant(std::uint64_t seed, const GpuSpec& gpu, int kernels) {
  Rng rng(seed);
  Tenant tenant;
  tenant.name = "tenant " + std::to_string(seed);
  tenant.batch = 4;
  for (int k = 0; k < kernels; ++k) {
    TenantKernel kernel;
    KernelCost& cost = kernel.cost;
    cost.blocks = rng.below(3) < 2 ? 2 + rng.below(78) : 80 + rng.below(320);
    cost.footprint = {gpu.threads_per_sm / 2, 0, Bytes(0.0)};
    cost.blocks_per_sm = 2;
    cost.waves = (cost.blocks + 2 * gpu.sms - 1) / (2 * gpu.sms);
    cost.time = Estimate<Seconds>::exact(Seconds(8e-6 * std::pow(15.0, rng.uniform())));
    cost.hbm_bytes = (rng.below(3) == 0 ? 0.8 : 0.3) * gpu.memory_bandwidth * cost.time.p50;
    tenant.kernels.push_back(kernel);
  }
  return tenant;
}

/// For one second, each as fast as it can.
std::vector<Tenant> busy_tenants(std::int64_t count, const GpuSpec& gpu, Seconds until) {
  std::vector<Tenant> tenants;
  for (std::int64_t t = 0; t < count; ++t) {
    tenants.push_back(vision_tenant(static_cast<std::uint64_t>(t), gpu, 200));
    tenants.back().arrivals = {.requests = 1'000'000, .until = until};
  }
  return tenants;
}

void count_kernels(benchmark::State& state, const Timeline& timeline) {
  const double kernels = 200.0 * static_cast<double>(timeline.requests.size());
  state.counters["kernels"] = kernels;
  state.counters["us/kernel"] =
      benchmark::Counter(kernels * 1e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void evaluator(benchmark::State& state) {
  const GpuSpec gpu = find_gpu("V100-SXM2-32GB");
  const auto tenants = busy_tenants(state.range(0), gpu, Seconds(1.0));
  Timeline timeline;
  for (auto _ : state) timeline = evaluate(tenants, gpu, "streams");
  count_kernels(state, timeline);
}
BENCHMARK(evaluator)->RangeMultiplier(2)->Range(2, 32)->Unit(benchmark::kMillisecond);

/// SimGrid has one engine per process: every run has its own, which measures its own processor time.
void event_loop(benchmark::State& state) {
  const GpuSpec gpu = find_gpu("V100-SXM2-32GB");
  const auto tenants = busy_tenants(state.range(0), gpu, Seconds(1.0));
  std::size_t requests = 0;
  for (auto _ : state) {
    const std::string out = run_isolated([&] {
      const auto policy = make_dispatch_policy("streams");
      const TenantGpu shared{tenants, gpu, *policy};
      const std::clock_t start = std::clock();
      const auto timelines = simulate_tenants(std::span(&shared, 1));
      return std::to_string(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC) + " " +
             std::to_string(timelines.front().requests.size());
    });
    state.SetIterationTime(std::stod(out));
    requests = std::stoul(out.substr(out.find(' ')));
  }
  Timeline timeline;
  timeline.requests.resize(requests);
  count_kernels(state, timeline);
}
BENCHMARK(event_loop)->RangeMultiplier(2)->Range(2, 32)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

void gacer_search(benchmark::State& state) {
  const GpuSpec gpu = find_gpu("V100-SXM2-32GB");
  std::vector<Tenant> tenants;
  for (std::uint64_t t = 0; t < 3; ++t) tenants.push_back(vision_tenant(t, gpu, 300));
  const SharingOptions options;
  GacerPlan plan;
  for (auto _ : state) plan = search_gacer({tenants, gpu, options});
  state.counters["clusters"] = plan.evaluations;
}
BENCHMARK(gacer_search)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tessera
