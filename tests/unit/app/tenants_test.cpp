// Arrivals, measured kernels and the kernels of models as tenants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "sim/app/tenants/arrivals.hpp"
#include "sim/app/tenants/profile_kernels.hpp"
#include "sim/app/tenants/workload.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Folder : public ::testing::Test {
 protected:
  Folder() : path_(std::filesystem::temp_directory_path() / ("tenants_" + std::to_string(::getpid()))) {}
  ~Folder() override { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::filesystem::path file(std::string_view content) const {
    write_file(path_ / "f.csv", content);
    return path_ / "f.csv";
  }

 private:
  std::filesystem::path path_;
};

template <class Call>
std::string mistake(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(PoissonDates, HaveTheRateAndTheGapsOfAPoissonProcess) {
  Rng rng(7);
  const std::vector<Seconds> dates = poisson_dates(Hertz(100.0), 1, Seconds(100.0), 0, rng);
  // The count has mean 10,000 and standard deviation 100.
  EXPECT_NEAR(static_cast<double>(dates.size()), 1e4, 400);
  EXPECT_TRUE(std::is_sorted(dates.begin(), dates.end()));
  double squares = 0;
  for (std::size_t i = 1; i < dates.size(); ++i) squares += std::pow((dates[i] - dates[i - 1]).value() * 100, 2);
  EXPECT_NEAR(squares / static_cast<double>(dates.size()), 2, 0.15);  // second moment of an exponential gap
}

TEST(PoissonDates, BurstsKeepTheRate) {
  Rng rng(7);
  const std::vector<Seconds> dates = poisson_dates(Hertz(100.0), 5, Seconds(100.0), 0, rng);
  EXPECT_NEAR(static_cast<double>(dates.size()), 1e4, 900);
  EXPECT_EQ(dates[0], dates[4]);
  EXPECT_LT(dates[4], dates[5]);
}

TEST(PoissonDates, StopAtTheNumberOfRequests) {
  Rng rng(1);
  EXPECT_EQ(poisson_dates(Hertz(10.0), 3, Seconds(1e9), 7, rng).size(), 7U);
}

TEST(Every, SharesTheDatesAmongCopies) {
  const std::vector<Seconds> dates{Seconds(0.0), Seconds(1.0), Seconds(2.0)};
  EXPECT_THAT(every(dates, 2, 0), ElementsAre(Seconds(0.0), Seconds(2.0)));
  EXPECT_THAT(every(dates, 2, 1), ElementsAre(Seconds(1.0)));
}

TEST_F(Folder, TraceIsReadUpToTheEnd) {
  const auto path = file("arrival_s\n0.5\n1\n2.5\n");
  EXPECT_THAT(trace_dates(path, Seconds(2.0), 0), ElementsAre(Seconds(0.5), Seconds(1.0)));
  EXPECT_THAT(trace_dates(path, Seconds(9.0), 1), ElementsAre(Seconds(0.5)));
}

TEST_F(Folder, TraceMistakesHaveTheirLine) {
  EXPECT_THAT(mistake([&] { trace_dates(file("arrival_s\n1\n0.5\n"), Seconds(9.0), 0); }),
              HasSubstr("f.csv:3: error: arrival_s: found '0.5', expected a date from 1 s on"));
  EXPECT_THAT(mistake([&] { trace_dates(file("arrival_s\n1\n1e300\n"), Seconds(9.0), 0); }),
              HasSubstr("found '1e300', expected a date from 1 s on, up to 1e9"));
  EXPECT_THAT(mistake([&] { trace_dates(file("arrival_s\n"), Seconds(9.0), 0); }), HasSubstr("no arrivals"));
}

constexpr std::string_view kHead = "Name,Profile,Memory_footprint,SM_usage,Duration\n";

TEST_F(Folder, ProfileKernelsFillTheSmsThatTheyNeed) {
  const auto kernels =
      read_profile_kernels(file(std::string(kHead) + "conv,1,0,120,8000\nnorm,0,0,4,1000\nx,-1,0,80,5\n"));
  ASSERT_EQ(kernels.size(), 3U);
  const GpuSpec gpu = find_gpu("V100-SXM2-32GB");
  const KernelCost conv = tenant_kernel(kernels[0], gpu).cost;
  EXPECT_EQ(conv.blocks, 120);
  EXPECT_EQ(conv.waves, 2);  // of 80 SMs
  EXPECT_DOUBLE_EQ(conv.time.p50.value(), 8e-6);
  EXPECT_DOUBLE_EQ((conv.hbm_bytes / conv.time.p50).value(), 0.3 * gpu.memory_bandwidth.value());
  const TenantKernel norm = tenant_kernel(kernels[1], gpu);
  EXPECT_EQ(norm.kind, KernelClass::memory);
  EXPECT_LT(norm.cost.hbm_bytes / norm.cost.time.p50, gpu.memory_bandwidth * 0.8);  // four SMs cannot draw so much
}

TEST_F(Folder, ProfileMistakesAreAllListedWithTheirRows) {
  const std::string all = mistake(
      [&] { read_profile_kernels(file(std::string(kHead) + "a,1,0,80,0\nb,2,0,80,5\nc,1,0,0,5\nd,1,0,1,-5\n")); });
  EXPECT_THAT(all, HasSubstr("f.csv:2: error: Duration: found '0', expected a positive time in ns"));
  EXPECT_THAT(all, HasSubstr("f.csv:3: error: Profile: found '2', expected -1, 0 or 1"));
  EXPECT_THAT(all, HasSubstr("f.csv:4: error: SM_usage: found '0', expected 1 to 1000000 SMs"));
  EXPECT_THAT(all, HasSubstr("f.csv:5: error: Duration: found '-5'"));
  EXPECT_THAT(mistake([&] { read_profile_kernels(file(kHead)); }), HasSubstr("the profile has no kernels"));
}

TEST(TenantWorkload, IsTheModelsKernelsPriced) {
  const GpuSpec gpu = find_gpu("V100-SXM2-32GB");
  const auto latency = make_latency_model();
  const TenantWorkload one = tenant_workload(find_model("resnet18"), {.batch = 1, .sequence = 1}, gpu, *latency);
  const TenantWorkload eight = tenant_workload(find_model("resnet18"), {.batch = 8, .sequence = 1}, gpu, *latency);
  // 20 convolutions and norms, 17 activations, 8 sums, 2 poolings, a linear layer
  EXPECT_EQ(one.kernels.size(), 20U + 20 + 17 + 8 + 2 + 1);
  EXPECT_EQ(one.names.size(), one.kernels.size());
  EXPECT_GT(device_time(eight), device_time(one));
  EXPECT_LT(device_time(eight), device_time(one) * 8);
  EXPECT_EQ(eight.kernels.front().kind, KernelClass::compute);
  EXPECT_EQ(eight.kernels[1].kind, KernelClass::memory);  // batch norm
}

}  // namespace
}  // namespace tessera
