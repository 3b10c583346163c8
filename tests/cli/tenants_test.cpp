// Scenarios with tenants: what is wrong with one, and what a right one writes.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/file.hpp"
#include "sim/config/json.hpp"
#include "tests/cli/program.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

std::string good() {
  return "name: s\n"                                                                                           // 1
         "runs:\n"                                                                                             // 2
         "  - name: r\n"                                                                                       // 3
         "    gpu: A100-SXM4-40GB\n"                                                                           // 4
         "    dispatch: streams\n"                                                                             // 5
         "    sharing: {duration: 20 ms}\n"                                                                    // 6
         "    tenants:\n"                                                                                      // 7
         "      - {name: a, model: resnet18, batch: 4, priority: -1, slo: 10 ms, arrivals: {rate: 200 Hz}}\n"  // 8
         "      - {name: b, model: alexnet, mode: training, batch: 8, arrivals: {requests: 2}}\n";             // 9
}

struct Case {
  const char *name, *from, *to;
  int line;
  const char* message;
};

class BadTenants : public ::testing::TestWithParam<Case> {};

TEST_P(BadTenants, IsExitTwoWithPositionAndHint) {
  const Scratch scratch;
  const Case& c = GetParam();
  (void)scratch.file("zero.csv", "Name,Profile,Memory_footprint,SM_usage,Duration\nk,1,0,80,0\n");
  expect_refused(scratch, with(good(), c.from, c.to), ":" + std::to_string(c.line) + ":", c.message);
}

INSTANTIATE_TEST_SUITE_P(
    One, BadTenants,
    ::testing::Values(
        Case{"slo_without_arrivals", ", arrivals: {rate: 200 Hz}", "", 8, "slo: an SLO is about requests that arrive"},
        Case{"priority_out_of_range", "priority: -1", "priority: 1", 8, "priority: found 1, expected -5 to 0"},
        Case{"priority_too_urgent", "priority: -1", "priority: -6", 8, "priority: found -6, expected -5 to 0"},
        Case{"slice_that_does_not_exist", "priority: -1", "mig: 5g", 8, "mig needs dispatch mig"},
        Case{"share_without_mps", "priority: -1", "sm_share: 0.5", 8, "sm_share needs dispatch mps"},
        Case{"share_out_of_range", "priority: -1", "sm_share: 1.5", 8, "sm_share: found 1.5"},
        Case{"share_of_nothing", "priority: -1", "sm_share: 0", 8, "found 0, expected more than 0 and at most 1"},
        Case{"mig_without_name", "priority: -1", "mig: ''", 8, "mig: is empty"},
        Case{"millions_of_requests", "200 Hz", "1 GHz", 8, "some 2e+07 requests are more than the 1000000 of a run"},
        Case{"too_many_requests", "{requests: 2}", "{requests: 1000001}", 9, "found 1000001, expected 0 to 1000000"},
        Case{"time_slice_of_streams", "{duration: 20 ms}", "{duration: 20 ms, time_slice: 1 ms}", 8,
             "sharing.time_slice needs dispatch timeslice, found streams"},
        Case{"no_devices", "name: b,", "name: b, devices: [],", 9, "devices: names none"},
        Case{"sequence_of_images", "model: alexnet", "model: alexnet, sequence: 128", 9,
             "found 128, but samples of alexnet are not tokens"},
        Case{"optimizer_of_inference", "priority: -1", "optimizer: adam", 8, "mode inference has no optimizer"},
        Case{"training_in_int8", "mode: training", "mode: training, dtype: int8", 9,
             "training in int8 is not supported"},
        Case{"name_of_two_lines", "name: a,", "name: \"a\\nb\",", 8, "has line breaks"},
        Case{"zero_duration", "model: resnet18, batch: 4", "profile: zero.csv", 8,
             "Duration: found '0', expected a positive time in ns"},
        Case{"endless_loop", "{duration: 20 ms}", "{hbm: true}", 8, "a: its arrivals never end"},
        Case{"device_not_there", "name: b,", "name: b, devices: [1],", 8, "device 1 is not there"},
        Case{"two_of_one_name", "name: b,", "name: a,", 8, "two tenants are named 'a'"},
        Case{"no_source", "model: alexnet, ", "", 9, "missing key 'model' or 'profile'"},
        Case{"unknown_model", "alexnet", "alexnett", 9, "did you mean 'alexnet'?"},
        Case{"sequence_missing", "model: alexnet", "model: gpt2", 9, "missing key 'sequence'"},
        Case{"rate_and_trace", "{rate: 200 Hz}", "{rate: 200 Hz, trace: x.csv}", 8, "both rate and trace"},
        Case{"negative_rate", "200 Hz", "-200 Hz", 8, "expected a positive"},
        Case{"workload_too", "    tenants:", "    workload: {model: gpt2}\n    tenants:", 7,
             "both 'workload' and 'tenants' are given"},
        Case{"cluster", "gpu: A100-SXM4-40GB", "cluster: dgx-h100", 4, "a run of tenants takes gpu"},
        Case{"unknown_gpu", "A100-SXM4-40GB", "A100-SXM4-41GB", 4, "did you mean"},
        Case{"unknown_policy", "streams", "stream", 5, "did you mean 'streams' or 'streams+priority'?"}),
    [](const auto& instance) { return instance.param.name; });

TEST(Tenants, MigThatTheGpuDoesNotHaveOrNotSoOften) {
  const Scratch scratch;
  const std::string text = with(good(), "dispatch: streams", "dispatch: mig");
  const Outcome none = run_program("check " + scratch.file("s.yaml", with(text, "A100-SXM4-40GB", "V100-SXM2-32GB")));
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("V100-SXM2-32GB has no MIG"));
  std::string many = text;
  for (int i = 0; i < 6; ++i) many += "      - {name: c" + std::to_string(i) + ", model: alexnet}\n";
  const Outcome crowded = run_program("check " + scratch.file("m.yaml", many));
  EXPECT_EQ(crowded.code, 2);
  EXPECT_THAT(crowded.err, HasSubstr("8 tenants are more than A100-SXM4-40GB has MIG slices"));
}

TEST(Tenants, KeysWithoutEffect) {
  const Scratch scratch;
  const std::string head = "name: s\nruns:\n  - name: r\n";
  const Outcome idle =
      run_program("check " + scratch.file("d.yaml", head + "    sharing: {devices: [V100-SXM2-32GB, A100-SXM4-40GB]}\n"
                                                           "    tenants: [{name: a, model: alexnet, devices: [0]}]\n"));
  EXPECT_EQ(idle.code, 2);
  EXPECT_THAT(idle.err, HasSubstr("device 1 (A100-SXM4-40GB) has no tenant"));
  const Outcome endless =
      run_program("check " + scratch.file("e.yaml", head + "    gpu: V100-SXM2-32GB\n    sharing: {duration: 1 s}\n"
                                                           "    tenants: [{name: a, model: alexnet}]\n"));
  EXPECT_EQ(endless.code, 2);
  EXPECT_THAT(endless.err, HasSubstr("sharing.duration ends arrivals, and no tenant has any"));
}

// A closed loop of days is known to be too long only when its kernels have a price.
TEST(Tenants, MoreKernelsThanARunHasAreExitOne) {
  const Scratch scratch;
  const Outcome outcome =
      run_program("check " + scratch.file("s.yaml", with(with(good(), "20 ms", "2 d"), "{rate: 200 Hz}", "{}")));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("are more than the 20000000 of a run:\n  a "));
  EXPECT_THAT(outcome.err, HasSubstr("Shorten the duration"));
}

TEST(Tenants, CutTraceHasItsLine) {
  const Scratch scratch;
  for (const char* cut : {"arrival_s\n0\n0.002\n0.00", "id,arrival_s\n1,0\n2,0.002\n3"}) {
    const std::string trace = "{trace: " + scratch.file("cut.csv", cut) + "}";
    const Outcome outcome = run_program("check " + scratch.file("s.yaml", with(good(), "{rate: 200 Hz}", trace)));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("cut.csv:4"));
  }
}

TEST(Tenants, MigSliceThatTheGpuDoesNotHave) {
  const Scratch scratch;
  std::string text = with(with(good(), "dispatch: streams", "dispatch: mig"), "priority: -1", "mig: 5g");
  const Outcome outcome = run_program("simulate " + scratch.file("s.yaml", text));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("5g"));
  text = with(with(text, "mig: 5g", "mig: 2g"), "A100-SXM4-40GB", "V100-SXM2-32GB");
  const Outcome none = run_program("simulate " + scratch.file("v.yaml", text));
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("V100-SXM2-32GB"));
}

TEST(Tenants, NoArrivalWithinTheDurationIsExitOne) {
  const Scratch scratch;
  const std::string trace = "{trace: " + scratch.file("late.csv", "arrival_s\n5\n7\n") + "}";
  const Outcome outcome = run_program("simulate " + scratch.file("s.yaml", with(good(), "{rate: 200 Hz}", trace)));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("no request arrives within 20.0 ms"));
}

TEST(Tenants, TogetherTooLargeIsExitOneWithWhatEachHolds) {
  const Scratch scratch;
  const std::string path = scratch.file(
      "s.yaml", with(with(good(), "batch: 4,", "batch: 4, memory: 30 GiB,"), "batch: 8,", "batch: 8, memory: 12 GiB,"));
  for (const char* verb : {"simulate ", "check "}) {
    const Outcome outcome = run_program(verb + path);
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_THAT(outcome.out + outcome.err, HasSubstr("do not fit"));
  }
  EXPECT_THAT(run_program("simulate " + path).err, HasSubstr("30.0 GiB"));
}

TEST(Tenants, SimulateWritesMeasuresRequestsTraceAndPicture) {
  const Scratch scratch;
  const std::string path = scratch.file("s.yaml", good());
  const std::filesystem::path out = scratch.path() / "out";
  const Outcome outcome = run_program("simulate " + path + " --out " + out.string());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2 tenants on A100-SXM4-40GB, dispatch streams"));
  const Json json = parse_json(read_file(out / "r" / "summary.json"), "summary.json");
  EXPECT_EQ(json.at("tenants").items()[1].at("requests").integer(), 2);
  EXPECT_GE(json.at("tenants").items()[0].at("slowdown_ratio").number(), 1);
  EXPECT_LE(json.at("sm_ratio").number(), 1);
  for (const char* name : {"requests.csv", "timeline.svg", "trace.json", "manifest.json"})
    EXPECT_TRUE(std::filesystem::exists(out / "r" / name)) << name;
  const Outcome again = run_program("simulate " + path + " --json --out " + out.string());
  EXPECT_EQ(run_program("simulate " + path + " --json --out " + out.string()).out, again.out);
}

TEST(Tenants, CopiesOnSeveralDevicesShareTheRequests) {
  const Scratch scratch;
  std::string text = with(good(), "    gpu: A100-SXM4-40GB\n", "");
  text = with(text, "{duration: 20 ms}", "{duration: 20 ms, devices: [A100-SXM4-40GB, V100-SXM2-32GB]}");
  text = with(text, "name: b,", "name: b, devices: [1],");
  const Outcome outcome =
      run_program("simulate " + scratch.file("s.yaml", text) + " --json --out " + (scratch.path() / "out").string());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json runs = parse_json(outcome.out, "stdout").at("runs");
  ASSERT_EQ(runs.items().size(), 2U);
  EXPECT_EQ(runs.items()[0].at("tenants").items().size(), 1U);
  EXPECT_EQ(runs.items()[1].at("tenants").items().size(), 2U);
}

}  // namespace
}  // namespace tessera::testing
