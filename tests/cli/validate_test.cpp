// validate and calibrate as a user calls them: exit codes, output, messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sim/base/file.hpp"
#include "sim/base/paths.hpp"
#include "sim/config/csv.hpp"
#include "sim/config/gzip.hpp"
#include "sim/config/json.hpp"
#include "tests/cli/program.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A copy of 64 Mi numbers on a V100 moves 512 MiB at 900 GB/s at best: 0.6 ms. Measured as 1 ms here.
constexpr const char* kKernels =
    "gpu,dtype,op,rows,h,timing,note,latency_ms\n"
    "V100-PCIE-32GB,fp32,relu,65536.0,1024,eager,x,1.0\n"
    "V100-PCIE-32GB,fp32,tanh,65536,1024,eager,y,1.0\n";

TEST(Validate, PrintsOneLinePerGroupAndOverall) {
  const Scratch scratch;
  const Outcome outcome = run_program("validate " + scratch.file("k.csv", kKernels));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, StartsWith("gpu"));
  EXPECT_THAT(outcome.out, HasSubstr("tanh"));
  EXPECT_THAT(outcome.out, HasSubstr("overall"));
}

TEST(Validate, FailAboveDecidesTheExitCode) {
  const Scratch scratch;
  const std::string validate = "validate " + scratch.file("k.csv", kKernels);
  EXPECT_EQ(run_program(validate + " --fail-above 100").code, 0);
  const Outcome outcome = run_program(validate + " --fail-above 0.001");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("% is above 0.001 %"));
  const std::string fp8 = scratch.file("fp8.csv", "gpu,dtype,op,m,n,k,latency_ms\nT4,fp8,gemm,64,64,64,1\n");
  const Outcome none = run_program("validate " + fp8 + " --fail-above 100");
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("--fail-above: no row was predicted"));
}

TEST(Validate, ReadsGzipAndSeveralFilesAndPrintsTheContractsJson) {
  const Scratch scratch;
  const std::string plain = scratch.file("k.csv", kKernels);
  const std::string packed = scratch.file("k.csv.gz", gzip(kKernels));
  const Outcome outcome = run_program("validate " + plain + " " + packed + " --by op --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = parse_json(outcome.out, "stdout");
  EXPECT_EQ(json.at("files").items().size(), 2u);
  EXPECT_EQ(json.at("overall").at("n").integer(), 4);
  ASSERT_EQ(json.at("groups").items().size(), 2u);
  EXPECT_EQ(json.at("groups").items()[0].at("by").at("op").text(), "relu");
  EXPECT_TRUE(json.at("unsupported").items().empty());
}

TEST(Validate, WritesEveryRow) {
  const Scratch scratch;
  const std::string out = (scratch.path() / "rows.csv").string();
  ASSERT_EQ(run_program("validate " + scratch.file("k.csv", kKernels) + " --out " + out).code, 0);
  const CsvTable rows = CsvTable::read(out);
  ASSERT_EQ(rows.rows(), 2u);
  EXPECT_EQ(rows.cell(1, rows.need("note")), "y");
  EXPECT_GT(rows.number(0, rows.need("p50_ms")), 8.0 * 65536 * 1024 / 900e9 * 1e3);
}

TEST(Validate, ModelsRunInTheEventLoop) {
  const Scratch scratch;
  const auto predicted = [&](const std::string& measure, const std::string& allocator) {
    const std::string file =
        scratch.file("m.csv",
                     "model,mode,batch,seq,dtype,timing,attention,allocator,latency_ms,fw_ms,bw_ms\n"
                     "gpt2,train,1,128,fp32,eager,eager," +
                         allocator + ",30,10,20\n");
    const std::string out = (scratch.path() / "rows.csv").string();
    const Outcome outcome =
        run_program("validate " + file + " --gpu V100-PCIE-32GB --measure " + measure + " --out " + out);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const CsvTable rows = CsvTable::read(out);
    return rows.number(0, rows.need("p50_ms")).value_or(0);
  };
  const double forward = predicted("fw_ms", "warm"), backward = predicted("bw_ms", "warm");
  const double whole = predicted("latency_ms", "warm");
  EXPECT_NEAR(forward + backward, whole, 1e-6 * whole);
  EXPECT_GT(predicted("fw_ms", "cold"), forward);  // the host allocates what forward keeps
  EXPECT_GT(backward, forward);                    // two GEMMs for each of forward's, and the accumulation
}

TEST(Validate, NamesEveryMistakeWithItsLine) {
  const Scratch scratch;
  const std::string file = scratch.file("k.csv",
                                        "gpu,dtype,op,rows,h,latency_ms\n"
                                        "T4,fp32,sofmax,8,8,1\n"
                                        "T44,fp32,add,8,8,1\n");
  const Outcome outcome = run_program("validate " + file);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("k.csv:2: error: op: unknown operator 'sofmax'; did you mean 'softmax'?"));
  EXPECT_THAT(outcome.err, HasSubstr("k.csv:3: error: gpu: "));
}

TEST(Validate, RunsThatCannotBeNameTheirRow) {
  const Scratch scratch;
  const std::string file = scratch.file("m.csv",
                                        "gpu,model,mode,batch,seq,dtype,latency_ms\n"
                                        "T4,gpt2,inf,1,128,fp16,1\n"
                                        "T4,gpt2,inf,1,8192,fp16,1\n"
                                        "T4,resnet50,inf,1,,fp16,1\n");
  const Outcome outcome = run_program("validate " + file);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, file + ":3: error: model: sequence 8192 exceeds the 1024 positions of gpt2\n");
  const Outcome missing = run_program("validate " + scratch.file("c.csv",
                                                                 "platform,n_gpu,collective,message_bytes,latency_us\n"
                                                                 "dgx-h100,8,all_reduce,1024,9\n"));
  EXPECT_THAT(missing.err, HasSubstr("c.csv:2: error: n_gpus: expected a whole number, found nothing (no such column; "
                                     "did you mean 'n_gpu'?)\n"));
}

TEST(Validate, WrongUseIsExitTwo) {
  const Scratch scratch;
  const std::string validate = "validate " + scratch.file("k.csv", kKernels);
  EXPECT_EQ(run_program("validate").code, 2);
  EXPECT_EQ(run_program("validate nowhere.csv").code, 2);
  EXPECT_EQ(run_program(validate + " --where gpu").code, 2);
  EXPECT_EQ(run_program(validate + " --by gpus").code, 2);
  EXPECT_EQ(run_program(validate + " --measure note").code, 2);
  EXPECT_EQ(run_program(validate + " --latency-model til").code, 2);
  for (const std::string bad : {"nan", "''", "inf", "5x"}) {
    const Outcome outcome = run_program(validate + " --fail-above " + bad);
    EXPECT_EQ(outcome.code, 2) << bad;
    EXPECT_THAT(outcome.err, HasSubstr("--fail-above")) << bad;
  }
  EXPECT_EQ(run_program(validate + " --gpu T44").code, 2);
  EXPECT_EQ(run_program(validate + " --platform dgx").code, 2);
  const Outcome out = run_program(validate + " --out " + (scratch.path() / "." / "k.csv").string());
  EXPECT_EQ(out.code, 2);
  EXPECT_THAT(out.err, HasSubstr("--out: error: would overwrite the measurements in"));
  const Outcome weights = run_program(validate + " --weights " + (scratch.path() / "none").string());
  EXPECT_EQ(weights.code, 2);
  EXPECT_THAT(weights.err, HasSubstr("none: error: no such folder of fitted weights"));
  const Outcome both = run_program(validate + " --leave-out T4 --weights x");
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("fits its own weights; drop --weights"));
  const Outcome data = run_program(validate + " --leave-out T4 --data " + (scratch.path() / "none").string());
  EXPECT_EQ(data.code, 2);
  EXPECT_THAT(data.err, HasSubstr("--leave-out: error: no folder"));
  const Outcome gpu = run_program(validate + " --leave-out T44 --data " + scratch.path().string());
  EXPECT_EQ(gpu.code, 2);
  EXPECT_THAT(gpu.err, ::testing::AllOf(HasSubstr("--leave-out: error: "), HasSubstr("'T4'")));
  const Outcome early = run_program(validate + " --by gpus --leave-out T4 --data " + scratch.path().string());
  EXPECT_THAT(early.err, HasSubstr("did you mean 'gpu'?"));
}

TEST(Validate, OptionsWithoutEffectAreExitTwo) {
  const Scratch scratch;
  const std::string rows = scratch.file("k.csv", kKernels), validate = "validate " + rows;
  const auto message = [&](const std::string& more) {
    const Outcome outcome = run_program(validate + more);
    EXPECT_EQ(outcome.code, 2) << more;
    return outcome.err;
  };
  EXPECT_THAT(message(" --where op=rleu"),
              HasSubstr("--where: error: no row meets 'op=rleu'; op is never 'rleu'; did you mean 'relu'?"));
  EXPECT_THAT(message(" --where gpu=B300-SXM"), HasSubstr("gpu is never 'B300-SXM': there are V100-PCIE-32GB"));
  EXPECT_THAT(message(" --where 'latency_ms>7'"), HasSubstr("--where: error: no row meets 'latency_ms>7'\n"));
  EXPECT_THAT(message(" " + rows), HasSubstr("FILE: error: " + rows + " is given twice"));
  EXPECT_THAT(message(" --by gpu,gpu"), HasSubstr("--by: error: 'gpu' is given twice"));
  EXPECT_THAT(message(" --data " + scratch.path().string()), HasSubstr("--data: error: goes with --leave-out"));
  EXPECT_THAT(message(" --leave-out T4 --latency-model li"),
              HasSubstr("--leave-out: error: fits the latency model 'tile', not 'li'"));
  EXPECT_THAT(message(" --host-launch 5"), HasSubstr("--host-launch: error: no file has training rows"));
  EXPECT_THAT(message(" --host-launch -5"), HasSubstr("expected 0 to 1000000 us, found -5"));
}

/// Ten times slower switches make a step that waits for its sums slower: whole models use the folder's network too.
TEST(Validate, WeightsBringTheirNetworkToWholeModels) {
  const Scratch scratch;
  const std::string row =
      "model,mode,batch,seq,dtype,timing,attention,parallelism,n_gpu,platform,latency_ms\n"
      "gpt2,inf,1,128,fp16,graph,flash,tp4,4,dgx-a100-80gb,1\n";
  const std::string file = scratch.file("m.csv", row), folder = (scratch.path() / "weights").string();
  const auto time = [&] {
    const std::string out = (scratch.path() / "rows.csv").string();
    const Outcome outcome = run_program("validate " + file + " --weights " + folder + " --out " + out);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const CsvTable rows = CsvTable::read(out);
    return rows.number(0, rows.need("p50_ms")).value_or(0);
  };
  std::filesystem::copy(home() / "calibration" / "weights", folder);
  const double fitted = time();
  const std::string network = folder + "/collectives.json";
  Json json = read_json(network);
  for (const char* part : {"pooled", "classes"}) {
    Json& constants = part == std::string("pooled") ? json[part] : json[part]["Ampere nvswitch"];
    for (const char* name : {"start_kcycles", "start_simple_kcycles", "hop_ll_kcycles", "hop_ll128_kcycles",
                             "hop_simple_kcycles", "pair_start_kcycles"})
      constants[name] = 10 * constants.at(name).number();
  }
  write_file(network, json.dump());
  EXPECT_GT(time(), 1.5 * fitted);
  write_file(network, "{}");
  const Outcome damaged = run_program("validate " + file + " --weights " + folder);
  EXPECT_EQ(damaged.code, 2);
  EXPECT_THAT(damaged.err, HasSubstr("collectives.json: error: JSON: missing key 'pooled'"));
}

TEST(Validate, SaysWhichRuntimesItDoesNotKnow) {
  const Scratch scratch;
  const std::string file = scratch.file("k.csv",
                                        "gpu,dtype,op,rows,h,runtime,latency_ms\n"
                                        "T4,fp32,add,8192,8192,pytorh,3\n"
                                        "T4,fp32,add,8192,4096,pytorch,1.5\n");
  const Outcome outcome = run_program("validate " + file);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("note, 1 rows: runtime 'pytorh' is none of pytorch, trtllm, vllm, sglang, "
                                     "cublaslt; did you mean 'pytorch'?: predicted as without a runtime"));
  EXPECT_THAT(run_program("validate --json " + file).out, HasSubstr("\"notes\""));
  EXPECT_THAT(run_program("validate --any-runtime " + file).out, ::testing::Not(HasSubstr("note")));
}

TEST(Validate, AnOutputOfTheWrongKindIsRefusedFirst) {
  const Scratch scratch;
  const std::string rows = scratch.file("k.csv", kKernels), folder = scratch.path().string();
  const Outcome outcome = run_program("validate " + rows + " --out " + folder);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--out: error: expected a file, " + folder + " is a folder"));
  const Outcome fit = run_program("calibrate --data " + folder + " --out " + rows);
  EXPECT_EQ(fit.code, 2);
  EXPECT_THAT(fit.err, HasSubstr("--out: error: expected a folder, " + rows + " is a file"));
}

TEST(Calibrate, GuardsTheCommittedWeights) {
  const Scratch scratch;
  const Outcome outcome = run_program("calibrate --leave-out T4 --data " + scratch.path().string());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("would overwrite the committed weights; give --out DIR"));
}

TEST(Calibrate, AnUnknownFamilyListsTheKnownOnes) {
  const Scratch scratch;
  const std::string folder = scratch.path().string();
  const Outcome outcome = run_program("calibrate --family gem_simt --data " + folder + " --out " + folder);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr("--family: error: unknown family 'gem_simt'; did you mean 'gemm_simt'?; there are"));
}

TEST(Calibrate, OptionsOfAnotherModelAreExitTwo) {
  const auto message = [](const std::string& arguments) {
    const Outcome outcome = run_program("calibrate --out unused " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    return outcome.err;
  };
  const std::string nets = ": error: goes with --model neusight or habitat";
  EXPECT_THAT(message("--net bmm --epochs 3"),
              ::testing::AllOf(HasSubstr("--net" + nets), HasSubstr("--epochs" + nets)));
  EXPECT_THAT(message("--model li --seed 3"), HasSubstr("--seed" + nets));
  const std::string ours = message("--model li --family conv --no-error-table --json");
  EXPECT_THAT(ours, HasSubstr("--family: error: goes with --model tile"));
  EXPECT_THAT(ours, HasSubstr("--no-error-table: error: goes with --model tile"));
  EXPECT_THAT(ours, HasSubstr("--json: error: goes with --model tile"));
}

TEST(Calibrate, NeedsData) {
  const Scratch scratch;
  const Outcome outcome = run_program("calibrate --data " + (scratch.path() / "none").string());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("calibrate: error: no folder"));
}

}  // namespace
}  // namespace tessera::testing
