// search as a user calls it: a small space, resumption to the identical result, and every kind of bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "sim/base/file.hpp"
#include "sim/config/json.hpp"
#include "tests/cli/program.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// BERT-large on 64 devices; about 250 chips.
std::string scenario(const std::string& more, const std::string& memory = "80 GiB") {
  return "name: small\nworkloads:\n  - {model: bert-large, sequence: 128, widest: 1}\nsystem:\n  devices: 64\n  "
         "memory: " +
         memory + "\n  batch: 256\n  network: [{devices: 64, bandwidth: 25 GB/s}]\n" + more;
}
constexpr const char* kSpace =
    "space: {tensor_cores: [4, 16], vector_cores: [16, 64], width: [32, 128], depth: [32, 128], buffer_MiB: [8, 16], "
    "hbm_stacks: [2, 4]}\n";

TEST(Search, FindsAChipAndWritesWhatGoesOn) {
  const Scratch scratch;
  const std::string file = scratch.file("small.yaml", scenario(kSpace));
  const std::string out = (scratch.path() / "out").string();
  const Outcome found = run_program("search " + file + " --pareto --threads 1 --out " + out);
  ASSERT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(found.out, AllOf(HasSubstr("samples/s"), HasSubstr("ref "), HasSubstr("TPUv4-like"), HasSubstr("front")));
  EXPECT_EQ(found.err, "");  // progress is for terminals
  const Json json = read_json(scratch.path() / "out" / "search.json");
  EXPECT_TRUE(json.at("certificate").at("complete").boolean());
  const double best = json.at("best").items().front().at("score").number();
  EXPECT_GE(best, json.at("reference").at("score").number() * 0.999);
  const auto& front = json.at("front").items();
  ASSERT_FALSE(front.empty());
  for (std::size_t i = 1; i < front.size(); ++i) {
    EXPECT_GT(front[i].at("area_mm2").number(), front[i - 1].at("area_mm2").number());
    EXPECT_GT(front[i].at("score").number(), front[i - 1].at("score").number());
  }
  EXPECT_THAT(read_file(scratch.path() / "out" / "search.svg"), HasSubstr("<svg"));
  // The best chip's placement gives the best chip's throughput again.
  const Outcome again = run_program("search " + out + "/placement.yaml --json --out " + out + "2");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_DOUBLE_EQ(parse_json(again.out, "out").at("best").items().front().at("score").number(), best);
}

TEST(Search, RanksTheBestBySimulationAndWritesWhatSimulateTakes) {
  const Scratch scratch;
  const std::string file = scratch.file("small.yaml", scenario(kSpace));
  const std::string out = (scratch.path() / "out").string();
  const Outcome found = run_program("search " + file + " --replay 2 --json --out " + out);
  ASSERT_EQ(found.code, 0) << found.err;
  const Json json = parse_json(found.out, "out");
  const auto& replayed = json.at("replayed").items();
  ASSERT_EQ(replayed.size(), 2u);
  EXPECT_GE(replayed[0].at("score").number(), replayed[1].at("score").number());
  const Json& first = replayed[0].at("workloads").items().front();
  ASSERT_TRUE(first.at("ran").boolean());
  const double simulated = first.at("simulated_samples_per_second").number();
  EXPECT_NEAR(simulated / first.at("expected_samples_per_second").number(), 1, 0.5);
  EXPECT_NE(first.at("difference").text(), "");
  const auto& plans = first.at("plans").items();
  ASSERT_GE(plans.size(), 2u);
  const auto rate = [&](std::size_t i) {
    return plans[i].at("ran").boolean() ? plans[i].at("simulated_samples_per_second").number() : 0;
  };
  for (std::size_t i = 1; i < plans.size(); ++i) EXPECT_LE(rate(i), rate(i - 1));
  // best.yaml is that chip and plan.
  const Outcome run = run_program("simulate " + out + "/best.yaml --json --out " + out + "2");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json summary = parse_json(run.out, "run").at("runs").items().front();
  EXPECT_NEAR(256 / summary.at("step_time_s").at("p50").number() / simulated, 1, 1e-9);
}

TEST(Search, AnIntegerProgrammeChecksTheSchedules) {
  const Scratch scratch;
  const std::string file = scratch.file(
      "one.yaml",
      scenario("search: placement\nchip: {name: TPUv3-like, hbm_stacks: 2}\nsolver: cbc\nsolver_limit: 1 s\n"));
  const Outcome found = run_program("search " + file + " --json --out " + (scratch.path() / "out").string());
  ASSERT_EQ(found.code, 0) << found.err;
  const Json json = parse_json(found.out, "out");
  const auto& passes = json.at("operator_schedules").items();
  ASSERT_EQ(passes.size(), 6u);  // embedding, block and head, forward and backward
  for (const Json& pass : passes) {
    EXPECT_NE(pass.at("solved_by").text(), "");
    EXPECT_GE(pass.at("makespan_s").number(),
              pass.at("own_makespan_s").number() * (1 - pass.at("own_gap").number() - 1e-5));
  }
}

TEST(Search, NothingSolvedYetIsJsonToo) {
  const Scratch scratch;
  const std::string file = scratch.file("small.yaml", scenario(kSpace));
  const Outcome found = run_program("search " + file + " --json --threads 1 --time-budget 1e-9 --out " +
                                    (scratch.path() / "out").string());
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.err, HasSubstr("no chip was solved within the time budget; the same command goes on from"));
  const Json json = parse_json(found.out, "out");
  EXPECT_FALSE(json.at("certificate").at("complete").boolean());
}

TEST(Search, AnotherSearchInOneFolderIsRefused) {
  const Scratch scratch;
  const std::string file =
      scratch.file("one.yaml", scenario("search: placement\nchip: {name: TPUv3-like, hbm_stacks: 2}\n"));
  const std::string out = (scratch.path() / "out").string(), run = "search " + file + " --out " + out;
  ASSERT_EQ(run_program(run).code, 0);
  const std::string best = read_file(scratch.path() / "out" / "best.yaml");
  const Outcome other = run_program(run + " --set system.batch=512");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, AllOf(HasSubstr("search-state.json"), HasSubstr("belongs to another search"),
                               HasSubstr("give another --out")));
  EXPECT_EQ(read_file(scratch.path() / "out" / "best.yaml"), best);
  const Outcome gpu = run_program("search " +
                                  scratch.file("gpu.yaml",
                                               "name: near\ngpu: {around: A100-SXM-80GB}\n"
                                               "workload: {model: bert-base, sequence: 8}\n") +
                                  " --out " + out);
  EXPECT_EQ(gpu.code, 2);
  EXPECT_THAT(gpu.err, HasSubstr("belongs to another search (one over chips)"));
  std::filesystem::remove(scratch.path() / "out" / "search-state.json");
  const Outcome unknown = run_program(run);
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("search.json: error: belongs to another search"));
}

TEST(Search, AnInfeasibleSearchLeavesNoResults) {
  const Scratch scratch;
  const std::string file = scratch.file("cheap.yaml", scenario(std::string("power: 1 W\n") + kSpace));
  const std::filesystem::path out = scratch.path() / "out";
  std::filesystem::create_directories(out);
  write_file(out / "best.yaml", "of long ago");
  const Outcome found = run_program("search " + file + " --out " + out.string());
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.err, AllOf(HasSubstr("cheap.yaml:9:8: small: none of"), HasSubstr("power or price exclude all")));
  EXPECT_FALSE(std::filesystem::exists(out / "best.yaml"));
}

TEST(Search, TheShortestBudgetsEndAtTheSameResult) {
  const Scratch scratch;
  const std::string file = scratch.file("small.yaml", scenario(kSpace));
  const auto run = [&](const std::string& folder, const std::string& options) {
    return run_program("search " + file + " --json --threads 1 --out " + (scratch.path() / folder).string() + options);
  };
  const Outcome whole = run("whole", "");
  Outcome part;
  for (int calls = 0; calls < 200; ++calls) {
    part = run("parts", " --time-budget 1e-9");
    if (part.out.find("\"complete\": true") != std::string::npos) break;
  }
  EXPECT_EQ(part.out, whole.out);
}

TEST(Search, ResumesToTheIdenticalResult) {
  const Scratch scratch;
  const std::string file = scratch.file("small.yaml", scenario(kSpace));
  const auto run = [&](const std::string& folder, const std::string& options) {
    return run_program("search " + file + " --json --out " + (scratch.path() / folder).string() + " " + options);
  };
  const Outcome whole = run("whole", "--threads 2");
  ASSERT_EQ(whole.code, 0) << whole.err;
  Outcome part;
  int calls = 0;
  double budget = 0.0005;  // s; too short for any machine at first
  do {
    part = run("parts", "--threads 1 --time-budget " + std::to_string(budget));
    ASSERT_TRUE(part.code == 0 || part.out.find("\"best_score\": null") != std::string::npos) << part.err;
    budget *= 2;
  } while (++calls < 20 && part.out.find("\"complete\": true") == std::string::npos);
  EXPECT_GT(calls, 1);
  EXPECT_EQ(part.out, whole.out);
}

TEST(Search, ADamagedStateIsNamedAndRefused) {
  const Scratch scratch;
  const std::string file =
      scratch.file("one.yaml", scenario("search: placement\nchip: {name: TPUv3-like, hbm_stacks: 2}\n"));
  const std::string run = "search " + file + " --out " + (scratch.path() / "out").string();
  ASSERT_EQ(run_program(run).code, 0);
  const std::filesystem::path state = scratch.path() / "out" / "search-state.json";
  const std::string whole = read_file(state);
  const auto at = whole.find("\"state\":");
  ASSERT_NE(at, std::string::npos);
  for (const char* const damaged :
       {R"({})", R"({"bounds": [], "excluded": [], "solved": [], "next": 1, "complete": true})",
        R"({"bounds": [1], "excluded": [], "solved": [[1, 2, 3]], "next": 1, "complete": true})",
        R"({"bounds": [1], "excluded": [], "solved": [[0]], "next": 1, "complete": true})",
        R"({"bounds": [1], "excluded": [0, 0], "solved": [], "next": 1, "complete": true})",
        R"({"bounds": [1], "excluded": [], "solved": [], "next": -5, "complete": true})"}) {
    write_file(state, whole.substr(0, at) + "\"state\":" + damaged + "}");
    const Outcome found = run_program(run);
    EXPECT_EQ(found.code, 2) << damaged << found.out;
    EXPECT_THAT(found.err, AllOf(HasSubstr(state.string()), HasSubstr("remove it to begin anew"))) << damaged;
  }
}

TEST(Search, AStateThatWasEditedIsNoProof) {
  const Scratch scratch;
  const std::string file =
      scratch.file("one.yaml", scenario("search: placement\nchip: {name: TPUv3-like, hbm_stacks: 2}\n"));
  const std::string run = "search " + file + " --out " + (scratch.path() / "out").string();
  ASSERT_EQ(run_program(run).code, 0);
  const std::filesystem::path state = scratch.path() / "out" / "search-state.json";
  std::string text = read_file(state);
  const auto at = text.find("\"bounds\":[");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 10, "\"bounds\":[1");
  write_file(state, text);
  const Outcome found = run_program(run);
  EXPECT_EQ(found.code, 2);
  EXPECT_THAT(found.err, HasSubstr("a damaged state (its checksum is another); remove it to begin anew"));
}

TEST(Search, ATimeBudgetIsPositive) {
  const Scratch scratch;
  const std::string file = scratch.file("small.yaml", scenario(kSpace));
  for (const char* const budget : {"nan", "0", "-1"}) {
    const Outcome found = run_program("search " + file + " --time-budget=" + budget);
    EXPECT_EQ(found.code, 2) << budget;
    EXPECT_THAT(found.err, HasSubstr("--time-budget: error: must be positive")) << budget;
  }
}

TEST(Search, PlacementOfOneChip) {
  const Scratch scratch;
  const std::string file =
      scratch.file("one.yaml", scenario("search: placement\nchip: {name: TPUv3-like, hbm_stacks: 2}\n"));
  const Outcome found = run_program("search " + file + " --out " + (scratch.path() / "out").string());
  ASSERT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(found.out, AllOf(HasSubstr("4x128x128 + 2x128, 32 MiB, 2 HBM"), HasSubstr("stages")));
}

TEST(Search, ChipsUnderAGivenPlan) {
  const Scratch scratch;
  const std::string file =
      scratch.file("plan.yaml", scenario(std::string("search: chip\nplan: {stages: 4, replicas: 16}\n") + kSpace));
  const Outcome found = run_program("search " + file + " --out " + (scratch.path() / "out").string());
  ASSERT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("4 stages x 16 replicas"));
}

TEST(Search, ModelThatFitsNowhereSaysTheSmallestMiss) {
  const Scratch scratch;
  const std::string file = scratch.file("tight.yaml", scenario(kSpace, "16 MiB"));
  const Outcome found = run_program("search " + file + " --out " + (scratch.path() / "out").string());
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.err, AllOf(HasSubstr("tight.yaml:6:11: small: no plan fits into 16.0 MiB of HBM"),
                               HasSubstr("the smallest miss is")));
}

TEST(Search, LimitsOfPriceThatExcludeAll) {
  const Scratch scratch;
  const std::string file = scratch.file("cheap.yaml", scenario(std::string("price: 1 USD\n") + kSpace));
  const Outcome found = run_program("search " + file + " --out " + (scratch.path() / "out").string());
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.err, HasSubstr("the limits of power or price exclude all"));
}

struct Wrong {
  const char *text, *message;
};

TEST(Search, EveryMistakeHasItsPlace) {
  const Scratch scratch;
  for (const Wrong& wrong : {
           Wrong{"space: {area: 5 mm2}\n", "space: no chip is within these limits"},
           Wrong{"space: {area: 100 mm2, smallest_area: 200 mm2}\n", "smallest_area: 200 mm2 is above area, 100 mm2"},
           Wrong{"space: {width: [64, 8]}\n", "the lowest, 64, is above the highest, 8"},
           Wrong{"space: {width: [3, 8]}\n", "expected powers of two, found 3"},
           Wrong{"space: {width: [8]}\n", "expected [lowest, highest], found 1 numbers"},
           Wrong{"space: {hbm_stacks: []}\n", "hbm_stacks: at least one number is needed"},
           Wrong{"space: {hbm_stacks: [99]}\n", "expected 0 to 64, found 99"},
           Wrong{"space: {area: 100}\n", "expected a die area with its unit (mm2, cm2)"},
           Wrong{"search: placement\n", "missing key 'chip', which a search for placements needs"},
           Wrong{"search: chip\n", "missing key 'plan', which a search for chips alone needs"},
           Wrong{"chip: {name: TPUv4-like}\n", "only a search for placements takes one chip"},
           Wrong{"search: placement\nchip: {name: TPUv4-lik}\n", "unknown chip 'TPUv4-lik'; did you mean 'TPUv4-like'"},
           Wrong{"search: placement\nchip: {width: 0}\n", "must be at least 1, found 0"},
           Wrong{"search: placement\nchip: {buffer: 1 KiB}\n", "buffer: must be between 1 MiB and 1 PiB"},
           Wrong{"plan: {stages: 4}\n", "only a search for chips alone takes a plan"},
           Wrong{"search: chip\nplan: {stages: 8, width: 2, replicas: 8}\n", "= 128 devices, the system has 64"},
           Wrong{"expert: {stages: 100}\n",
                 "expert: stages 100 x width 1 x replicas 1 = 100 devices, the system has 64"},
           Wrong{"mode: phaze\n", "the original's bandwidth is fixed; give hbm_stacks: [0]"},
           Wrong{"search: placement\nchip: {width: 2147483647}\n", "must be at most 4096, found 2147483647"},
           Wrong{"search: placement\nchip: {hbm_stacks: 1000000000}\n", "must be at most 64, found 1000000000"},
           Wrong{"search: placement\nchip: {name: TPUv4-like, width: 8}\n",
                 "name: gives cores, sizes and buffer already; leave out either it or them"},
           Wrong{"search: chip\nplan: {width: 3}\n", "expected a power of two up to 1024, found 3"},
           Wrong{"mode: phase\n", "did you mean 'phaze'?"},
           Wrong{"top: 0\n", "expected 1 to 100, found 0"},
           Wrong{"solver: gurobi\n", "solver: expected one of own, cbc, glpk, found 'gurobi'"},
           Wrong{"solver_limit: 0 s\n", "solver_limit: must be positive"},
       }) {
    const Outcome found = run_program("search " + scratch.file("wrong.yaml", scenario(wrong.text)));
    EXPECT_EQ(found.code, 2) << wrong.text;
    EXPECT_THAT(found.err, AllOf(HasSubstr("wrong.yaml:"), HasSubstr(wrong.message))) << wrong.text;
  }
}

TEST(Search, MistakesInWorkloadsAndSystem) {
  const Scratch scratch;
  const std::string head = "name: x\n",
                    system = "system: {devices: 8, batch: 64, network: [{devices: 8, bandwidth: 1 GB/s}]}\n";
  for (const auto& [text, message] : {
           std::pair<std::string, std::string>{head + "workloads: []\n" + system, "workloads: at least one is needed"},
           {head + "workloads: [{model: bert-largo, sequence: 128}]\n" + system, "did you mean 'bert-large'"},
           {head + "workloads: [{model: bert-large, sequence: 1024}]\n" + system, "longer than the 512 positions"},
           {head + "workloads: [{model: bert-large, sequence: 0}]\n" + system, "must be at least 1, found 0"},
           {head + "workloads: [{model: bert-large, sequence: 128, micro_batches: []}]\n" + system,
            "at least one size is needed"},
           {head + "workloads: [{model: bert-large, sequence: 128, micro_batches: [0]}]\n" + system,
            "must be at least 1, found 0"},
           {head + "workloads: [{model: bert-large, sequence: 128, micro_batches: [3]}]\n" + system,
            "micro-batch 3 does not divide the batch of 64"},
           {head + "workloads: [{model: bert-large, sequence: 128, weight: 0}]\n" + system,
            "weight: must be positive and at most 1e6, found 0"},
           {head + "workloads: [{model: bert-large, sequence: 128, weight: 1e308}]\n" + system,
            "at most 1e6, found 1e+308"},
           {head + "workloads: [{model: bert-large, sequence: 128, widest: 1073741824}]\n" + system,
            "widest: expected a power of two up to 1024, found 1073741824"},
           {head + "workloads: [{model: bert-large, sequence: 128}]\nsystem: {batch: 9223372036854775807, network: "
                   "[{devices: 8, bandwidth: 1 GB/s}]}\n",
            "batch: must be at most"},
           {head +
                "workloads: [{model: bert-large, sequence: 128}]\nsystem: {memory: 1e300 GiB, network: [{devices: 8, "
                "bandwidth: 1 GB/s}]}\n",
            "memory: must be positive and at most 1 PiB"},
           {head + "workloads: [{model: bert-large, sequence: 128, narrowest: 4, widest: 2}]\n" + system,
            "2 is below narrowest, 4"},
           {head + "workloads: [{model: bert-large, sequence: 128, narrowest: 32, widest: 32}]\n" + system,
            "no tensor width from 32 to 32 divides its 16 heads"},
           {head + "workloads: [{model: mixtral-8x7b, sequence: 128}]\n" + system,
            "chips are searched for dense decoders"},
           {"name: a b\nworkloads: [{model: bert-large, sequence: 128}]\n" + system, "'a b' names a folder"},
           {head + "workloads: [{model: bert-large, sequence: 128}]\nsystem: {network: []}\n",
            "at least one level is needed"},
           {head + "workloads: [{model: bert-large, sequence: 128}]\nsystem: {zero: 4, network: [{devices: 8, "
                   "bandwidth: 1 GB/s}]}\n",
            "expected 0, 1, 2 or 3, found 4"},
           {head + "workloads: [{model: bert-large, sequence: 128}]\nsystem: {memory: 0, network: [{devices: 8, "
                   "bandwidth: 0}]}\n",
            "bandwidth: must be positive"},
           {head + "workloads: [{model: bert-large, sequence: 128}]\nsystem: {devices: 2000000, network: [{devices: 8, "
                   "bandwidth: 1 GB/s}]}\n",
            "must be at most 1048576"},
           {head + "workloads: [{model: bert-large, sequence: 128}]\nsystem: {network: [{devices: 8, bandwidth: 1 "
                   "GB/s}, {devices: 8, "
                   "bandwidth: 1 GB/s}]}\n",
            "each level reaches more devices than the one before"},
           {head + "workloads: [{model: bert-large, sequence: 128}]\nsystem: {devices: 64, network: [{devices: 8, "
                   "bandwidth: 1 GB/s}]}\n",
            "network: the outermost level reaches 8 devices, the system has 64"},
       }) {
    const Outcome found = run_program("search " + scratch.file("wrong.yaml", text));
    EXPECT_EQ(found.code, 2) << text;
    EXPECT_THAT(found.err, AllOf(HasSubstr("wrong.yaml:"), HasSubstr(message))) << text;
  }
}

TEST(Search, ResultsGoIntoAFolder) {
  const Scratch scratch;
  const std::string file = scratch.file("small.yaml", scenario(kSpace)), taken = scratch.file("taken", "mine");
  const Outcome outcome = run_program("search " + file + " --out " + taken);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--out: error: expected a folder, " + taken + " is a file"));
  EXPECT_EQ(read_file(taken), "mine");
}

TEST(Search, WrongUsage) {
  EXPECT_THAT(run_program("search").err, HasSubstr("search: give a scenario file or --reference"));
  EXPECT_EQ(run_program("search").code, 2);
  EXPECT_THAT(run_program("search x.yaml --time-budget 0").err,
              HasSubstr("--time-budget: error: must be positive, found 0"));
  EXPECT_THAT(run_program("search x.yaml --threads -1").err,
              HasSubstr("--threads: error: must not be negative (0: all cores), found -1"));
  EXPECT_THAT(run_program("search --reference").out, HasSubstr("| `space.hbm_stacks` |"));
}

}  // namespace
}  // namespace tessera::testing
