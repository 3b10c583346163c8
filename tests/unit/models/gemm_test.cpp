// Prices of matrix multiplications: what must hold on every GPU and for every shape.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/device.hpp"
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "tests/unit/models/price.hpp"

namespace tessera {
namespace {

Kernel gemm(Dtype dtype, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  const Op op = batch > 1 ? Op::bmm : Op::gemm;
  return {op, dtype, GemmShape{.batch = batch, .m = m, .n = n, .k = k, .layout = GemmLayout::nn}};
}

std::int64_t log_uniform(Rng& rng, double top) {
  return static_cast<std::int64_t>(std::exp(rng.uniform() * std::log(top)));
}

std::vector<Kernel> random_gemms(Dtype dtype, std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Kernel> kernels;
  while (kernels.size() < count) {
    kernels.push_back(gemm(dtype, log_uniform(rng, 2e5), log_uniform(rng, 2e5), log_uniform(rng, 2e5),
                           rng.below(3) == 0 ? log_uniform(rng, 1000) : 1));
  }
  return kernels;
}

TEST(Gemm, EveryPriceIsPositiveAndItsBarInOrder) {
  const auto model = make_latency_model("tile");
  for (const std::string& name : known_gpus()) {
    const GpuSpec gpu = find_gpu(name);
    for (Dtype dtype : kDtypes) {
      if (gpu.peak_of(dtype).value() <= 0) continue;
      for (const Timing timing : {Timing::graph, Timing::eager}) {
        for (const KernelCost& cost :
             model->predict(random_gemms(dtype, 40, 1), gpu, {.timing = timing, .residency = Residency::warm})) {
          ASSERT_TRUE(std::isfinite(cost.time.p90.value())) << name;
          EXPECT_GT(cost.time.p10.value(), 0) << name;
          EXPECT_LE(cost.time.p10, cost.time.p50);
          EXPECT_LE(cost.time.p50, cost.time.p90);
          EXPECT_GT(cost.energy.value(), 0);
          EXPECT_GE(cost.hbm_bytes.value(), 0);
          const std::int64_t at_once = std::int64_t{gpu.sms} * cost.blocks_per_sm;
          EXPECT_EQ(cost.waves, (cost.blocks + at_once - 1) / at_once);
        }
      }
    }
  }
}

TEST(Gemm, NeitherTheFastEndOfABarNorPowerIsBeyondTheDataSheet) {
  const auto model = make_latency_model("tile");
  for (const std::string& name : known_gpus()) {
    const GpuSpec gpu = find_gpu(name);
    for (Dtype dtype : kDtypes) {
      if (gpu.peak_of(dtype).value() <= 0) continue;
      const Kernel kernel = gemm(dtype, 8192, 8192, 8192);
      const KernelCost cost = model->predict(std::vector{kernel}, gpu, kInModel).front();
      EXPECT_LE((flops(kernel) / cost.time.p10).value(), gpu.peak_of(dtype).value() * (1 + 1e-9)) << name;
      EXPECT_LE((cost.energy / cost.time.p50).value(), gpu.power_cap.value() * (1 + 1e-9)) << name;
    }
  }
}

TEST(Gemm, ADtypeThatNobodyMeasuredIsExtrapolated) {
  const auto model = make_latency_model("tile");
  const auto provenance = [&](Dtype dtype) {
    return model->predict(std::vector{gemm(dtype, 4096, 4096, 4096)}, find_gpu("H100-SXM-80GB"), kInModel)
        .front()
        .provenance;
  };
  EXPECT_EQ(provenance(Dtype::bf16), Provenance::fitted);
  EXPECT_EQ(provenance(Dtype::fp16), Provenance::fitted);  // the same rate
  EXPECT_EQ(provenance(Dtype::int8), Provenance::extrapolated);
  EXPECT_EQ(provenance(Dtype::tf32), Provenance::extrapolated);
}

TEST(Gemm, ARuntimeThatNobodyMeasuredIsTheTypicalOneAndSaysSo) {
  const Kernel kernel = gemm(Dtype::bf16, 4096, 4096, 4096);
  const auto cost = [&](Runtime runtime) {
    return price(kernel, "H100-SXM-80GB", {Timing::graph, Residency::cold, runtime});
  };
  const KernelCost typical = cost(Runtime::unspecified), other = cost(Runtime::cublaslt);
  EXPECT_EQ(typical.provenance, Provenance::fitted);
  EXPECT_EQ(cost(Runtime::vllm).provenance, Provenance::fitted);
  EXPECT_NE(cost(Runtime::vllm).time.p50.value(), typical.time.p50.value());
  EXPECT_EQ(other.provenance, Provenance::typical);
  EXPECT_EQ(other.time.p50.value(), typical.time.p50.value());
}

TEST(Gemm, AnUnseenGpuHasTheWiderBar) {
  const auto width = [](const char* gpu) {
    const Estimate<Seconds> time = price(gemm(Dtype::bf16, 4096, 4096, 4096), gpu).time;
    return time.p90 / time.p10;
  };
  EXPECT_LT(width("H100-SXM-80GB"), width("H200-SXM-141GB"));
}

TEST(Gemm, AnAnswerDoesNotDependOnTheOthersAsked) {
  const std::vector<Kernel> kernels = random_gemms(Dtype::bf16, 40, 2);
  const auto together = make_latency_model("tile")->predict(kernels, find_gpu("H200-SXM-141GB"), kInModel);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(price(kernels[i], "H200-SXM-141GB").time.p50, together[i].time.p50);
  }
}

class Doubling : public testing::TestWithParam<const char*> {};

/// Twice the work of a large GEMM takes about twice as long, whichever side grows.
TEST_P(Doubling, ALargeGemmScalesWithItsWork) {
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
    const GpuSpec gpu = find_gpu(GetParam());
    if (gpu.peak_of(dtype).value() <= 0) continue;
    for (const std::int64_t size : {4096, 6144, 8192}) {
      const Seconds one = price(gemm(dtype, size, size, size), gpu).time.p50;
      for (const Kernel& twice :
           {gemm(dtype, 2 * size, size, size), gemm(dtype, size, 2 * size, size), gemm(dtype, size, size, 2 * size)}) {
        const double ratio = price(twice, gpu).time.p50 / one;
        EXPECT_GT(ratio, 1.6) << size << " " << describe_kernel(twice);
        EXPECT_LT(ratio, 2.6) << size << " " << describe_kernel(twice);
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Gpus, Doubling,
                         testing::Values("P100-PCIE-16GB", "V100-SXM2-32GB", "T4", "A100-SXM-80GB", "A30", "L4", "L40S",
                                         "RTX-4090", "H100-SXM-80GB", "H20", "B200-SXM-180GB", "MI300X"));

/// All rates of a GPU twice as high: a large GEMM takes half as long (fixed latencies aside), as its inputs are ratios.
/// Of a GPU that no fit has seen: those it has seen have nets of their own.
TEST(Gemm, TimeScalesWithTheDevice) {
  GpuSpec gpu = find_gpu("A100-SXM4-40GB"), twice = gpu;
  twice.boost_clock = gpu.boost_clock * 2;
  twice.base_clock = gpu.base_clock * 2;
  for (FlopsPerSec& peak : twice.peak) peak *= 2;
  twice.fp32_vector_peak *= 2;
  twice.memory_bandwidth *= 2;
  twice.power_cap *= 2;
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
    const Kernel kernel = gemm(dtype, 8192, 8192, 8192);
    EXPECT_NEAR(price(kernel, twice).time.p50 / price(kernel, gpu).time.p50, 0.5, 0.01) << to_string(dtype);
  }
}

TEST(Gemm, WhatStaysInL2IsNotReadFromMemory) {
  const Kernel small = gemm(Dtype::bf16, 16, 1024, 1024);
  const KernelCost cold = price(small, "H100-SXM-80GB"), warm = price(small, "H100-SXM-80GB", kRepeated);
  EXPECT_DOUBLE_EQ(cold.hbm_bytes.value(), traffic(small).total().value());
  EXPECT_LT(warm.hbm_bytes, cold.hbm_bytes * 0.1);
  EXPECT_LE(warm.time.p50, cold.time.p50);
  const Kernel large = gemm(Dtype::bf16, 16, 65536, 16384);  // 2 GB of weights
  EXPECT_NEAR(price(large, "H100-SXM-80GB", kRepeated).hbm_bytes / traffic(large).total(), 1, 0.01);
}

TEST(Gemm, EagerTimingAddsTheEventFloor) {
  const Kernel tiny = gemm(Dtype::fp32, 32, 32, 32);
  const PredictContext eager{Timing::eager, Residency::warm};
  const Seconds added = price(tiny, "T4", eager).time.p50 - price(tiny, "T4", kRepeated).time.p50;
  EXPECT_GT(added, 20.0_us);  // NeuSight's smallest rows: 24-45 us and more
  EXPECT_LT(added, 60.0_us);
}

TEST(Gemm, AnUnsupportedDtypeNamesBoth) {
  try {
    price(gemm(Dtype::fp8, 128, 128, 128), "A100-SXM-80GB");
    FAIL();
  } catch (const RunError& e) {
    EXPECT_NE(std::string(e.what()).find("A100-SXM-80GB does not support fp8"), std::string::npos) << e.what();
  }
}

TEST(Gemm, AWrongShapeIsRefused) {
  EXPECT_THROW(price(gemm(Dtype::bf16, 0, 128, 128), "A100-SXM-80GB"), RunError);
}

TEST(Gemm, OutsideTheFittedRangeTheBarWidens) {
  const KernelCost inside = price(gemm(Dtype::bf16, 4096, 4096, 4096), "H100-SXM-80GB");
  EXPECT_EQ(inside.provenance, Provenance::fitted);
  EXPECT_EQ(inside.out_of_range, 0);
  const KernelCost outside = price(gemm(Dtype::bf16, 4096, 4096, 4096, 512), "H100-SXM-80GB");  // no batches in the fit
  EXPECT_EQ(outside.provenance, Provenance::extrapolated);
  EXPECT_GT(outside.time.p90 / outside.time.p50, inside.time.p90 / inside.time.p50);  // the fast end stops at peak
}

TEST(LatencyModels, AreListedAndMadeByName) {
  const auto listed = latency_models();
  EXPECT_TRUE(std::ranges::is_sorted(listed, {}, &LatencyModelEntry::name));
  for (const std::string_view name : {"roofline", "tile"}) {
    EXPECT_EQ(std::ranges::count(listed, name, &LatencyModelEntry::name), 1);
    EXPECT_NE(make_latency_model(name), nullptr);
  }
  try {
    make_latency_model("tiles");
    FAIL();
  } catch (const InputError& e) {
    const std::string& message = e.diagnostics().front().message;
    EXPECT_EQ(message.find("unknown latency model 'tiles'; did you mean 'tile'?"), 0U) << message;
    for (const LatencyModelEntry& entry : listed) EXPECT_NE(message.find(entry.name), std::string::npos);
  }
}

TEST(Roofline, IsWorkOrBytesOverTheSustainedRate) {
  const auto model = make_latency_model("roofline");
  const GpuSpec gpu = find_gpu("A100-PCIE-80GB");
  const Device device = derive_device(gpu);
  const std::vector<Kernel> kernels{gemm(Dtype::bf16, 8192, 8192, 8192), gemm(Dtype::bf16, 1, 8192, 8192)};
  const auto costs = model->predict(kernels, gpu, kInModel);
  const Seconds work = flops(kernels[0]) / device.sustained_of(Dtype::bf16);
  const Seconds bytes = traffic(kernels[1]).total() / device.hbm;
  EXPECT_DOUBLE_EQ(costs[0].time.p50.value(), (work + device.launch_floor).value());
  EXPECT_DOUBLE_EQ(costs[1].time.p50.value(), (bytes + device.launch_floor).value());
  EXPECT_EQ(costs[0].provenance, Provenance::closed_form);
}

/// A row of activations is a block of vLLM's quantisation kernel: 32768 rows take 8 of them per SM and pass, however
/// short they are.
TEST(Gemm, RuntimesQuantiseFp8ActivationsAndLibrariesTakeThemAsTheyAre) {
  const Kernel kernel = gemm(Dtype::fp8, 32768, 256, 64);
  const auto seconds = [&](Runtime runtime) {
    return price(kernel, "H100-SXM-80GB", {Timing::graph, Residency::cold, runtime}).time.p50.value();
  };
  EXPECT_GT(seconds(Runtime::vllm), 3 * seconds(Runtime::cublaslt));
}

/// 32 MB of activations stay in the 96 MiB of an L40S between calls: device memory alone would take 70 us.
TEST(Gemm, QuantisationReadsWhatL2Keeps) {
  const Kernel kernel = gemm(Dtype::fp8, 4096, 128, 4096);
  const auto seconds = [&](Residency residency) {
    return price(kernel, "L40S", {Timing::graph, residency, Runtime::vllm}).time.p50.value();
  };
  EXPECT_LT(seconds(Residency::rotated), 80e-6);
  EXPECT_GT(seconds(Residency::cold), seconds(Residency::rotated) + 20e-6);
}

/// Five copies of 17 MB in rotation fit into the 96 MiB of an L40S, what vLLM's benchmark touches does not.
TEST(Gemm, RotatedWeightsStayInL2WhereTheyFit) {
  const auto moved = [](Runtime runtime, std::int64_t n) {
    const Kernel kernel = gemm(Dtype::bf16, 8, n, 2896);
    return price(kernel, "L40S", {Timing::graph, Residency::rotated, runtime}).hbm_bytes / traffic(kernel).total();
  };
  EXPECT_LT(moved(Runtime::trtllm, 2896), 0.6);
  EXPECT_GT(moved(Runtime::vllm, 2896), 0.6);
  EXPECT_LT(moved(Runtime::vllm, 512), 0.01);
  EXPECT_GT(moved(Runtime::trtllm, 40000), 0.99);
}

}  // namespace
}  // namespace tessera
