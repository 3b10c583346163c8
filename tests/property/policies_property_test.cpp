// Properties of the dispatch policies themselves on random tenants with arrivals and priorities.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/des/tenants.hpp"
#include "tests/property/random_tenants.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t kFirst = 70000, kSets = 120;

std::size_t requests_of(const Tenant& tenant) {
  return tenant.arrivals.dates.empty() ? static_cast<std::size_t>(tenant.arrivals.requests)
                                       : tenant.arrivals.dates.size();
}

class PolicyProperty : public testing::TestWithParam<std::string_view> {};

// A policy that kills, holds back or changes its mind must still end every request, once, after it came.
TEST_P(PolicyProperty, ServesEveryRequest) {
  for (std::uint64_t seed = kFirst; seed < kFirst + kSets; ++seed) {
    const RandomTenants set(seed);
    const Timeline timeline = evaluate(set.tenants, set.gpu, GetParam(), set.options);
    for (std::uint32_t t = 0; t < set.tenants.size(); ++t) {
      const auto of = static_cast<std::size_t>(std::ranges::count(timeline.requests, t, &RequestSpan::tenant));
      EXPECT_EQ(of, requests_of(set.tenants[t])) << "seed " << seed << ", tenant " << t;
    }
    for (const RequestSpan& request : timeline.requests) {
      EXPECT_GE(request.start, request.arrival - Seconds(1e-12));
      EXPECT_GT(request.end, request.start);
    }
  }
}

// The policies that interrupt, and those that look ahead from the state of the clock.
TEST_P(PolicyProperty, EvaluatorEqualsEventLoop) {
  std::vector<RandomTenants> sets;
  std::vector<std::unique_ptr<DispatchPolicy>> policies;
  std::vector<TenantGpu> gpus;
  for (std::uint64_t seed = kFirst; seed < kFirst + kSets; ++seed) {
    sets.emplace_back(seed);
    sets.back().options.grain = 0;
    policies.push_back(make_dispatch_policy(GetParam()));
  }
  for (std::size_t i = 0; i < sets.size(); ++i)
    gpus.push_back({sets[i].tenants, sets[i].gpu, *policies[i], sets[i].options});
  const std::vector<Timeline> loop = simulate_tenants_isolated(gpus);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const Timeline fast = evaluate(sets[i].tenants, sets[i].gpu, GetParam(), sets[i].options);
    EXPECT_NEAR(loop[i].makespan / fast.makespan, 1.0, 1e-6) << "seed " << kFirst + i;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, PolicyProperty,
                         testing::Values("abacus", "cpp", "lookahead", "mps", "orion", "reef", "sequential",
                                         "streams+priority", "tally", "timeslice"),
                         [](const auto& instance) {
                           std::string name(instance.param);
                           std::ranges::replace(name, '+', '_');
                           return name;
                         });

}  // namespace
}  // namespace tessera
