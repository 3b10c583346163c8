// The calibrated tier as a user meets it: measurements to a profile, a profile to predictions, and what goes wrong.
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/file.hpp"
#include "sim/config/json.hpp"
#include "tests/cli/program.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPredict = "predict --gpu L40S gemm --m 4096 --n 4096 --k 4096 --dtype bf16 --json";

Json predicted(const std::string& more = "") {
  const Outcome outcome = run_program(kPredict + more);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return parse_json(outcome.out, "stdout");
}

double p50() {
  return predicted().at("time_s").at("p50").number();
}

/// One GEMM that took `factor` times as long as predicted, one copy, one launch.
std::string measurements(double factor) {
  return fmt::format(
      "gpu,dtype,op,m,n,k,bytes,timing,date,latency_ms\n"
      "L40S,bf16,gemm,4096,4096,4096,,graph,2026-05-31,{}\n"
      "L40S,,copy,,,,268435456,eager,,0.8\n"
      "L40S,,launch,,,,,eager,,0.0061\n"
      "A40,bf16,gemm,4096,4096,4096,,graph,,9\n",
      1e3 * factor * p50());
}

struct Calibrated {
  Scratch scratch;
  std::string profile = (scratch.path() / "mine.yaml").string();
  Outcome outcome;
  explicit Calibrated(double factor)
      : outcome(run_program("calibrate --gpu L40S --measurements " + scratch.file("m.csv", measurements(factor)) +
                            " --out " + profile)) {}
};

TEST(Calibrate, OneGemmOneCopyOneLaunchMakeAProfile) {
  const Calibrated made(1.3);
  ASSERT_EQ(made.outcome.code, 0) << made.outcome.err;
  EXPECT_THAT(made.outcome.out, HasSubstr("gemm_matrix"));
  EXPECT_THAT(made.outcome.out, HasSubstr("left out, 1 rows: of another GPU, A40"));
  const std::string text = read_file(made.profile);
  EXPECT_THAT(text, HasSubstr("gpu: L40S\ndate: \"2026-05-31\""));
  EXPECT_THAT(text, HasSubstr("host_launch: 6.1 us"));
  EXPECT_THAT(text, HasSubstr("{family: gemm_matrix, dtype: bf16, rows: 1,"));

  const Json before = predicted(), after = predicted(" --profile " + made.profile);
  const auto time = [](const Json& json, const char* quantile) { return json.at("time_s").at(quantile).number(); };
  EXPECT_GT(time(after, "p50"), 1.02 * time(before, "p50"));
  EXPECT_LT(time(after, "p50"), 1.3 * time(before, "p50"));
  EXPECT_LT(time(after, "p90") / time(after, "p10"), time(before, "p90") / time(before, "p10"));
  EXPECT_EQ(after.at("provenance").text(), "calibrated");
}

TEST(Calibrate, ReadsWhatMicrobenchWrites) {
  const Scratch scratch;
  const std::string device = scratch.file(
      "device.csv",
      "case,gpu,dtype,op,timing,runtime,bytes,blocks,m,n,k,latency_ms,p10_ms,p90_ms,gb_per_s,tflops,host_us,repeats\n"
      "a,L40S,fp32,launch_train,eager,tessera,,1,,,,0.003,,,,,2.25,100\n"
      "b,L40S,fp32,launch,graph,tessera,,1,,,,0.001,,,,,,100\n"
      "c,L40S,fp32,memory_copy,graph,tessera,1073741824,,,,,3,,,,,,100\n"
      "d,L40S,bf16,sustained_gemm,graph,cublaslt,,,8192,8192,8192,5,,,,,,100\n");
  write_file(scratch.path() / "machine.json", "{\"gpu\": \"L40S\", \"date\": \"2026-01-02\"}");
  const std::string profile = (scratch.path() / "p.yaml").string();
  const Outcome outcome = run_program("calibrate --gpu L40S --measurements " + device + " --out " + profile);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("sustained_gemm is no kernel"));
  EXPECT_THAT(outcome.out, HasSubstr("without a framework: a lower bound"));
  const std::string text = read_file(profile);
  EXPECT_THAT(text, HasSubstr("date: \"2026-01-02\""));
  EXPECT_THAT(text, HasSubstr("host_launch: 2.25 us\nbare_launch: true"));
  EXPECT_THAT(text, HasSubstr("{family: memory, dtype: fp32, rows: 1,"));
}

TEST(Calibrate, TheSameMeasurementsGiveTheSameBytes) {
  EXPECT_EQ(read_file(Calibrated(1.3).profile), read_file(Calibrated(1.3).profile));
}

std::string scenario(const std::string& profile, const std::string& gpu = "L40S") {
  return fmt::format(
      "name: profiled\nruns:\n  - name: one\n    gpu: {}\n    profile: {}\n    workload:\n"
      "      {{model: bert-large, mode: inference, dtype: bf16, sequence: 128, batch: 8}}\n",
      gpu, profile);
}

TEST(Profile, AScenarioNamesItFromItsOwnFolder) {
  const Calibrated made(1.5);
  ASSERT_EQ(made.outcome.code, 0) << made.outcome.err;
  const std::string with = made.scratch.file("with.yaml", scenario("mine.yaml"));
  const Outcome outcome = run_program("simulate " + with + " --json --out " + (made.scratch.path() / "out").string());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(read_file(made.scratch.path() / "out" / "one" / "manifest.json"), HasSubstr("mine.yaml"));
  EXPECT_THAT(read_file(made.scratch.path() / "out" / "one" / "ops.csv"), HasSubstr(",calibrated,"));
}

TEST(Profile, OfAnotherGpuIsAMistake) {
  const Calibrated made(1.1);
  const std::string file = made.scratch.file("s.yaml", scenario("mine.yaml", "A40"));
  const Outcome check = run_program("check " + file);
  EXPECT_EQ(check.code, 2);
  EXPECT_THAT(check.err, HasSubstr("s.yaml:5:14: error: runs[0].profile: profile mine is of L40S, not of A40"));
  const Outcome predict = run_program("predict --gpu A40 relu --rows 64 --h 64 --profile " + made.profile);
  EXPECT_EQ(predict.code, 2);
  EXPECT_THAT(predict.err, HasSubstr("is of L40S, not of A40"));
  const std::string rows = made.scratch.file("a40.csv", "gpu,dtype,op,rows,h,latency_ms\nA40,fp16,relu,64,64,1\n");
  const Outcome validate = run_program("validate " + rows + " --profile " + made.profile);
  EXPECT_EQ(validate.code, 2);
  EXPECT_THAT(validate.err, HasSubstr("--profile: error: mine is of L40S, and no row is"));
}

TEST(Profile, ShiftsAnotherModelThanTheTileModelNever) {
  const Calibrated made(1.1);
  const std::string file = made.scratch.file("s.yaml", scenario("mine.yaml") + "latency_model: roofline\n");
  const Outcome check = run_program("check " + file);
  EXPECT_EQ(check.code, 2);
  EXPECT_THAT(check.err, HasSubstr("profiles shift the latency model 'tile'; use it, or no profile"));
  const Outcome predict = run_program(std::string(kPredict) + " --latency-model roofline --profile " + made.profile);
  EXPECT_EQ(predict.code, 2);
  EXPECT_THAT(predict.err, HasSubstr("profile mine shifts the latency model 'tile', not 'roofline'"));
}

TEST(Profile, MadeWithOtherWeightsIsRefused) {
  const Calibrated made(1.1);
  std::string text = read_file(made.profile);
  const auto at = text.find("weights: \"") + 10;
  text.replace(at, 4, text.substr(at, 4) == "0000" ? "1111" : "0000");
  const std::string stale = made.scratch.file("stale.yaml", text);
  const Outcome outcome = run_program(kPredict + (" --profile " + stale));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("profile stale was made with other weights than those in use"));
}

TEST(Profile, WeightsThatAreNotThereAreExitTwo) {
  const Calibrated made(1.1);
  const std::string rows = made.scratch.file("k.csv", "gpu,dtype,op,rows,h,latency_ms\nL40S,fp16,relu,8192,8192,1\n");
  const Outcome outcome = run_program("validate " + rows + " --weights NOPE --profile " + made.profile);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--weights: error: no folder 'NOPE'"));
}

TEST(Calibrate, ProfileMistakesAreExitTwo) {
  const Scratch scratch;
  const std::string other = scratch.file("a40.csv", "gpu,dtype,op,rows,h,latency_ms\nA40,fp16,relu,64,64,1\n");
  const auto message = [](const std::string& arguments) {
    const Outcome outcome = run_program("calibrate " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    return outcome.err;
  };
  EXPECT_THAT(message("--gpu L40S --measurements " + other),
              HasSubstr("no usable measurement of L40S: 1 rows: of another GPU, A40"));
  EXPECT_THAT(message("--gpu L40S"), HasSubstr("--gpu: error: needs --measurements"));
  EXPECT_THAT(message("--measurements " + other), HasSubstr("--measurements: error: needs --gpu"));
  EXPECT_THAT(message("--gpu L40SS --measurements " + other), HasSubstr("did you mean 'L40S'?"));
  EXPECT_THAT(message("--gpu A40 --family rows --measurements " + other), HasSubstr("makes a profile"));
  for (const char* ignored : {"--seed 3", "--epochs 3", "--net bmm", "--no-error-table"})
    EXPECT_THAT(message("--gpu A40 --measurements " + other + " " + ignored), HasSubstr("makes a profile"));
  EXPECT_THAT(message("--where gpu=A40"), HasSubstr("--where: error: goes with --gpu"));
  EXPECT_THAT(message("--gpu A40 --out x.txt --measurements " + other),
              HasSubstr("expected a file that ends in .yaml"));
  EXPECT_THAT(message("--gpu A40 --measurements " + (scratch.path() / "none.csv").string()), HasSubstr("none.csv"));
  EXPECT_THAT(message("--gpu A40 --measurements " + other + "," + other), HasSubstr("a40.csv is given twice"));
  const std::string folder = (scratch.path() / "there.yaml").string();
  std::filesystem::create_directory(folder);
  EXPECT_THAT(message("--gpu A40 --measurements " + other + " --out " + folder), HasSubstr("there.yaml is a folder"));
  const std::string dated =
      scratch.file("d.csv", "gpu,dtype,op,rows,h,date,latency_ms\nA40,fp16,relu,8192,8192,soon,1\n");
  EXPECT_THAT(message("--gpu A40 --measurements " + dated), HasSubstr("expected a date such as 2026-05-31"));
  const std::string slow = scratch.file("slow.csv", "gpu,dtype,op,timing,latency_ms\nA40,,launch,eager,6\n");
  EXPECT_THAT(message("--gpu A40 --measurements " + slow), HasSubstr("is none; another unit?"));
  const std::string seconds =
      scratch.file("s.csv", "gpu,dtype,op,m,n,k,latency_ms\nA40,fp16,gemm,4096,4096,4096,1200\n");
  EXPECT_THAT(message("--gpu A40 --out unused.yaml --measurements " + seconds),
              ::testing::AllOf(HasSubstr("s.csv:2: error: latency_ms: 1.20 s is "), HasSubstr("another unit?")));
}

TEST(Calibrate, MistakesInMeasurementsHaveTheirLine) {
  const Scratch scratch;
  const auto message = [&scratch](const std::string& text) {
    return run_program("calibrate --gpu A40 --measurements " + scratch.file("m.csv", text)).err;
  };
  EXPECT_THAT(message("gpu,dtype,op,rows,h,latency_ms\nA40,fp16,relu,64,64,-1\n"),
              HasSubstr("m.csv:2: error: latency_ms: expected a time above 0, found -1"));
  EXPECT_THAT(message("gpu,dtype,op,bytes,latency_ms\nA40,,copy,,1\n"), HasSubstr("expected a whole number"));
  EXPECT_THAT(message("gpu,dtype,op,m,n,k,latency_ms\nA40,fp16,gem,8,8,8,1\n"), HasSubstr("unknown operator 'gem'"));
  EXPECT_THAT(message("gpu,dtype,op,layout,m,n,k,latency_ms\nA40,fp16,gemm,tt,8,8,8,1\n"),
              HasSubstr("expected nn, tn or nt, found 'tt'"));
  EXPECT_THAT(message("gpu,dtype,op,rows,h,latency_ms\nA40,fp16,relu,8192,8192,1e30\n"),
              HasSubstr("m.csv:2: error: latency_ms: 11574074074074074578944 d is "));
  std::string many = "gpu,dtype,op,rows,h,latency_ms\n";
  for (int row = 0; row < 100; ++row) many += "A40,fp16,relu,8192,8192,47\n";
  EXPECT_THAT(message(many), HasSubstr("measurements of something else, or another unit?"));
  EXPECT_THAT(message("gpu,model,mode,latency_ms\nA40,bert-large,inf,1\n"),
              HasSubstr("holds model measurements; a profile is made from kernels"));
}

TEST(Calibrate, AnotherMachinesRecordBesideTheFileIsRefused) {
  const Scratch scratch;
  write_file(scratch.path() / "machine.json", "{\"gpu\": \"L40S\", \"date\": \"2026-01-02\"}");
  const std::string rows = scratch.file("k.csv", "gpu,dtype,op,rows,h,latency_ms\nA40,fp16,relu,8192,8192,1\n");
  const Outcome outcome = run_program("calibrate --gpu A40 --measurements " + rows);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("machine.json: error: was measured on L40S, not on A40"));
}

}  // namespace
}  // namespace tessera::testing
