// Every way in which a scenario can be wrong: exit code 2, a position, what was found and what was expected.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A scenario that is right; tests spoil one line of it.
std::string good() {
  return "name: s\n"                                        // 1
         "runs:\n"                                          // 2
         "  - name: r\n"                                    // 3
         "    workload:\n"                                  // 4
         "      model: gpt2\n"                              // 5
         "      mode: training\n"                           // 6
         "      dtype: bf16\n"                              // 7
         "      sequence: 512\n"                            // 8
         "      global_batch: 16\n"                         // 9
         "      micro_batch: 2\n"                           // 10
         "    cluster: dgx-h100\n"                          // 11
         "    parallel: {tp: 2, dp: 4, bucket: 25 MiB}\n";  // 12
}

struct Case {
  const char *name, *from, *to;
  int line, column;
  const char* message;
};

class BadScenario : public ::testing::TestWithParam<Case> {};

TEST_P(BadScenario, IsExitTwoWithPositionAndHint) {
  const Scratch scratch;
  const Case& c = GetParam();
  expect_refused(scratch, with(good(), c.from, c.to),
                 ":" + std::to_string(c.line) + ":" + std::to_string(c.column) + ": error: ", c.message);
}

INSTANTIATE_TEST_SUITE_P(
    One, BadScenario,
    ::testing::Values(
        Case{"unknown_key", "      sequence:", "      sequnce: 1\n      sequence:", 8, 7,
             "unknown key 'sequnce'; did you mean 'sequence'?"},
        Case{"missing_key", "      sequence: 512\n", "", 5, 7, "missing key 'sequence'"},
        Case{"duplicate_key", "      dtype: bf16\n", "      dtype: bf16\n      dtype: fp16\n", 8, 7,
             "key 'dtype' appears twice"},
        Case{"wrong_unit", "25 MiB", "25 ms", 12, 38, "unit 'ms' not known here"},
        Case{"missing_unit", "25 MiB", "25", 12, 38, "expected a size with its unit"},
        Case{"negative_size", "25 MiB", "-25 MiB", 12, 38, "expected a positive size"},
        Case{"schedule_without_a_pipeline", "bucket: 25 MiB", "schedule: gpipe", 12, 15, "schedule: pp is 1"},
        Case{"asynchronous_without_sequences", "bucket: 25 MiB", "asynchronous_tp: true", 12, 15,
             "asynchronous_tp: needs tp above 1 and sequence_parallel"},
        Case{"sequences_without_tp", "{tp: 2, dp: 4, bucket: 25 MiB}", "{sequence_parallel: true}", 12, 15,
             "sequence_parallel: tp is 1"},
        Case{"waiting_without_tp", "{tp: 2, dp: 4, bucket: 25 MiB}", "{tp_waits: true}", 12, 15, "tp_waits: is about"},
        Case{"load_without_experts", "bucket: 25 MiB", "expert_load: 2", 12, 15, "expert_load: ep is 1"},
        Case{"rows_of_no_products", "      dtype: bf16", "      row_scales: true", 7, 19, "is about 'products'"},
        Case{"products_that_the_gpu_lacks", "      dtype: bf16", "      products: nvfp4", 5, 7, "has no nvfp4"},
        Case{"no_stages", "{tp: 2, dp: 4, bucket: 25 MiB}", "{tp: 2, pp: 0}", 12, 27, "must be positive, found 0"},
        Case{"stages_that_do_not_divide", "{tp: 2, dp: 4, bucket: 25 MiB}", "{tp: 2, pp: 3}", 12, 15,
             "tp 2 x pp 3 does not divide the 8 GPUs"},
        Case{"stages_do_not_add_up", "{tp: 2, dp: 4, bucket: 25 MiB}", "{tp: 2, pp: 2, dp: 3}", 12, 15,
             "tp 2 x dp 3 x pp 2 = 12 GPUs, but 8 are used"},
        Case{"stage_layers", "{tp: 2, dp: 4, bucket: 25 MiB}", "{tp: 2, pp: 4, stage_layers: [6, 6, 0, 0]}", 12, 15,
             "gpt2: stage_layers [6, 6, 0, 0] are no 4 counts that add up to 12 layers"},
        Case{"stage_layers_in_words", "{tp: 2, dp: 4, bucket: 25 MiB}", "{pp: 8, stage_layers: [x]}", 12, 38,
             "expected a whole number, found 'x'"},
        Case{"stage_replicas", "{tp: 2, dp: 4, bucket: 25 MiB}", "{tp: 2, pp: 2, stage_replicas: [4]}", 12, 46,
             "expected a count of at least 1 for each of the 2 stages of pp, found [4]"},
        Case{"no_stage_replicas", "{tp: 2, dp: 4, bucket: 25 MiB}", "{tp: 2, pp: 2, stage_replicas: [4, 0]}", 12, 46,
             "expected a count of at least 1 for each of the 2 stages of pp, found [4, 0]"},
        Case{"stage_replicas_do_not_divide", "{tp: 2, dp: 4, bucket: 25 MiB}", "{tp: 2, pp: 2, stage_replicas: [1, 2]}",
             12, 15, "tp 2 x stage_replicas 1 + 2 does not divide the 8 GPUs"},
        Case{"stage_replicas_in_chunks", "{tp: 2, dp: 4, bucket: 25 MiB}",
             "{tp: 2, pp: 2, chunks: 2, stage_replicas: [1, 3]}", 12, 15,
             "stage_replicas: replicas of a stage take turns under plain 1F1B, without chunks and sharding"},
        Case{"fewer_layers_than_stages", "{tp: 2, dp: 4, bucket: 25 MiB}", "{pp: 16}", 12, 15,
             "gpt2: 12 layers are fewer than the 16 stages of pp"},
        Case{"chunks_without_pipeline", "tp: 2, dp: 4", "tp: 2, dp: 4, chunks: 2", 12, 15,
             "chunks 2: pp is 1, and only a pipeline of 2 GPUs or more interleaves"},
        Case{"own_collective_over", "    cluster: dgx-h100\n",
             "    cluster: dgx-h100\n    collectives: {own: [{over: tq, schedule: x.yaml}]}\n", 12, 32,
             "found 'tq'; did you mean 'tp'?; expected one of tp, dp, cp, ep, edp"},
        Case{"own_collective_without_file", "    cluster: dgx-h100\n",
             "    cluster: dgx-h100\n    collectives: {own: [{over: tp, schedule: nowhere.yaml}]}\n", 12, 46,
             "nowhere.yaml"},
        Case{"own_collective_of_another_size", "    cluster: dgx-h100\n",
             "    cluster: dgx-h100\n    collectives: {own: [{over: tp, schedule: " TESSERA_SOURCE_DIR
             "/scenarios/collectives/all-pairs-4.yaml}]}\n",
             12, 18, "schedule 'all-pairs-4' is of 4 ranks, a group of tp has 2"},
        Case{"two_own_collectives", "    cluster: dgx-h100\n",
             "    cluster: dgx-h100\n    collectives: {own: [{over: dp, schedule: " TESSERA_SOURCE_DIR
             "/scenarios/collectives/all-pairs-4.yaml}, {over: dp, schedule: " TESSERA_SOURCE_DIR
             "/scenarios/collectives/all-pairs-4.yaml}]}\n",
             12, 24, "two schedules of all_reduce over dp"},
        Case{"tiny_payload", "    cluster: dgx-h100\n", "    cluster: dgx-h100\n    collective_payload: 1e-9\n", 12, 25,
             "must be 0.001 to 1, found 1e-09"},
        Case{"unknown_cluster", "dgx-h100", "dgx-h10", 11, 14, "did you mean 'dgx-h100'?"},
        Case{"unknown_model", "model: gpt2", "model: gtp2", 5, 14, "did you mean 'gpt2'?"},
        Case{"unknown_mode", "training", "trainng", 6, 13, "did you mean 'training'?"},
        Case{"unknown_dtype", "bf16", "bf61", 7, 14, "did you mean 'bf16'?"},
        Case{"training_in_int8", "bf16", "int8", 7, 14, "training in int8 is not supported"},
        Case{"unknown_placement", "    parallel", "    placement: spraed\n    parallel", 12, 16,
             "unknown placement policy 'spraed'; did you mean 'spread'?"},
        Case{"unknown_latency_model", "name: s\n", "name: s\nlatency_model: tyle\n", 2, 16,
             "unknown latency model 'tyle'; did you mean 'tile'?"},
        Case{"tp_does_not_divide_heads", "tp: 2, dp: 4", "tp: 8, dp: 1", 12, 15,
             "tp 8 does not divide the 12 heads of gpt2"},
        Case{"gpus_do_not_add_up", "dp: 4", "dp: 2", 12, 15,
             "tp 2 x dp 2 = 4 GPUs, but 8 are used (gpus: 4 uses a part)"},
        Case{"too_many_gpus", "dp: 4", "dp: 8", 12, 15, "tp 2 x dp 8 = 16 GPUs, but 8 are used"},
        Case{"batch_does_not_split", "global_batch: 16", "global_batch: 12", 5, 7,
             "global_batch 12 is not a multiple of dp 4 x micro_batch 2"},
        Case{"sequence_too_long", "sequence: 512", "sequence: 2048", 5, 7,
             "sequence 2048 is longer than the 1024 positions that gpt2 has learned"},
        Case{"negative_batch", "global_batch: 16", "global_batch: -16", 9, 21, "must be positive, found -16"},
        Case{"inference_key_in_training", "      micro_batch: 2", "      micro_batch: 2\n      batch: 4", 11, 14,
             "mode training takes global_batch and micro_batch"},
        Case{"recompute", "mode: training", "mode: inference\n      recompute: full", 7, 18,
             "mode inference keeps no activations"},
        Case{"too_many_stages", "tp: 2, dp: 4", "tp: 1, dp: 1, pp: 8, chunks: 2", 12, 15,
             "12 layers are fewer than the 16 stages of pp"},
        Case{"no_experts", "tp: 2, dp: 4", "tp: 2, dp: 4, ep: 2", 12, 15, "ep 2: gpt2 has no experts"},
        Case{"no_schedule", "tp: 2, dp: 4", "tp: 2, dp: 4, schedule: gpip", 12, 40, "gpipe"},
        Case{"load_below_the_mean", "tp: 2, dp: 4", "tp: 2, dp: 4, expert_load: 0.5", 12, 43, "must be 1 or more"},
        Case{"no_platform", "    cluster: dgx-h100\n", "", 3, 5, "missing key 'gpu' or 'cluster'"},
        Case{"two_platforms", "    cluster:", "    gpu: T4\n    cluster:", 3, 5, "both 'gpu' and 'cluster'"},
        Case{"dtype_not_supported", "cluster: dgx-h100", "cluster: dgx1-v100", 5, 7, "V100-SXM2-32GB has no bf16"},
        Case{"bad_name", "name: s\n", "name: a/b\n", 1, 7, "'a/b' names a folder"},
        Case{"batches_beyond_memory", "global_batch: 16", "global_batch: 1000000000000", 9, 21,
             "global_batch: must be at most 16777216, found 1000000000000"},
        Case{"micro_batch_beyond_memory", "micro_batch: 2", "micro_batch: 9000000", 10, 20,
             "micro_batch: must be at most 1048576, found 9000000"},
        Case{"sequence_beyond_memory", "sequence: 512", "sequence: 9223372036854775807", 8, 17,
             "sequence: must be at most 16777216, found 9223372036854775807"},
        Case{"too_many_micro_batches", "global_batch: 16", "global_batch: 16000000", 5, 7,
             "global_batch 16000000 makes 2000000 micro-batches of "},
        Case{"parallelism_that_the_policy_chooses", "{tp: 2, dp: 4, bucket: 25 MiB}\n",
             "{tp: 2, bucket: 25 MiB}\n    placement: megatron\n", 12, 15,
             "tp: placement megatron chooses it; leave it out, or take placement packed"},
        Case{"replicas_of_an_expert", "{tp: 2, dp: 4, bucket: 25 MiB}\n", "{tp: 2, dp: 4}\n    placement: expert\n", 12,
             15, "dp: placement expert chooses it"},
        Case{"no_micro_batch", "      micro_batch: 2\n", "", 5, 7,
             "missing key 'micro_batch', which mode training needs"},
        Case{"prompts_beyond_memory",
             "mode: training\n      dtype: bf16\n      sequence: 512\n      global_batch: 16\n      micro_batch: 2",
             "mode: inference\n      sequence: 512\n      batch: 1000000000000", 8, 14,
             "batch: must be at most 1048576, found 1000000000000"},
        Case{"long_name", "name: r\n",
             "name: "
             "aaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbc\n",
             3, 11, "101 characters; a folder's name has at most 100"},
        Case{"latency_model_without_weights", "name: s\n", "name: s\nlatency_model: neusight\n", 2, 16,
             "no weights of neusight; fit them with tessera calibrate --model neusight"},
        Case{"tab", "      dtype", "\t dtype", 7, 1, ""}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(BadScenario, AllMistakesAtOnce) {
  const Scratch scratch;
  std::string text = with(with(good(), "model: gpt2", "model: gtp2"), "dgx-h100", "dgx-h10");
  const Outcome outcome = run_program("check " + scratch.file("s.yaml", with(text, "25 MiB", "25")));
  EXPECT_EQ(outcome.code, 2);
  for (const char* position : {"s.yaml:5:14: error", "s.yaml:11:14: error", "s.yaml:12:38: error"})
    EXPECT_THAT(outcome.err, HasSubstr(position));
}

TEST(BadScenario, OneMistakeIsOneMessage) {
  const Scratch scratch;
  const std::string path = scratch.file("s.yaml", good());
  for (const std::string setting : {"name=[1]", "runs=5", "runs.r.workload.sequence=x", "runs.r.workload.model=[]",
                                    "runs.r.gpus=8.0", "runs.r.workload.global_batch=.5", "runs.r.nodes=x"}) {
    const Outcome outcome = run_program("check " + path + " --set " + setting);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

TEST(BadScenario, ControlCharactersAreShown) {
  const Scratch scratch;
  const Outcome outcome =
      run_program("check " + scratch.file("s.yaml", with(good(), "model: gpt2", R"(model: "\e[31mgpt2")")));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(R"('\x1b[31mgpt2')"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b")));
}

TEST(BadScenario, OfSeveralScenariosAllAreCheckedFirst) {
  const Scratch scratch;
  const std::string right = scratch.file("right.yaml", good());
  const std::string first = scratch.file("first.yaml", with(good(), "bf16", "bf61"));
  const std::string second = scratch.file("second.yaml", with(good(), "training", "trainng"));
  const Outcome outcome = run_program("simulate " + right + " " + first + " " + second);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("first.yaml:7:14"));
  EXPECT_THAT(outcome.err, HasSubstr("second.yaml:6:13"));
}

TEST(BadScenario, CheckReportsTheMistakesOfAllFiles) {
  const Scratch scratch;
  const std::string first = scratch.file("first.yaml", with(good(), "bf16", "bf61"));
  const std::string right = scratch.file("right.yaml", good());
  const Outcome outcome = run_program("check " + first + " " + (scratch.path() / "nope.yaml").string() + " " + right);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("first.yaml:7:14"));
  EXPECT_THAT(outcome.err, HasSubstr("nope.yaml: error: no such file"));
}

TEST(BadScenario, TwoScenariosOfOneNameWouldOverwriteEachOther) {
  const Scratch scratch;
  const std::string first = scratch.file("first.yaml", good()), second = scratch.file("second.yaml", good());
  for (const std::string verb : {"simulate ", "check "}) {
    const Outcome outcome = run_program(verb + first + " " + second);
    EXPECT_EQ(outcome.code, 2) << verb;
    EXPECT_EQ(outcome.out, "") << verb;
    EXPECT_THAT(outcome.err, HasSubstr(second + ":1:7: error: name: 's' is the name of " + first + " too")) << verb;
  }
}

TEST(BadScenario, CheckFindsThatALatencyModelHasNoWeights) {
  const Scratch scratch;
  const std::string path = scratch.file("s.yaml", with(good(), "name: s\n", "name: s\nlatency_model: habitat\n"));
  const Outcome outcome = run_program("check " + path);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(path + ":2:16: error: latency_model: "));
  EXPECT_THAT(outcome.err, HasSubstr("no weights of habitat"));
}

TEST(BadScenario, TwoRunsOfOneName) {
  const Scratch scratch;
  const std::string text = good();
  const Outcome outcome = run_program("check " + scratch.file("s.yaml", text + text.substr(text.find("  - name"))));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("two runs are named 'r'"));
}

TEST(BadScenario, NegativeBandwidthOfAPlatform) {
  const Scratch scratch;
  const std::string gpu = scratch.file("mine.yaml", "vendor: X\nmemory_bandwidth: -1 GB/s\n");
  std::string text = with(good(), "cluster: dgx-h100", "gpu: mine.yaml");
  const Outcome outcome = run_program("check " + scratch.file("s.yaml", with(text, "tp: 2, dp: 4", "tp: 1, dp: 1")));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(gpu + ":2:19"));
  EXPECT_THAT(outcome.err, HasSubstr("missing key 'sms'"));  // all mistakes of that file too
}

TEST(BadScenario, ConfigJsonWithoutHiddenSize) {
  const Scratch scratch;
  const std::string config = scratch.file("config.json", "{\"model_type\": \"llama\", \"num_hidden_layers\": 2}");
  const Outcome outcome =
      run_program("check " + scratch.file("s.yaml", with(good(), "model: gpt2", "model: config.json")));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("s.yaml:5:14: error"));
  EXPECT_THAT(outcome.err, HasSubstr("hidden_size"));
  EXPECT_THAT(outcome.err, HasSubstr(config));
}

TEST(BadScenario, MissingEmptyAndBinaryFiles) {
  const Scratch scratch;
  const Outcome missing = run_program("simulate " + (scratch.path() / "none.yaml").string());
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("none.yaml"));
  const Outcome empty = run_program("simulate " + scratch.file("empty.yaml", ""));
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.err, HasSubstr("empty"));
  const Outcome binary = run_program("simulate " + scratch.file("b.yaml", std::string_view("\x7f"
                                                                                           "ELF\0\1\2",
                                                                                           7)));
  EXPECT_EQ(binary.code, 2);
  EXPECT_THAT(binary.err, HasSubstr("b.yaml"));
  EXPECT_EQ(run_program("simulate " + scratch.path().string()).code, 2);
}

TEST(Set, ChangesAKeyWithTheSameChecks) {
  const Scratch scratch;
  const std::string path = scratch.file("s.yaml", good());
  EXPECT_EQ(run_program("check " + path + " --set runs.r.workload.sequence=1024").code, 0);
  const Outcome outcome = run_program("check " + path + " --set runs.r.parallel.tp=5");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("tp 5"));
  const Outcome nowhere = run_program("check " + path + " --set runs.q.parallel.tp=1");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("--set"));
  EXPECT_THAT(run_program("check " + path + " --set tp").err, HasSubstr("not of the form path=value"));
}

TEST(Set, AddsTheMapThatIsMissing) {
  const Scratch scratch;
  const std::string path = scratch.file("s.yaml", with(good(), "    parallel: {tp: 2, dp: 4, bucket: 25 MiB}\n", ""));
  const Outcome outcome = run_program("check " + path + " --set runs.r.parallel.tp=2");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Outcome misspelt = run_program("check " + path + " --set runs.r.paralel.tp=2");
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("--set runs.r.paralel.tp=2: error: "));
  EXPECT_THAT(misspelt.err, HasSubstr("unknown key 'paralel'; did you mean 'parallel'?"));
}

TEST(Memory, WhatDoesNotFitIsExitOneWithTheTable) {
  const Scratch scratch;
  const std::string text = with(good(), "model: gpt2", "model: llama-2-13b");
  const std::string path = scratch.file("s.yaml", text);
  const Outcome outcome = run_program("simulate " + path);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  for (const char* expected : {"llama-2-13b does not fit on H100-SXM-80GB", "too much", "weights", "gradients",
                               "optimizer", "activations", "What would make it fit", "  - tp 4 (", "  - a GPU of "})
    EXPECT_THAT(outcome.err, HasSubstr(expected));
  const Outcome check = run_program("check " + path);  // says it without running
  EXPECT_EQ(check.code, 1);
  EXPECT_THAT(check.out, HasSubstr(outcome.err.substr(std::string_view("error: s / r: ").size())));
  EXPECT_EQ(run_program("check --json " + path).code, 1);
}

TEST(Memory, ARunThatDoesNotFitLeavesTheOthers) {
  const Scratch scratch;
  const std::string large = with(good(), "model: gpt2", "model: llama-2-13b");
  const std::string small = with(good().substr(good().find("  - name")), "name: r", "name: small");
  const std::string path = scratch.file("s.yaml", large + small);
  const std::string out = " --out " + (scratch.path() / "out").string();
  const Outcome outcome = run_program("simulate " + path + out);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("s / small"));
  EXPECT_THAT(outcome.err, HasSubstr("s / r: llama-2-13b does not fit"));
  EXPECT_THAT(run_program("simulate --json " + path + out).out, HasSubstr("\"run\": \"small\""));
}

TEST(Memory, NamesTheCombinationWhereNothingAloneHelps) {
  const Scratch scratch;  // 8 kv heads allow tp 8 at most
  const std::string text = with(good(), "model: gpt2", "model: llama-2-70b");
  const Outcome outcome = run_program("simulate " + scratch.file("s.yaml", text));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("  - tp 8 on a GPU of "));
}

}  // namespace
}  // namespace tessera::testing
