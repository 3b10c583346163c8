// The command line itself: help, verbs, flags, results.
#include <cstdint>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/file.hpp"
#include "sim/config/json.hpp"
#include "tests/cli/program.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

TEST(Usage, NothingIsExitTwoWithTheVerbs) {
  const Outcome outcome = run_program("");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("simulate"));
}

TEST(Usage, EveryVerbHasHelpWithAnExample) {
  const Outcome outcome = run_program("--help");
  EXPECT_EQ(outcome.code, 0);
  for (const std::string verb : {"simulate", "predict", "calibrate", "microbench", "validate", "list", "check"}) {
    EXPECT_THAT(outcome.out, HasSubstr(verb));
    const Outcome help = run_program(verb + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("Example:\n  tessera " + verb));
    EXPECT_THAT(help.out, HasSubstr("--json"));
  }
}

TEST(Usage, UnknownVerbAndFlagNameTheNearest) {
  const Outcome verb = run_program("simulat x.yaml");
  EXPECT_EQ(verb.code, 2);
  EXPECT_THAT(verb.err, HasSubstr("unknown verb 'simulat'; did you mean 'simulate'?"));
  const Outcome flag = run_program("simulate x.yaml --jsn");
  EXPECT_EQ(flag.code, 2);
  EXPECT_THAT(flag.err, HasSubstr("unknown option '--jsn'; did you mean '--json'?"));
  EXPECT_EQ(run_program("simulate").code, 2);
}

TEST(Usage, Version) {
  EXPECT_THAT(run_program("--version").out, ::testing::MatchesRegex("tessera [0-9.]+\n"));
}

TEST(Usage, ClosedStderrKeepsTheExitCode) {
  EXPECT_EQ(run_program("check nope.yaml 2>&-").code, 2);
  EXPECT_EQ(run_program("2>&-").code, 2);
}

TEST(Usage, LostOutputIsExitOne) {
  const Outcome outcome = run_program("list platforms >&-");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("error: cannot write to stdout: it is closed, or the disk is full"));
  EXPECT_EQ(run_program("check nope.yaml >&-").code, 2);  // nothing was lost
}

TEST(Simulate, ExplainsFoldingAndThePath) {
  const Scratch scratch;
  const std::string scenario = "simulate tests/golden/scenarios/spread.yaml --out " + scratch.path().string();
  const Outcome plain = run_program(scenario), explained = run_program(scenario + " --explain");
  EXPECT_THAT(plain.out, HasSubstr("Critical path"));
  EXPECT_THAT(plain.out, HasSubstr("at most 1."));
  EXPECT_THAT(plain.out, ::testing::Not(HasSubstr("Folding: ")));
  EXPECT_THAT(explained.out, HasSubstr("ranks are simulated as "));
  EXPECT_THAT(explained.out, HasSubstr("Kernels on the critical path"));
  EXPECT_THAT(run_program(scenario + " --explain --set fold=off").out,
              HasSubstr("Folding: none, the scenario says fold: off"));
}

#ifndef __SANITIZE_ADDRESS__  // whose shadow memory alone is more than the limit
TEST(Usage, OutOfMemoryIsExitOne) {
  const Scratch scratch;
  const std::string path = scratch.file("s.yaml", "");
  std::filesystem::resize_file(path, std::uintmax_t{4} << 30);  // takes no room on the disk
  const Outcome outcome = run_program("check '" + path + "'", "ulimit -v 1000000; ");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "error: out of memory\n");
}
#endif

TEST(List, EveryTopic) {
  for (const std::string topic : {"platforms", "models", "policies", "operators", "latency-models"}) {
    const Outcome text = run_program("list " + topic);
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_FALSE(text.out.empty());
    EXPECT_FALSE(parse_json(run_program("list " + topic + " --json").out, topic).items().empty());
  }
  EXPECT_THAT(run_program("list platforms").out, HasSubstr("H100-SXM-80GB"));
  const Outcome outcome = run_program("list platfroms");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean 'platforms'?"));
}

TEST(List, HomeWithoutPlatformsIsExitTwo) {
  for (const std::string topic : {"platforms", "models"}) {
    const Outcome outcome = run_program("list " + topic, "TESSERA_HOME=/nowhere ");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("TESSERA_HOME: error: no folder platforms/ in '/nowhere'"));
  }
}

TEST(Predict, AnOperator) {
  const std::string gemm = "predict --gpu H100-SXM-80GB gemm --m 4096 --n 4096 --k 4096 --dtype bf16";
  const Outcome outcome = run_program(gemm);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("on H100-SXM-80GB"));
  const Json json = parse_json(run_program(gemm + " --json").out, "predict");
  EXPECT_EQ(json.at("flops").number(), 2.0 * 4096 * 4096 * 4096);
  const double peak = 989.4e12;
  EXPECT_GT(json.at("time_s").at("p50").number(), json.at("flops").number() / peak);
}

TEST(Predict, AGpuOfOnesOwnFromItsDataSheet) {
  const Scratch scratch;
  const std::string sheet = scratch.file("mine.yaml", read_file("platforms/gpus/H100-SXM-80GB.yaml"));
  const std::string gemm = " gemm --m 4096 --n 4096 --k 4096 --json";
  const Json mine = parse_json(run_program("predict --gpu " + sheet + gemm).out, "mine");
  const Json known = parse_json(run_program("predict --gpu H100-SXM-80GB" + gemm).out, "known");
  EXPECT_EQ(mine.at("time_s").at("p50").number(), known.at("time_s").at("p50").number());
}

TEST(Predict, SaysWhatIsWrong) {
  const Outcome dims = run_program("predict --gpu H100-SXM-80GB gemm --m 4096");
  EXPECT_EQ(dims.code, 2);
  EXPECT_THAT(dims.err, ::testing::AllOf(HasSubstr("gemm needs --n"), HasSubstr("gemm needs --k")));
  const Outcome surplus = run_program("predict --gpu T4 gemm --m 1 --n 1 --k 1 --kv-heads 2 --mode training --fused");
  EXPECT_EQ(surplus.code, 2);
  for (const char* flag : {"--kv-heads", "--mode", "--fused"})
    EXPECT_THAT(surplus.err, HasSubstr(std::string("gemm does not take ") + flag));
  const Outcome model = run_program("predict --gpu T4 --model gpt2 --batch 1 --seq 8 --dtype fp16 --m 4");
  EXPECT_EQ(model.code, 2);
  EXPECT_THAT(model.err, HasSubstr("--model does not take --m, an option of operators"));
  const Outcome fp8 =
      run_program("predict --gpu H100-SXM-80GB --model gpt2 --batch 1 --seq 8 --dtype fp8 --mode training");
  EXPECT_EQ(fp8.code, 2);
  EXPECT_THAT(fp8.err, HasSubstr("training in fp8 is not supported; use fp32, tf32, fp16, bf16"));
  const Outcome gpu = run_program("predict --gpu H100-SMX-80GB gemm --m 1 --n 1 --k 1");
  EXPECT_EQ(gpu.code, 2);
  EXPECT_THAT(gpu.err, HasSubstr("did you mean 'H100-SXM-80GB'?"));
  const Outcome dtype = run_program("predict --gpu T4 gemm --m 1 --n 1 --k 1");
  EXPECT_EQ(dtype.code, 2);
  EXPECT_THAT(dtype.err, HasSubstr("--dtype: T4 has no bf16; it has fp32, fp16, int8"));
  const Outcome profile = run_program("predict --gpu T4 gemm --m 1 --n 1 --k 1 --dtype fp16 --profile none");
  EXPECT_EQ(profile.code, 2);
  EXPECT_THAT(profile.err, HasSubstr("no profile named 'none'; there are none yet, give a path that ends in .yaml"));
  const Outcome attention = run_program("predict --gpu T4 --model resnet50 --batch 1 --dtype fp16 --attention flash");
  EXPECT_EQ(attention.code, 2);
  EXPECT_THAT(attention.err, HasSubstr("workload.attention: resnet50 has none; leave it out"));
  const Outcome sheet = run_program("predict --gpu no-sheet.yaml gemm --m 1 --n 1 --k 1");
  EXPECT_EQ(sheet.code, 2);
  EXPECT_THAT(sheet.err, HasSubstr("gpu: no-sheet.yaml: no such file"));
  const Outcome op = run_program("predict --gpu T4 gem --m 1 --n 1 --k 1");
  EXPECT_THAT(op.err, HasSubstr("did you mean 'gemm'?"));
  EXPECT_EQ(run_program("predict --gpu T4").code, 2);
  EXPECT_EQ(run_program("predict --gpu T4 gemm --m -1 --n 1 --k 1 --dtype fp16").code, 2);
}

TEST(Predict, AModel) {
  const Outcome outcome = run_program("predict --gpu A100-SXM-80GB --model gpt2 --batch 8 --seq 256");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("prefill time"));
  const Outcome wrong = run_program("predict --gpu A100-SXM-80GB --model gtp2 --batch 8 --seq 256");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'gpt2'?"));
}

TEST(Check, PrintsTheReference) {
  const Outcome outcome = run_program("check --reference");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("`runs[].workload.model`"));
  EXPECT_EQ(run_program("check").code, 2);
}

TEST(Simulate, SameInputSameBytes) {
  const Scratch scratch;
  const std::string scenario = "simulate tests/golden/scenarios/spread.yaml --out ";
  const auto a = scratch.path() / "a", b = scratch.path() / "b";
  const Outcome outcome = run_program(scenario + a.string());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");  // progress is for terminals
  ASSERT_EQ(run_program(scenario + b.string()).code, 0);
  for (const char* file : {"summary.json", "ops.csv", "trace.json", "manifest.json"})
    EXPECT_EQ(read_file(a / "train" / file), read_file(b / "train" / file)) << file;
}

TEST(Simulate, JsonIsTheSummaries) {
  const Scratch scratch;
  const Outcome outcome =
      run_program("simulate tests/golden/scenarios/eager.yaml --json --out " + scratch.path().string());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = parse_json(outcome.out, "stdout");
  EXPECT_EQ(json.at("runs").items().at(0).at("model").text(), "bert-base");
}

TEST(Simulate, UnknownRun) {
  const Outcome outcome = run_program("simulate scenarios/quickstart.yaml --run trian");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean 'train'?"));
}

TEST(Simulate, FolderThatCannotBeWrittenIsExitOne) {
  const Scratch scratch;
  const std::string blocked = scratch.file("file", "not a folder");
  const Outcome outcome = run_program("simulate tests/golden/scenarios/eager.yaml --out " + blocked);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr(blocked));
}

}  // namespace
}  // namespace tessera::testing
