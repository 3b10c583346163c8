// Properties of tenants on a shared GPU, in the event loop and in the fast evaluator, which must agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sim/des/tenants.hpp"
#include "tests/property/random_tenants.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t kBatch = 250, kBatches = 8;  // a process of SimGrid runs a batch

struct Batch {
  std::vector<RandomTenants> sets;
  std::vector<AnyDeployment> policies;

  explicit Batch(std::uint64_t first) {
    for (std::uint64_t seed = first; seed < first + kBatch; ++seed) {
      sets.emplace_back(seed);
      policies.emplace_back(seed, sets.back());
    }
  }
  std::vector<TenantGpu> gpus() {
    std::vector<TenantGpu> all;
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

class SharingProperty : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SharingProperty, EvaluatorEqualsEventLoop) {
  Batch sets(GetParam() * kBatch);
  const std::vector<Timeline> loop = simulate_tenants_isolated(sets.gpus());
  for (std::size_t i = 0; i < loop.size(); ++i) {
    const RandomTenants& set = sets.sets[i];
    const Timeline fast = evaluate(set.tenants, set.gpu, sets.policies[i], set.options);
    const auto a = by_tenant(loop[i]), b = by_tenant(fast);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      ASSERT_EQ(a[k].kernel, b[k].kernel);
      ASSERT_NEAR(a[k].end / b[k].end, 1.0, 1e-6) << "seed " << GetParam() * kBatch + i << ", span " << k;
      ASSERT_NEAR(a[k].start.value(), b[k].start.value(), 1e-6 * b[k].end.value());
    }
    EXPECT_NEAR(loop[i].hbm_carried.value(), fast.hbm_carried.value(), 1e-6 * (1 + fast.hbm_carried.value()));
    EXPECT_NEAR(loop[i].energy.value(), fast.energy.value(), 1e-6 * (1e-9 + fast.energy.value()));
  }
}

INSTANTIATE_TEST_SUITE_P(Batches, SharingProperty, testing::Range<std::uint64_t>(0, kBatches));

SharingOptions exact(const SharingTerms& terms) {
  SharingOptions options;
  options.terms = terms;
  options.grain = 0;
  return options;
}

/// In the event loop and in the evaluator.
std::vector<std::vector<Timeline>> both(const std::vector<RandomTenants>& sets, const SharingOptions& options) {
  std::vector<std::unique_ptr<DispatchPolicy>> policies;
  std::vector<TenantGpu> gpus;
  std::vector<std::vector<Timeline>> timelines(2);
  for (const RandomTenants& set : sets) {
    policies.push_back(make_dispatch_policy("streams"));
    gpus.push_back({set.tenants, set.gpu, *policies.back(), options});
    timelines[0].push_back(evaluate(set.tenants, set.gpu, "streams", options));
  }
  timelines[1] = simulate_tenants_isolated(gpus);
  return timelines;
}

/// One request each at 0, of kernels that only hold SM slots.
std::vector<RandomTenants> plain_sets(std::uint64_t first, std::uint64_t count) {
  std::vector<RandomTenants> sets;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    RandomTenants& set = sets.emplace_back(seed);
    for (Tenant& tenant : set.tenants) {
      tenant.arrivals = {};
      tenant.launch = Seconds(0.0);
    }
  }
  return sets;
}

constexpr SharingTerms kNothing{.hbm = false, .issue = false, .l2 = false, .clock = false, .launch = false};

Seconds alone(const RandomTenants& set, const Tenant& tenant) {
  Seconds time(0.0);
  for (const TenantKernel& kernel : tenant.kernels) time += device_kernel(kernel.cost, set.gpu).time();
  return time;
}

// With SMs for everybody and no interference nobody waits: the makespan is the longest tenant's.
TEST(SharingBounds, InfiniteSmsGiveTheLongestTenant) {
  auto sets = plain_sets(10000, 200);
  for (RandomTenants& set : sets) {
    for (Tenant& tenant : set.tenants) {
      for (TenantKernel& kernel : tenant.kernels) kernel.cost.hbm_bytes = Bytes(0.0);
    }
    set.gpu.sms = 2000;
  }
  for (const auto& timelines : both(sets, exact(kNothing))) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      Seconds longest(0.0);
      for (const Tenant& tenant : sets[i].tenants) longest = max(longest, alone(sets[i], tenant));
      EXPECT_NEAR(timelines[i].makespan / longest, 1.0, 1e-9) << 10000 + i;
    }
  }
}

// One block slot serves one block at a time: the sum of all blocks.
TEST(SharingBounds, OneBlockSlotGivesTheSum) {
  auto sets = plain_sets(20000, 200);
  for (RandomTenants& set : sets) {
    set.gpu.sms = 1;
    set.gpu.blocks_per_sm = 1;
    for (Tenant& tenant : set.tenants) {
      for (TenantKernel& kernel : tenant.kernels) {
        KernelCost& cost = kernel.cost;
        cost.time = Estimate<Seconds>::exact(cost.tile_latency() * static_cast<double>(cost.blocks));
        cost.blocks_per_sm = 1;
      }
    }
  }
  for (const auto& timelines : both(sets, exact(kNothing))) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      Seconds sum(0.0);
      for (const Tenant& tenant : sets[i].tenants) sum += alone(sets[i], tenant);
      EXPECT_NEAR(timelines[i].makespan / sum, 1.0, 1e-9) << 20000 + i;
    }
  }
}

// No shorter than the longest tenant alone, the SMs' work or the traffic; no longer than all one after the other as
// slow as the SMs and bandwidth shared by all make them.
TEST(SharingBounds, MakespanIsBetweenTheBounds) {
  const auto sets = plain_sets(30000, 200);
  const SharingTerms terms{.hbm = true, .issue = true, .l2 = false, .clock = false, .launch = false};
  for (const auto& timelines : both(sets, exact(terms))) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      Seconds longest(0.0), sum(0.0);
      double sm_seconds = 0;
      for (const Tenant& tenant : sets[i].tenants) {
        longest = max(longest, alone(sets[i], tenant));
        sum += alone(sets[i], tenant);
        for (const TenantKernel& kernel : tenant.kernels) {
          const DeviceKernel cut = device_kernel(kernel.cost, sets[i].gpu);
          sm_seconds += cut.sms_of(cut.blocks) * cut.tile_latency.value();
        }
      }
      const double makespan = timelines[i].makespan.value() * (1 + 1e-9);
      EXPECT_GE(makespan, longest.value());
      EXPECT_GE(makespan, sm_seconds / sets[i].gpu.sms);
      EXPECT_GE(makespan, timelines[i].hbm_carried / sets[i].gpu.memory_bandwidth / Seconds(1.0));
      EXPECT_LE(makespan, sum.value() * static_cast<double>(sets[i].tenants.size()) + 1e-9);
    }
  }
}

/// The same kernels where there are more SMs: fewer waves of the same tiles.
void add_sms(RandomTenants& set, int sms) {
  set.gpu.sms += sms;
  for (TenantKernel& kernel : set.tenants.front().kernels) {
    KernelCost& cost = kernel.cost;
    const Seconds tile = cost.tile_latency();
    const std::int64_t wave = std::int64_t{set.gpu.sms} * cost.blocks_per_sm;
    cost.waves = (cost.blocks + wave - 1) / wave;
    cost.time = Estimate<Seconds>::exact(tile * static_cast<double>(cost.waves));
    cost.hbm_bytes = Bytes(0.0);
  }
}

// One tenant alone: a GPU with more bandwidth or SMs is no slower.
TEST(SharingBounds, OneTenantIsNotSlowerOnMore) {
  auto sets = plain_sets(40000, 200);
  for (RandomTenants& set : sets) set.tenants.resize(1);
  auto more = sets;
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (i % 2 == 0) {
      more[i].gpu.memory_bandwidth *= 1.5;
    } else {
      add_sms(more[i], 1 + static_cast<int>(i % 7));
    }
  }
  const auto before = both(sets, exact({})), after = both(more, exact({}));
  for (std::size_t mode = 0; mode < 2; ++mode) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      EXPECT_LE(after[mode][i].makespan.value(), before[mode][i].makespan.value() * (1 + 1e-9)) << 40000 + i;
    }
  }
}

// The grain moves the ends of whole waves by 3 % of their time, of small parts of one by a fifth, and pays it back, so
// makespans move by much less on the average.
TEST(SharingBounds, GrainKeepsTheMakespan) {
  double sum = 0;
  const auto sets = plain_sets(60000, 200);
  for (const RandomTenants& set : sets) {
    const Seconds whole = evaluate(set.tenants, set.gpu, "streams", exact({})).makespan;
    const double ratio = evaluate(set.tenants, set.gpu, "streams", {}).makespan / whole;
    EXPECT_NEAR(ratio, 1.0, 0.1);
    sum += ratio;
  }
  EXPECT_NEAR(sum / static_cast<double>(sets.size()), 1.0, 0.002);
}

// On a crowded GPU, where it saves most, sums are right too.
TEST(SharingBounds, GrainKeepsACrowdedGpu) {
  const GpuSpec gpu = find_gpu("V100-SXM2-32GB");
  Rng rng(7);
  std::vector<Tenant> tenants(16);
  for (Tenant& tenant : tenants) {
    tenant.name = "t";
    for (int k = 0; k < 60; ++k) {
      const Seconds tile(5e-6 * std::pow(10.0, rng.uniform()));
      tenant.kernels.push_back(tenant_grid(gpu, 2 + rng.below(rng.below(3) == 0 ? 320 : 80), 1024, tile,
                                           0.3 * rng.uniform() * gpu.memory_bandwidth * tile));
    }
  }
  const Timeline whole = evaluate(tenants, gpu, "streams", exact({}));
  const Timeline grained = evaluate(tenants, gpu, "streams", {});
  EXPECT_NEAR(grained.makespan / whole.makespan, 1.0, 0.01);
  EXPECT_NEAR(grained.hbm_carried / whole.hbm_carried, 1.0, 1e-9);
  EXPECT_LT(10 * grained.events, whole.events);  // which is what it is for
}

// Names and numbers of tenants do not matter as long as their order stays.
TEST(SharingBounds, RenamingThatKeepsTheOrderChangesNothing) {
  const auto sets = plain_sets(50000, 100);
  auto renamed = sets;
  for (RandomTenants& set : renamed) {
    for (Tenant& tenant : set.tenants) tenant.name = "another " + tenant.name;
    Tenant never = set.tenants.back();
    never.arrivals.requests = 0;  // takes a number, does nothing
    set.tenants.insert(set.tenants.begin() + 1, std::move(never));
  }
  const auto before = both(sets, exact({})), after = both(renamed, exact({}));
  for (std::size_t mode = 0; mode < 2; ++mode) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      EXPECT_EQ(before[mode][i].makespan, after[mode][i].makespan) << 50000 + i;
    }
  }
}

}  // namespace
}  // namespace tessera
