// Properties of tenants on a shared GPU, in the event loop and in the fast evaluator, which must agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sim/des/tenants.hpp"
#include "tests/property/random_tenants.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t kBatch = 250, kBatches = 10;  // a process of SimGrid runs a batch

struct Batch {
  std::vector<RandomTenants> sets;
  std::vector<AnyDeployment> policies;

  explicit Batch(std::uint64_t first) {
    for (std::uint64_t seed = first; seed < first + kBatch; ++seed) {
      sets.emplace_back(seed);
      policies.emplace_back(seed, sets.back());
    }
  }
  std::vector<SharedGpu> gpus() {
    std::vector<SharedGpu> all;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      all.push_back({sets[i].tenants, sets[i].gpu, policies[i], sets[i].options});
    }
    return all;
  }
};

/// Kernels of a tenant in their order, tenants one after the other.
std::vector<KernelSpan> by_tenant(const Timeline& timeline) {
  std::vector<KernelSpan> kernels = timeline.kernels;
  std::ranges::stable_sort(kernels, {}, &KernelSpan::tenant);
  return kernels;
}

TEST(SharingProperty, EvaluatorEqualsEventLoop) {
  for (std::uint64_t batch = 0; batch < kBatches; ++batch) {
    Batch sets(batch * kBatch);
    const std::vector<Timeline> loop = simulate_tenants_isolated(sets.gpus());
    for (std::size_t i = 0; i < loop.size(); ++i) {
      const RandomTenants& set = sets.sets[i];
      const Timeline fast = evaluate(set.tenants, set.gpu, sets.policies[i], set.options);
      const auto a = by_tenant(loop[i]), b = by_tenant(fast);
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t k = 0; k < a.size(); ++k) {
        ASSERT_EQ(a[k].kernel, b[k].kernel);
        ASSERT_NEAR(a[k].end / b[k].end, 1.0, 1e-6)
            << "seed " << batch * kBatch + i << ", span " << k << " of tenant " << a[k].tenant;
        ASSERT_NEAR(a[k].start.value(), b[k].start.value(), 1e-6 * b[k].end.value());
      }
      EXPECT_NEAR(loop[i].hbm_carried.value(), fast.hbm_carried.value(), 1e-6 * (1 + fast.hbm_carried.value()));
      EXPECT_NEAR(loop[i].energy.value(), fast.energy.value(), 1e-6 * (1e-9 + fast.energy.value()));
    }
  }
}

}  // namespace
}  // namespace tessera
