// Plans: what runs on which GPU, within which time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "calibration/microbench/plan.hpp"
#include "sim/base/error.hpp"
#include "sim/cluster/gpu.hpp"

namespace tessera::microbench {
namespace {

using ::testing::HasSubstr;

std::set<std::string> benchmarks_of(const Plan& plan) {
  std::set<std::string> names;
  for (const PlannedCase& c : plan.cases) names.insert(c.what.benchmark);
  return names;
}

TEST(MicrobenchPlan, EveryGpuKeepsTheBudgetAndSomeOfEveryBenchmark) {
  for (const std::string& name : known_gpus()) {
    const GpuSpec gpu = find_gpu(name);
    const Plan plan = make_plan(gpu, {});
    EXPECT_LE(plan.expected(), Seconds(540)) << name;
    EXPECT_GT(plan.cases.size(), 200U) << name;
    EXPECT_GE(benchmarks_of(plan).size(), gpu.peak_of(Dtype::fp16) > FlopsPerSec(0) ? 14U : 12U) << name;
  }
}

TEST(MicrobenchPlan, CaseNamesAreUniqueAndEveryKernelHasAValidShape) {
  const GpuSpec gpu = find_gpu("B200-SXM-180GB");
  for (const Benchmark& row : benchmarks()) {
    std::set<std::string> ids;
    for (const Case& c : row.cases(gpu)) {
      EXPECT_TRUE(ids.insert(case_id(c)).second) << case_id(c);
      EXPECT_EQ(c.benchmark, row.name);
      if (c.table == Table::kernels) {
        EXPECT_TRUE(parse_op(c.op)) << c.op;
        EXPECT_GT(c.moved, Bytes(0)) << case_id(c);
      }
    }
  }
}

TEST(MicrobenchPlan, MoreTimeNeverLosesCases) {
  const GpuSpec gpu = find_gpu("H100-SXM-80GB");
  std::size_t before = 0;
  for (const double minutes : {1.0, 3.0, 9.0, 30.0, 600.0}) {
    const Plan plan = make_plan(gpu, {.only = {}, .dtypes = {}, .budget = Seconds(60 * minutes), .sampling = {}});
    EXPECT_GE(plan.cases.size(), before);
    before = plan.cases.size();
    if (minutes == 600.0) {
      EXPECT_EQ(plan.left_out, 0U);
    }
  }
}

TEST(MicrobenchPlan, OnlyAndDtypesFilter) {
  const GpuSpec gpu = find_gpu("H100-SXM-80GB");
  const Plan plan =
      make_plan(gpu, {.only = {"bmm", "gemm"}, .dtypes = {Dtype::fp8}, .budget = Seconds(540), .sampling = {}});
  EXPECT_EQ(benchmarks_of(plan), std::set<std::string>{"gemm"});  // no batched fp8
  for (const PlannedCase& c : plan.cases) {
    EXPECT_EQ(c.what.dtype, Dtype::fp8);
    EXPECT_EQ(c.what.layout, "tn");  // the only one that fp8 has
  }
}

TEST(MicrobenchPlan, NothingThatTheGpuLacks) {
  const GpuSpec gpu = find_gpu("T4");
  for (const PlannedCase& c : make_plan(gpu, {}).cases) {
    EXPECT_NE(c.what.dtype, Dtype::fp8) << c.id;
    if (c.what.table == Table::kernels) {
      EXPECT_NE(c.what.dtype, Dtype::bf16) << c.id;
      EXPECT_LE(rough_time(c.what, gpu), Seconds(0.2)) << c.id;
      EXPECT_LT(5 * c.what.moved, gpu.memory / 3.0) << c.id;
    }
  }
}

TEST(MicrobenchPlan, PartsOfTheSmsAddUp) {
  const GpuSpec gpu = find_gpu("A100-SXM-80GB");
  std::size_t partitioned = 0;
  for (const Case& c : pair_cases(gpu)) {
    if (c.dim("partition") == 0) continue;
    ++partitioned;
    EXPECT_LE(c.dim("blocks_a") + c.dim("blocks_b"), gpu.sms) << case_id(c);
    EXPECT_GE(c.dim("blocks_a") + c.dim("blocks_b"), gpu.sms - 1) << case_id(c);
  }
  EXPECT_EQ(partitioned, 9U);  // three pairs of kernels, a quarter, half and three quarters for the first
}

TEST(MicrobenchPlan, CollectivesAreThoseOfValidate) {
  std::set<std::string> names;
  for (const Case& c : collective_cases(find_gpu("A100-SXM-80GB"))) names.insert(c.op);
  EXPECT_EQ(names, (std::set<std::string>{"all_gather", "all_reduce", "alltoall", "reduce_scatter", "send_recv"}));
}

TEST(MicrobenchPlan, UnknownBenchmarkNamesTheNearest) {
  try {
    make_plan(find_gpu("T4"), {.only = {"gem", "rows"}, .dtypes = {}, .budget = Seconds(540), .sampling = {}});
    FAIL();
  } catch (const InputError& error) {
    ASSERT_EQ(error.diagnostics().size(), 1U);
    EXPECT_EQ(error.diagnostics()[0].file, "--only");
    EXPECT_THAT(error.diagnostics()[0].message, HasSubstr("unknown benchmark 'gem'; did you mean 'gemm'?"));
  }
}

TEST(MicrobenchPlan, RoughTimeIsTheRooflineAtSixtyPercent) {
  GpuSpec gpu = find_gpu("H100-SXM-80GB");
  gpu.memory_bandwidth = BytesPerSec(1e12);
  gpu.peak[static_cast<std::size_t>(Dtype::bf16)] = FlopsPerSec(1e15);
  const Case computes{
      .benchmark = "gemm", .op = "gemm", .runtime = "", .dtype = Dtype::bf16, .work = Flops(6e12), .moved = Bytes(1)};
  EXPECT_NEAR(rough_time(computes, gpu).value(), 10e-3 + 3e-6, 1e-9);
  const Case moves{
      .benchmark = "gemm", .op = "gemm", .runtime = "", .dtype = Dtype::bf16, .work = Flops(1), .moved = Bytes(6e9)};
  EXPECT_NEAR(rough_time(moves, gpu).value(), 10e-3 + 3e-6, 1e-9);
}

}  // namespace
}  // namespace tessera::microbench
