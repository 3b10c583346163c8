// `tessera microbench`: plans everywhere, and says what is missing where it cannot measure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "calibration/microbench/plan.hpp"
#include "calibration/microbench/results.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/config/json.hpp"
#include "tests/cli/program.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Microbench, ThePlanNeedsNoGpu) {
  const Outcome text = run_program("microbench --gpu H100-SXM-80GB --plan");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("H100-SXM-80GB: "), HasSubstr("gemm"), HasSubstr("NCCL, two GPUs")));
  EXPECT_THAT(run_program("microbench --gpu T4 --plan --cases --only bmm").out, HasSubstr("bmm fp16 nn graph b="));
  const Json json = parse_json(run_program("microbench --gpu T4 --plan --minutes 2 --json").out, "plan");
  EXPECT_LE(json.at("expected_s").number(), 120);
  EXPECT_GT(json.at("left_out").integer(), 0);
  double sum = 0;
  for (const Json& c : json.at("cases").items()) sum += c.at("expected_s").number();
  EXPECT_NEAR(sum, json.at("expected_s").number(), 1e-6);
}

TEST(Microbench, EveryMistakeIsNamed) {
  const Outcome flags = run_program("microbench --gpu T4 --dtype fp61 --minutes 0");
  EXPECT_EQ(flags.code, 2);
  EXPECT_THAT(flags.err, AllOf(HasSubstr("--dtype: error: unknown dtype 'fp61'; did you mean 'fp16'?"),
                               HasSubstr("--minutes: error: expected more than 0"),
                               HasSubstr("--out: error: expected the folder"), HasSubstr("--date: error: expected")));
  const Outcome values = run_program("microbench --gpu T4 --plan --date soon --device -1 --retry");
  EXPECT_EQ(values.code, 2);
  EXPECT_THAT(values.err, AllOf(HasSubstr("--date: error: expected a date such as 2026-05-31, found 'soon'"),
                                HasSubstr("--device: error: expected 0 or more, found -1"),
                                HasSubstr("--retry: error: goes with a measurement")));
  const auto refused = [](const std::string& arguments) {
    const Outcome outcome = run_program("microbench " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    return outcome.err;
  };
  EXPECT_THAT(refused("--gpu T4 --cases"), HasSubstr("--cases: error: goes with --plan"));
  EXPECT_THAT(refused("--gpu MI300X --plan"), HasSubstr("--gpu: error: MI300X is of AMD; the benchmarks are CUDA"));
  EXPECT_THAT(refused("--gpu T4 --plan --dtype fp8"), HasSubstr("--dtype: error: T4 has no fp8; it has fp32, fp16"));
  EXPECT_THAT(refused("--gpu T4 --plan --platform dgx-h100"),
              HasSubstr("--platform: error: dgx-h100 has H100-SXM-80GB GPUs, --gpu says T4"));
  EXPECT_THAT(refused("--gpu T4 --plan --minutes 0.0001"), HasSubstr("takes less than 0.0001 minutes on T4"));
  EXPECT_THAT(refused("--gpu T4 --plan --only launch --dtype int8"),
              HasSubstr("--only: error: these benchmarks have no case in these number formats on T4"));
  EXPECT_EQ(run_program("microbench --plan").code, 2);
  const Outcome gpu = run_program("microbench --gpu T44 --plan");
  EXPECT_EQ(gpu.code, 2);
  EXPECT_THAT(gpu.err, HasSubstr("did you mean"));
}

/// Hides GPUs, so that it is the same with one.
TEST(Microbench, WithoutAGpuItSaysWhatIsMissing) {
  const Scratch scratch;
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const auto out = scratch.path() / "measured";
  const Outcome outcome = run_program("microbench --gpu T4 --date 2026-05-31 --out " + out.string());
  EXPECT_EQ(outcome.code, 1);
  const bool built =
      std::filesystem::exists(std::filesystem::path(TESSERA_BINARY).parent_path() / "libtessera_cuda.so");
  EXPECT_THAT(outcome.err, HasSubstr(built ? "there is no CUDA GPU to measure" : "this build has no CUDA benchmarks"));
  EXPECT_THAT(outcome.err, HasSubstr("--plan"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Microbench, ValidateReadsWhatItWrites) {
  using namespace microbench;
  const Scratch scratch;
  const Plan plan = make_plan(find_gpu("H100-SXM-80GB"), {});
  ResultFolder folder(scratch.path(), {.gpu = "H100-SXM-80GB", .platform = "dgx-h100", .date = "2026-05-31"},
                      Machine{});
  std::size_t rows = 0;
  for (const PlannedCase& c : plan.cases) {
    const Statistics time{.median = Seconds(1e-3), .p10 = Seconds(9e-4), .p90 = Seconds(1.2e-3), .repeats = 10};
    folder.add(c.what, {.time = time, .error = 1e-3, .sensors = {}, .extras = {{"n_gpus", 8}}});
    if (c.what.table == Table::kernels || c.what.table == Table::collectives) ++rows;
  }
  const std::string files =
      (scratch.path() / "kernels.csv").string() + " " + (scratch.path() / "collectives.csv").string();
  const Outcome outcome = run_program("validate --json " + files);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = parse_json(outcome.out, "validate");
  std::size_t unsupported = 0;
  for (const Json& reason : json.at("unsupported").items())
    unsupported += static_cast<std::size_t>(reason.at("n").integer());
  EXPECT_EQ(static_cast<std::size_t>(json.at("overall").at("n").integer()) + unsupported, rows);
}

}  // namespace
}  // namespace tessera::testing
