// search around a GPU as a user calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "sim/config/json.hpp"
#include "tests/cli/program.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

std::string around(const std::string& gpu, const std::string& workload = "{model: bert-base, sequence: 128}") {
  return "name: near\ngpu: " + gpu + "\nworkload: " + workload + "\n";
}

TEST(GpuSearch, AroundAKnownGpu) {
  const Scratch scratch;
  const std::string file = scratch.file("gpu.yaml", around("{around: A100-SXM-80GB, area: 900 mm2}"));
  const Outcome found = run_program("search " + file + " --json --out " + (scratch.path() / "out").string());
  ASSERT_EQ(found.code, 0) << found.err;
  const Json json = parse_json(found.out, "out");
  ASSERT_FALSE(json.at("front").items().empty());
  for (const Json& point : json.at("front").items()) EXPECT_LE(point.at("area_mm2").number(), 900);
  EXPECT_GE(json.at("front").items().front().at("samples_per_second").number(),
            json.at("centre").at("samples_per_second").number());
  // The fastest is a platform that simulate takes.
  const std::string run = "name: run\nruns:\n- name: one\n  gpu: " + (scratch.path() / "out" / "gpu.yaml").string() +
                          "\n  workload: {model: bert-base, mode: inference, sequence: 128, batch: 1}\n";
  const Outcome simulated =
      run_program("simulate " + scratch.file("run.yaml", run) + " --out " + (scratch.path() / "simulated").string());
  EXPECT_EQ(simulated.code, 0) << simulated.err;
}

TEST(GpuSearch, OptionsThatDoNotApplyAroundAGpu) {
  const Scratch scratch;
  const std::string file = scratch.file("gpu.yaml", around("{around: A100-SXM-80GB}"));
  for (const char* const option : {"--pareto", "--time-budget", "--threads", "--replay"}) {
    const Outcome found =
        run_program("search " + file + " " + option + (std::string(option) == "--pareto" ? "" : " 1"));
    EXPECT_EQ(found.code, 2) << option;
    EXPECT_THAT(found.err, HasSubstr(std::string(option) + ": error: does not apply to a search around a GPU"));
  }
}

TEST(GpuSearch, MistakesOfASearchAroundAGpu) {
  const Scratch scratch;
  for (const auto& [text, message, code] : {
           std::tuple<std::string, std::string, int>{around("{around: A100-SXM-80Gb2}"), "did you mean", 2},
           {around("{}"), "missing key 'around'", 2},
           {around("{around: A100-SXM-80GB}", "{model: bert-base, sequence: 0}"), "must be at least 1, found 0", 2},
           {around("{around: A100-SXM-80GB}", "{model: bert-base, sequence: 8, batch: 0}"), "batch: must be at least 1",
            2},
           {around("{around: A100-SXM-80GB}", "{model: bert-bass, sequence: 8}"), "did you mean", 2},
           {around("{around: A100-SXM-80GB, area: 1 mm2}"), "gpu.yaml:2:6: ", 1},
       }) {
    const Outcome found =
        run_program("search " + scratch.file("gpu.yaml", text) + " --out " + (scratch.path() / "out").string());
    EXPECT_EQ(found.code, code) << text;
    EXPECT_THAT(found.err, HasSubstr(message)) << text;
  }
}

}  // namespace
}  // namespace tessera::testing
