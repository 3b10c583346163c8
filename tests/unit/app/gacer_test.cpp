// What GACER's page is made of, on small groups.
#include "sim/app/reproduce/gacer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/dispatch/evaluate.hpp"

namespace tessera {
namespace {

using ::testing::HasSubstr;

/// Kernels of 80 and 20 blocks by turns, an SM each.
Tenant tenant(std::string name, int kernels, Seconds each) {
  Tenant tenant;
  tenant.name = std::move(name);
  tenant.batch = 4;
  for (int i = 0; i < kernels; ++i) {
    TenantKernel kernel;
    kernel.cost.time = Estimate<Seconds>::exact(each);
    kernel.cost.blocks = i % 2 == 0 ? 80 : 20;
    kernel.cost.blocks_per_sm = 1;
    tenant.kernels.push_back(kernel);
  }
  return tenant;
}

TenantGroup group() {
  return {"a+b", find_gpu("V100-PCIE-16GB"), {tenant("a", 10, Seconds(1e-4)), tenant("b", 6, Seconds(2e-4))}};
}

TEST(GeometricMean, LeavesOutWhatIsNotPositive) {
  EXPECT_NEAR(geometric_mean({2, 8}), 4, 1e-12);
  EXPECT_NEAR(geometric_mean({2, 0, 8, -1}), 4, 1e-12);
  EXPECT_EQ(geometric_mean({}), 0);
}

TEST(Makespans, LieBetweenTheLongestTenantAndTheSum) {
  const TenantGroup both = group();
  const MakespanRow row = makespans(both, 0, {contender("streams")});
  Seconds sum;
  for (const Tenant& one : both.tenants) sum += evaluate(std::span(&one, 1), both.gpu, "streams").makespan;
  EXPECT_GE(row.outcomes[0].makespan, row.bound * (1 - 1e-9));
  EXPECT_LE(row.outcomes[0].makespan, sum * 1.2);  // pairs slow each other by the interference terms
  EXPECT_EQ(row.tenants, 2U);
}

TEST(ModelGroups, AreTheCombinationsOfTwoToFive) {
  const auto groups = model_groups(find_gpu("V100-PCIE-16GB"), 1, *make_latency_model());
  ASSERT_EQ(groups.size(), 6U);
  EXPECT_EQ(groups[0].tenants.size(), 3U);
  EXPECT_EQ(groups[2].tenants.size(), 5U);
  EXPECT_EQ(groups[5].name, "training + inference");
  EXPECT_EQ(groups[5].tenants.size(), 2U);
}

TEST(Arrivals, ChargedSearchNeverServesEarlier) {
  const ArrivalRow row = with_arrivals(group(), 0.6, 1, {contender("streams")});
  ASSERT_TRUE(row.outcomes[0].done && row.charged[0].done);
  EXPECT_GE(row.outcomes[0].tail, 1 - 1e-9);
  EXPECT_GE(row.charged[0].tail, row.outcomes[0].tail * (1 - 1e-9));
  EXPECT_LE(row.charged[0].goodput, row.outcomes[0].goodput * (1 + 1e-9));
}

TEST(Arrivals, BurstsLengthenTheTail) {
  const std::vector<PolicyContender> streams{contender("streams")};
  EXPECT_GT(with_arrivals(group(), 0.6, 8, streams).outcomes[0].tail,
            with_arrivals(group(), 0.6, 1, streams).outcomes[0].tail);
}

TEST(GacerPage, SaysWhatCouldNotBeRead) {
  GacerResults results;
  results.contenders = {contender("sequential"), contender("gacer"), contender("lookahead")};
  const std::string page = gacer_page(results, "tessera reproduce gacer");
  EXPECT_THAT(page, HasSubstr("The paper's own figures were not available"));
  EXPECT_THAT(page, HasSubstr("Made by `tessera reproduce gacer`"));
}

}  // namespace
}  // namespace tessera
