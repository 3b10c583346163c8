#include "sim/place/chip/gpu_template.hpp"
#include "sim/cluster/description.hpp"

#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/place/chip/gpu_search.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace literals;

/// One layer of Llama-2-7B in bf16, forward, 4,096 tokens, and one step of its decoding.
std::vector<Kernel> layer_kernels() {
  const auto linear = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return Kernel{.op = Op::linear, .dtype = Dtype::bf16, .shape = GemmShape{.m = m, .n = n, .k = k}};
  };
  const auto attention = [](Op op, std::int64_t batch, std::int64_t q, std::int64_t kv) {
    return Kernel{.op = op,
                  .dtype = Dtype::bf16,
                  .shape = AttentionShape{
                      .batch = batch, .q_len = q, .kv_len = kv, .heads = 32, .kv_heads = 32, .head_dim = 128}};
  };
  return {linear(4096, 12288, 4096),
          linear(4096, 4096, 4096),
          linear(4096, 22016, 4096),
          linear(4096, 4096, 11008),
          linear(16, 12288, 4096),
          linear(16, 4096, 11008),
          attention(Op::attention_prefill, 1, 4096, 4096),
          attention(Op::attention_decode, 16, 1, 2048),
          {.op = Op::rmsnorm, .dtype = Dtype::bf16, .shape = VectorShape{.rows = 4096, .h = 4096}},
          {.op = Op::silu, .dtype = Dtype::bf16, .shape = VectorShape{.rows = 4096, .h = 11008}}};
}

GpuWorkload layer_workload() {
  GpuWorkload workload{.items = 4096.0, .memory = 60.0_GiB};
  for (const Kernel& kernel : layer_kernels()) workload.parts.push_back({kernel, 1.0});
  return workload;
}

class KnownTemplate : public testing::TestWithParam<std::string_view> {};

TEST_P(KnownTemplate, GivesTheDataSheet) {
  const GpuSpec made = to_spec(gpu_template(GetParam())), sheet = find_gpu(GetParam());
  EXPECT_EQ(made.sms, sheet.sms);
  EXPECT_EQ(made.matrix_unit, sheet.matrix_unit);
  EXPECT_EQ(made.architecture, sheet.architecture);
  EXPECT_EQ(made.l2, sheet.l2);
  EXPECT_EQ(made.memory, sheet.memory);
  EXPECT_NEAR(made.memory_bandwidth / sheet.memory_bandwidth, 1.0, 1e-12);
  EXPECT_NEAR(made.nvlink_bandwidth / sheet.nvlink_bandwidth, 1.0, 1e-12);
  for (const Dtype dtype : kDtypes) {
    SCOPED_TRACE(to_string(dtype));
    if (sheet.peak_of(dtype) == FlopsPerSec()) continue;
    EXPECT_NEAR(made.peak_of(dtype) / sheet.peak_of(dtype), 1.0, 0.01);  // data sheets round
  }
}

TEST_P(KnownTemplate, IsPredictedAsThatGpuWithinTheModelsOwnBars) {
  const auto model = make_latency_model();
  const std::vector<Kernel> kernels = layer_kernels();
  const CostTable made = model->predict(kernels, to_spec(gpu_template(GetParam())), {});
  const CostTable sheet = model->predict(kernels, find_gpu(GetParam()), {});
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    SCOPED_TRACE(describe_kernel(kernels[i]));
    EXPECT_GE(made[i].time.p50, sheet[i].time.p10);
    EXPECT_LE(made[i].time.p50, sheet[i].time.p90);
    EXPECT_NEAR(made[i].time.p50 / sheet[i].time.p50, 1.0, 0.02);  // far inside: only roundings differ
  }
}

TEST_P(KnownTemplate, IsReadBackFromItsDescription) {
  const GpuSpec made = to_spec(gpu_template(GetParam()));
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / (std::string(GetParam()) + ".made.yaml");
  write_file(path, gpu_description(made));
  const GpuSpec read = read_gpu(path);
  std::filesystem::remove(path);
  EXPECT_EQ(read.sms, made.sms);
  EXPECT_EQ(read.matrix_unit, made.matrix_unit);
  EXPECT_EQ(read.memory_type, made.memory_type);
  const auto same = [](auto a, auto b) { EXPECT_NEAR(a / b, 1.0, 1e-12); };
  same(read.memory, made.memory);
  same(read.memory_bandwidth, made.memory_bandwidth);
  same(read.l2, made.l2);
  same(read.nvlink_bandwidth, made.nvlink_bandwidth);
  same(read.power_cap, made.power_cap);
  same(read.base_clock, made.base_clock);
  for (const Dtype dtype : kDtypes) {
    EXPECT_NEAR(read.peak_of(dtype).value(), made.peak_of(dtype).value(), 1e-12 * made.peak_of(dtype).value());
  }
}

TEST_P(KnownTemplate, CanBeBuilt) {
  EXPECT_THAT(gpu_template_errors(gpu_template(GetParam())), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Gpus, KnownTemplate,
                         testing::Values("A100-SXM-80GB", "H100-SXM-80GB", "H200-SXM-141GB", "B200-SXM-180GB"),
                         [](const auto& gpu) {
                           std::string name(gpu.param.substr(0, 4));
                           return name;
                         });

/// Least squares of features against targets by normal equations.
std::vector<double> least_squares(const std::vector<std::vector<double>>& features,
                                  const std::vector<double>& targets) {
  const std::size_t n = features.front().size();
  std::vector<std::vector<double>> a(n, std::vector<double>(n + 1, 0.0));
  for (std::size_t r = 0; r < features.size(); ++r) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) a[i][j] += features[r][i] * features[r][j];
      a[i][n] += features[r][i] * targets[r];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = a[r][i] / a[i][i];
      for (std::size_t j = i; j <= n; ++j) a[r][j] -= factor * a[i][j];
    }
  }
  std::vector<double> solution;
  for (std::size_t i = 0; i < n; ++i) solution.push_back(a[i][n] / a[i][i]);
  return solution;
}

/// Errors target - prediction of each row by a fit on the others.
std::vector<double> left_out(const std::vector<std::vector<double>>& features, const std::vector<double>& targets) {
  std::vector<double> errors;
  for (std::size_t out = 0; out < features.size(); ++out) {
    auto f = features;
    auto t = targets;
    f.erase(f.begin() + static_cast<std::ptrdiff_t>(out));
    t.erase(t.begin() + static_cast<std::ptrdiff_t>(out));
    const std::vector<double> x = least_squares(f, t);
    errors.push_back(targets[out] - std::inner_product(x.begin(), x.end(), features[out].begin(), 0.0));
  }
  return errors;
}

double mean_abs(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::abs(v);
  return sum / static_cast<double>(values.size());
}

TEST(GpuCosts, AreaIsTheBestFitOfPublishedDiesAndMissesThoseLeftOutByFourPercent) {
  std::vector<std::vector<double>> features;
  std::vector<double> ones;
  for (const KnownDie& die : known_dies()) {
    const double density = die.process_nm >= 16   ? 25.0
                           : die.process_nm >= 12 ? 25.3
                           : die.process_nm >= 8  ? 45.0
                           : die.process_nm >= 7  ? 65.6
                                                  : 123.0;
    const double s = 123.0 / density / die.area.value(), one = 1.0 / die.area.value();
    features.push_back({s * die.sms * (1 + die.fp32_lanes_per_sm / 128.0), s * die.sms * die.matrix_fmas_per_sm / 512.0,
                        s * die.l2_mib, one * (die.hbm_stacks + die.gddr_bits / 128.0), one});
    ones.push_back(1.0);
  }
  const std::vector<double> best = least_squares(features, ones);
  for (std::size_t i = 0; i < features.size(); ++i) {
    const double fitted = std::inner_product(best.begin(), best.end(), features[i].begin(), 0.0);
    EXPECT_NEAR(predicted_area(known_dies()[i]) / known_dies()[i].area, fitted, 1e-3) << known_dies()[i].name;
  }
  const std::vector<double> errors = left_out(features, ones);
  EXPECT_NEAR(mean_abs(errors), 0.043, 0.001);
  const Estimate<Area> h100 = die_area(gpu_template("H100-SXM-80GB"));
  EXPECT_LT(h100.p10, Area(814.0));  // NVIDIA H100 white paper
  EXPECT_GT(h100.p90, Area(814.0));
}

TEST(GpuCosts, RentIsTheBestFitOfOffersAndMissesThoseLeftOutByAFifth) {
  std::vector<std::vector<double>> features;
  std::vector<double> logs;
  for (const KnownRent& rent : known_rents()) {
    features.push_back({1.0, std::log(rent.peak / 1.0_TFLOPs * (rent.memory / 1.0_GB))});
    logs.push_back(std::log(rent.per_hour.value()));
  }
  const std::vector<double> best = least_squares(features, logs);
  std::vector<double> errors;
  for (const double error : left_out(features, logs)) errors.push_back(std::expm1(-error));
  EXPECT_NEAR(mean_abs(errors), 0.220, 0.001);
  for (std::size_t i = 0; i < features.size(); ++i) {
    const KnownRent& rent = known_rents()[i];
    EXPECT_NEAR(std::log(predicted_rent(rent.peak, rent.memory).value()), best[0] + best[1] * features[i][1], 1e-3);
  }
}

TEST(GpuCosts, TheBarOfAreaIsWiderBeyondKnownMatrixUnits) {
  const auto width = [](const GpuTemplate& gpu) { return (die_area(gpu).p90 - die_area(gpu).p10) / die_area(gpu).p50; };
  GpuTemplate gpu = gpu_template("H100-SXM-80GB");
  const double known = width(gpu);
  gpu.matrix_fmas_per_sm = 4096;
  EXPECT_NEAR(width(gpu) / known, 2.0, 1e-12);
}

TEST(GpuCosts, UncappedPowerIsThatOfTheLatencyModel) {
  // 0.85 of the peak over 0.63 TFLOP/s/W x (FMAs per clock at boost / 512)^0.42 (models/README.md).
  const GpuSpec h100 = find_gpu("H100-SXM-80GB");
  const double fmas = h100.peak_of(Dtype::bf16).value() / (2 * h100.sms * h100.boost_clock.value());
  const double expected = 0.85 * 989.4 / (0.63 * std::pow(fmas / 512, 0.42));
  EXPECT_NEAR(uncapped_power(gpu_template("H100-SXM-80GB")).value(), expected, 1.0);
}

TEST(GpuTemplateErrors, SayWhatCannotBeBuilt) {
  const auto errors = [](const std::function<void(GpuTemplate&)>& change) {
    GpuTemplate gpu = gpu_template("H100-SXM-80GB");
    change(gpu);
    return gpu_template_errors(gpu);
  };
  EXPECT_THAT(errors([](auto& g) { g.sms = 0; }), ElementsAre("SMs is 0; expected 1 to 1024"));
  EXPECT_THAT(errors([](auto& g) { g.hbm_stacks = 0, g.dies = 9; }),
              ElementsAre("dies is 9; expected 1 to 4", "HBM stacks is 0; expected 1 to 32"));
  EXPECT_THAT(errors([](auto& g) { g.sms = 200; }), ElementsAre(HasSubstr("is larger than a mask exposes (858 mm2)")));
  EXPECT_THAT(errors([](auto& g) { g.sms = 60, g.hbm_stacks = 7; }),
              ElementsAre(HasSubstr("8 sites of HBM stacks, but the edges of a die of")));
}

TEST(GpuTemplates, UnknownNamesAreTheUsersMistakes) {
  const auto message = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message([] { gpu_template("H100-SXM-80G"); }),
              HasSubstr("no GPU template named 'H100-SXM-80G'; did you mean 'H100-SXM-80GB'?"));
  EXPECT_THAT(message([] { gpu_generation("Rubin"); }),
              HasSubstr("no GPU generation named 'Rubin'; known are Ampere, Hopper, Blackwell"));
}

class GpuSearch : public testing::Test {
 protected:
  GpuSearchResult search(const GpuGrid& grid, const GpuLimits& limits = {}) const {
    return search_gpus(centre_, grid, limits, workload_, *model_);
  }
  [[nodiscard]] std::string failure(const GpuGrid& grid, const GpuLimits& limits = {}) const {
    try {
      search(grid, limits);
    } catch (const RunError& error) {
      return error.what();
    }
    return "";
  }

  GpuTemplate centre_ = gpu_template("H100-SXM-80GB");
  GpuWorkload workload_ = layer_workload();
  std::unique_ptr<LatencyModel> model_ = make_latency_model();
};

TEST_F(GpuSearch, EveryPointOfTheFrontIsBestForSomeWish) {
  const GpuSearchResult result = search(neighbourhood(centre_));
  EXPECT_EQ(result.candidates, 2u * 5 * 3 * 5 * 3 * 3 * 4);
  ASSERT_GT(result.front.size(), 10u);
  for (std::size_t i = 0; i < result.front.size(); ++i) {
    const GpuPoint& a = result.front[i];
    EXPECT_THAT(gpu_template_errors(a.gpu), IsEmpty());
    EXPECT_LE(a.power, a.gpu.power_cap);
    EXPECT_LE(a.items_per_second, result.front[i == 0 ? 0 : i - 1].items_per_second);
    for (const GpuPoint& b : result.front) {
      if (&a == &b) continue;
      EXPECT_FALSE(b.items_per_second >= a.items_per_second && b.area.p50 <= a.area.p50 && b.power <= a.power &&
                   b.rent_per_hour.p50 <= a.rent_per_hour.p50);
    }
  }
}

TEST_F(GpuSearch, AnEmptyGridIsTheCentreAlone) {
  const GpuSearchResult result = search({});
  ASSERT_EQ(result.front.size(), 1u);
  EXPECT_EQ(result.front[0].gpu, centre_);
  EXPECT_EQ(result.front[0].items_per_second, result.centre.items_per_second);
  EXPECT_EQ(result.centre.items_per_second, 4096.0 / result.centre.time.p50.value());
}

TEST_F(GpuSearch, LimitsHold) {
  const GpuLimits limits{.area = Area(750.0), .power_cap = 700.0_W, .rent_per_hour = Money(3.5)};
  const GpuSearchResult result = search(neighbourhood(centre_), limits);
  EXPECT_GT(result.over_limits, 0u);
  for (const GpuPoint& point : result.front) {
    EXPECT_LE(point.area.p50, Area(750.0));
    EXPECT_LE(point.gpu.power_cap, 700.0_W);
    EXPECT_LE(point.rent_per_hour.p50, Money(3.5));
  }
}

TEST_F(GpuSearch, SaysWhyNothingIsLeft) {
  EXPECT_EQ(
      failure({}, {.area = Area(100.0)}),
      "none of 1 GPUs can be used: 0 cannot be built, 1 are over a limit, 0 have too little memory; 788 mm2 of 100 "
      "allowed");
  EXPECT_THAT(failure({}, {.power_cap = 100.0_W}), HasSubstr("; 700 W of 100 allowed"));
  EXPECT_THAT(failure({}, {.rent_per_hour = Money(0.5)}), HasSubstr("USD an hour of 0.50 allowed"));
  EXPECT_THAT(failure({.sms = {0}}),
              HasSubstr("1 cannot be built, 0 are over a limit, 0 have too little memory; SMs is 0"));
  workload_.memory = 200.0_GiB;
  EXPECT_THAT(failure({}), HasSubstr("the workload needs 200.0 GiB and the largest has 80.0"));
}

TEST_F(GpuSearch, AWorkloadWithoutKernelsIsAMistake) {
  workload_.parts.clear();
  EXPECT_THROW(search({}), InputError);
}

}  // namespace
}  // namespace tessera
