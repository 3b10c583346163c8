#include "tests/property/random_tenants.hpp"

#include <algorithm>

#include "tests/unit/dispatch/bench_tenants.hpp"

namespace tessera {

namespace {

GpuSpec random_gpu(Rng& rng) {
  GpuSpec gpu;
  gpu.name = "random";
  gpu.sms = 1 + static_cast<int>(rng.below(40));
  gpu.memory_bandwidth = BytesPerSec(1e12 * (0.3 + rng.uniform()));
  gpu.threads_per_sm = 2048;
  gpu.blocks_per_sm = 32;
  gpu.registers_per_sm = Bytes(262144.0);
  gpu.shared_memory_per_sm = Bytes(102400.0);
  gpu.memory = Bytes(16e9);
  gpu.power_cap = Watts(300.0);
  gpu.boost_clock = Hertz(1.5e9);
  gpu.fp32_lanes_per_sm = 64;
  gpu.memory_type = "HBM2";
  gpu.process_nm = 12;
  return gpu;
}

TenantKernel random_kernel(Rng& rng, const GpuSpec& gpu) {
  const int threads = 32 * static_cast<int>(1 + rng.below(32));
  const auto blocks = 1 + static_cast<std::int64_t>(rng.below(120));
  TenantKernel kernel = tenant_grid(gpu, blocks, threads, Seconds((1 + 9 * rng.uniform()) * 1e-6));
  if (rng.below(2) == 0) kernel.cost.hbm_bytes = gpu.memory_bandwidth * kernel.cost.time.p50 * rng.uniform();
  kernel.cost.energy = Watts(400 * rng.uniform()) * kernel.cost.time.p50;
  return kernel;
}

}  // namespace

TenantKernel tenant_grid(const GpuSpec& gpu, std::int64_t blocks, int threads, Seconds tile, Bytes hbm) {
  TenantKernel kernel = spin(gpu, blocks, tile, threads);
  kernel.cost.hbm_bytes = hbm;
  return kernel;
}

RandomTenants::RandomTenants(std::uint64_t seed) {
  Rng rng(seed);
  gpu = random_gpu(rng);
  const std::uint32_t count = 1 + rng.below(6);
  for (std::uint32_t t = 0; t < count; ++t) {
    Tenant tenant;
    tenant.name = "t" + std::to_string(t);
    for (std::uint32_t k = 0; k <= rng.below(8); ++k) tenant.kernels.push_back(random_kernel(rng, gpu));
    tenant.batch = 8;
    tenant.priority = -static_cast<int>(rng.below(3));
    tenant.arrivals.requests = 1 + rng.below(2);
    if (rng.below(2) == 0) {
      Seconds date(0.0);
      for (std::uint32_t i = 0; i <= rng.below(3); ++i) {
        tenant.arrivals.dates.push_back(date += Seconds(200e-6 * rng.uniform()));
      }
    }
    if (rng.below(4) == 0) tenant.launch = Seconds(8e-6 * rng.uniform());
    tenants.push_back(std::move(tenant));
  }
  const auto maybe = [&rng] { return rng.below(4) > 0; };
  options.terms = {maybe(), maybe(), maybe(), maybe(), maybe()};
  options.time_slice = Seconds(50e-6);
  options.grain = rng.below(2) == 0 ? 0.05 : 0;
  options.record_kernels = true;
}

AnyDeployment::AnyDeployment(std::uint64_t seed, const RandomTenants& of) : rules_(make_dispatch_policy("streams")) {
  Rng rng(seed, 7);
  const bool sliced = rng.below(4) == 0, caps = rng.below(3) == 0, rounds = rng.below(3) == 0;
  interrupts_ = !sliced && rng.below(3) == 0;
  resets_ = rng.below(2) == 0;
  slice_ = rng.below(3) == 0 ? 1 + rng.below(40) : 0;
  deployment_ = shared_streams({of.tenants, of.gpu, of.options});
  deployment_.pointer_cost = Seconds(20e-6 * rng.uniform());
  for (std::size_t t = 0; t < of.tenants.size(); ++t) {
    TenantDeployment& tenant = deployment_.tenants[t];
    const auto kernels = static_cast<std::uint32_t>(of.tenants[t].kernels.size());
    if (sliced) tenant.process = rng.below(2);
    if (caps) tenant.sm_cap = 0.2 + 0.7 * rng.uniform();
    for (std::uint32_t k = 0; k < kernels; ++k) tenant.pieces.push_back(rng.below(3) == 0 ? 1 + rng.below(4) : 1);
    for (int p = 0; rounds && p < 3; ++p) tenant.pointers.push_back(rng.below(kernels + 1));
    std::ranges::sort(tenant.pointers);
  }
}

Deployment AnyDeployment::deploy(const TenantSet&) {
  return deployment_;
}

Decision AnyDeployment::next(const DispatchView& view) {
  Decision decision = rules_->next(view);
  if (decision.kernel >= 0 && slice_ > 0) decision.blocks = slice_;
  if (decision.kernel >= 0 || !interrupts_ || view.queue.empty()) return decision;
  const auto urgent = std::ranges::min_element(view.queue, {}, &QueuedKernel::priority);
  for (std::size_t s = 0; s < view.streams.size(); ++s) {
    if (view.streams[s].resident == 0 || view.streams[s].priority <= urgent->priority) continue;
    decision.interrupt = static_cast<int>(s);
    decision.reset = resets_;
  }
  return decision;
}

}  // namespace tessera
