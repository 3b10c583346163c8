#include "sim/report/tenants.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/device.hpp"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Seconds ms(double value) {
  return Seconds(value * 1e-3);
}

/// Two tenants; the first has latencies of 10, 20, 30, 40 ms, the second of 40 ms twice.
struct Shared {
  GpuSpec gpu = find_gpu("V100-SXM2-32GB");
  std::vector<Tenant> tenants{2};
  Timeline timeline;
  std::vector<Seconds> solo{ms(10), ms(20)};
  std::vector<Bytes> l2{Bytes(1e6), Bytes(2e6)};

  Shared() {
    tenants[0].name = "chat & <b>";
    tenants[0].slo = ms(25);
    tenants[1].name = "train";
    timeline.makespan = ms(100);
    for (int i = 1; i <= 4; ++i)
      timeline.requests.push_back(
          {.tenant = 0, .arrival = ms(20 * i), .start = ms(20 * i), .end = ms(20 * i + 10 * i)});
    timeline.requests.back().end = ms(100);  // arrived at 80, 20 ms
    timeline.requests[3].arrival = ms(60);   // so 40 ms
    for (int i = 0; i < 2; ++i)
      timeline.requests.push_back({.tenant = 1, .arrival = ms(40 * i), .start = ms(40 * i), .end = ms(40 * i + 40)});
    timeline.kernels = {{0, 0, ms(20), ms(30)}, {1, 0, ms(0), ms(40)}};
    timeline.usage = {{ms(0), 40, BytesPerSec(0.0)}, {ms(50), 80, gpu.memory_bandwidth}};
    timeline.sm_time = ms(60.0 * gpu.sms);
    timeline.hbm_carried = gpu.memory_bandwidth * ms(50);
    timeline.energy = Joules(5.0);
  }
  [[nodiscard]] SharingMeasures measure() const { return measure_sharing({tenants, gpu, timeline, solo, l2}); }
};

TEST(Quantile, IsTheNearestRank) {
  std::vector<Seconds> values;
  for (int i = 100; i >= 1; --i) values.emplace_back(i);
  EXPECT_EQ(quantile(values, 0.99).value(), 99);
  EXPECT_EQ(quantile(values, 0.5).value(), 50);
  EXPECT_EQ(quantile(values, 1).value(), 100);
  EXPECT_EQ(quantile({Seconds(3.0)}, 0.99).value(), 3);
}

TEST(SharingMeasures, LatenciesThroughputAndGoodputByFormula) {
  const SharingMeasures m = Shared().measure();
  const TenantMeasures& chat = m.tenants[0];
  EXPECT_EQ(chat.requests, 4);
  EXPECT_NEAR(chat.mean.value(), (10 + 20 + 30 + 40) / 4 * 1e-3, 1e-12);
  EXPECT_NEAR(chat.p50.value(), 20e-3, 1e-12);
  EXPECT_NEAR(chat.p99.value(), 40e-3, 1e-12);
  EXPECT_NEAR(chat.slowdown, 2.5, 1e-9);
  EXPECT_NEAR(chat.throughput.value(), 4 / 0.1, 1e-9);
  EXPECT_NEAR(chat.in_slo_ratio, 0.5, 1e-12);  // 10 and 20 ms
  EXPECT_NEAR(chat.goodput.value(), 2 / 0.1, 1e-9);
  EXPECT_NEAR(m.tenants[1].throughput.value(), 2 / 0.08, 1e-9);
  EXPECT_EQ(m.tenants[1].goodput.value(), 0);  // it has no SLO
}

TEST(SharingMeasures, FairnessResidueAndUtilisationByFormula) {
  const Shared shared;
  const SharingMeasures m = shared.measure();
  const double x = 1 / 2.5, y = 1 / 2.0;
  EXPECT_NEAR(m.jain, (x + y) * (x + y) / (2 * (x * x + y * y)), 1e-12);
  EXPECT_NEAR(m.sm_ratio, 0.6, 1e-12);
  EXPECT_NEAR(m.hbm_ratio, 0.5, 1e-12);
  EXPECT_NEAR(m.residue.value(), 0.4 * 0.1 * shared.gpu.sms, 1e-9);
  const Device device = derive_device(shared.gpu);
  EXPECT_NEAR(m.l2_ratio, (4 * 1e6 + 2 * 2e6) / (device.l2.value() * 0.1), 1e-12);
  EXPECT_NEAR(m.energy.value(), 5 + device.idle.value() * 0.1, 1e-9);
}

TEST(SharingMeasures, UsageOverTimeAveragesTheSteps) {
  const Shared shared;
  const SharingMeasures m = shared.measure();
  ASSERT_EQ(m.over_time.size(), 100U);
  EXPECT_NEAR(m.over_time.front().sm_ratio, 40.0 / shared.gpu.sms, 1e-9);
  EXPECT_NEAR(m.over_time.back().sm_ratio, 80.0 / shared.gpu.sms, 1e-9);
  EXPECT_NEAR(m.over_time.back().hbm_ratio, 1, 1e-9);
  double l2 = 0;
  for (const UsageBin& bin : m.over_time) l2 += bin.l2_ratio / 100;
  EXPECT_NEAR(l2, m.l2_ratio, 1e-9);
}

TEST(SharingMeasures, NobodyServedIsNoDivisionByZero) {
  Shared shared;
  shared.timeline.requests.clear();
  const SharingMeasures m = shared.measure();
  EXPECT_EQ(m.tenants[0].requests, 0);
  EXPECT_EQ(m.jain, 1);
}

SharingSummary summary() {
  return {
      .scenario = "s", .run = "r", .gpu = "V100", .dispatch = "streams", .measures = Shared().measure(), .search = {}};
}

TEST(SharingOutputs, JsonReadsBack) {
  const Json json = sharing_json(summary());
  EXPECT_EQ(json.at("dispatch").text(), "streams");
  EXPECT_NEAR(json.at("makespan_s").number(), 0.1, 1e-12);
  EXPECT_EQ(json.at("tenants").items().size(), 2U);
  EXPECT_NEAR(json.at("tenants").items()[0].at("in_slo_ratio").number(), 0.5, 1e-12);
  EXPECT_EQ(json.at("tenants").items()[1].find("goodput_hz"), nullptr);
  EXPECT_EQ(json.at("usage").items().size(), 100U);
}

TEST(SharingOutputs, TableNamesEveryTenant) {
  const std::string text = sharing_text(summary());
  EXPECT_THAT(text, HasSubstr("2 tenants on V100, dispatch streams"));
  EXPECT_THAT(text, HasSubstr("train"));
  EXPECT_THAT(text, HasSubstr("50.0 %"));
}

TEST(SharingOutputs, RequestsAreRows) {
  const Shared shared;
  const std::string csv = requests_csv(shared.tenants, shared.timeline);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 7);
  EXPECT_THAT(csv, HasSubstr("train,0.04,0.04,0.08,0.04"));
}

TEST(SharingOutputs, EveryTenantHasAColourOfItsOwn) {
  const Shared shared;
  PackingText text(1'000'000);
  tenants_trace(shared.tenants, {{"conv"}, {"gemm"}}, shared.timeline, text);
  const std::string trace = text.take().bytes;
  EXPECT_THAT(trace, HasSubstr("\"name\":\"conv\",\"cname\":\"thread_state_running\""));
  EXPECT_THAT(trace, HasSubstr("\"name\":\"gemm\",\"cname\":\"rail_response\""));
  EXPECT_THAT(trace, HasSubstr("\"ts\":20000.000,\"dur\":10000.000"));
  const std::string picture = tenants_svg(shared.tenants, summary(), shared.timeline);
  EXPECT_THAT(picture, HasSubstr("chat &amp; &lt;b"));
  EXPECT_THAT(picture, HasSubstr("#0072b2"));
  EXPECT_THAT(picture, HasSubstr("#e69f00"));
}

}  // namespace
}  // namespace tessera
