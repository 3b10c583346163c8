// Scenarios with many jobs and with failures: what is wrong with one, and what a right one writes.
#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/file.hpp"
#include "sim/config/csv.hpp"
#include "sim/config/json.hpp"
#include "tests/cli/program.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

std::string good() {
  return "name: s\n"                                                                                     // 1
         "runs:\n"                                                                                       // 2
         "  - name: r\n"                                                                                 // 3
         "    cluster: dgx-a100-80gb\n"                                                                  // 4
         "    nodes: 2\n"                                                                                // 5
         "    jobs:\n"                                                                                   // 6
         "      placement: packed\n"                                                                     // 7
         "      queue: fifo\n"                                                                           // 8
         "      list:\n"                                                                                 // 9
         "        - {name: a, gpus: 8, duration: 2 h, communication: 0.2}\n"                             // 10
         "        - {name: b, arrival: 10 min, gpus: 16, duration: 1 h}\n"                               // 11
         "      synthetic: {jobs: 20, interarrival: 5 min, duration: 10 min, gpus: {1: 0.5, 4: 0.5}}\n"  // 12
         "    reliability: {gpu_mtbf: 1000 h, checkpoint_interval: 30 min, checkpoint_cost: 1 min}\n";   // 13
}

struct Case {
  const char *name, *from, *to;
  int line;
  const char* message;
};

class BadJobs : public ::testing::TestWithParam<Case> {};

TEST_P(BadJobs, IsExitTwoWithPositionAndHint) {
  const Scratch scratch;
  const Case& c = GetParam();
  expect_refused(scratch, with(good(), c.from, c.to), ":" + std::to_string(c.line) + ":", c.message);
}

INSTANTIATE_TEST_SUITE_P(
    One, BadJobs,
    ::testing::Values(
        Case{"unknown_placement", "placement: packed", "placement: paked", 7, "did you mean 'packed'?"},
        Case{"unknown_queue", "queue: fifo", "queue: fifa", 8, "did you mean 'fifo'?"},
        Case{"too_many_gpus", "gpus: 16,", "gpus: 17,", 7, "b: 17 GPUs are asked for, dgx-a100-80gb has 16"},
        Case{"synthetic_too_many_gpus", "4: 0.5", "40: 0.5", 7, "synthetic: 40 GPUs are asked for"},
        Case{"spares_leave_too_few", "gpu_mtbf: 1000 h", "gpu_mtbf: 1000 h, spares: 1", 7, "has 8 without its spares"},
        Case{"spares_leave_none", "gpu_mtbf: 1000 h", "gpu_mtbf: 1000 h, spares: 2", 7, "2 spares leave none"},
        Case{"spares_below_zero", "gpu_mtbf: 1000 h", "gpu_mtbf: 1000 h, spares: -1", 13, "must not be negative"},
        Case{"negative_arrival", "arrival: 10 min", "arrival: -10 min", 11, "expected a positive time"},
        Case{"duration_zero", "duration: 1 h}", "duration: 0}", 11, "duration: must be positive"},
        Case{"no_gpus", "gpus: 16, ", "", 11, "missing key 'gpus'"},
        Case{"gpus_zero", "gpus: 16,", "gpus: 0,", 11, "gpus: must be positive, found 0"},
        Case{"nothing_to_do", "gpus: 16, duration: 1 h", "gpus: 16", 11, "missing key 'duration' or 'workload'"},
        Case{"steps_of_a_duration", "duration: 1 h}", "duration: 1 h, steps: 5}", 11, "is of a job with a workload"},
        Case{"all_communication", "communication: 0.2", "communication: 1", 10, "expected 0 or more and less than 1"},
        Case{"talks_to_itself", "gpus: 8, duration: 2 h", "gpus: 1, duration: 2 h", 10, "one GPU has nobody"},
        Case{"two_of_a_name", "name: b", "name: a", 10, "two jobs are named 'a'"},
        Case{"no_jobs", "jobs: 20", "jobs: 0", 12, "jobs: found 0, expected 1 to"},
        Case{"shares_do_not_add_up", "4: 0.5", "4: 0.4", 12, "add up to 0.9, not to 1"},
        Case{"size_is_no_number", "4: 0.5", "four: 0.5", 12, "'four' is no number of GPUs"},
        Case{"share_below_zero", "{1: 0.5, 4: 0.5}", "{1: -0.5, 4: 1.5}", 12, "must be positive, found -0.5"},
        Case{"spread_of_constant", "duration: 10 min", "duration: 10 min, lengths: constant, spread: 2", 12,
             "is of lognormal lengths"},
        Case{"spread_too_wide", "duration: 10 min", "duration: 10 min, spread: 50", 12, "found 50, expected 0 to 5"},
        Case{"interarrival_zero", "interarrival: 5 min", "interarrival: 0", 12, "interarrival: must be positive"},
        Case{"mtbf_zero", "gpu_mtbf: 1000 h", "gpu_mtbf: 0", 13, "gpu_mtbf: must be positive"},
        Case{"nothing_fails", "gpu_mtbf: 1000 h, ", "", 13, "nothing fails"},
        Case{"interval_zero", "checkpoint_interval: 30 min", "checkpoint_interval: 0", 13, "must be positive"},
        Case{"trials_of_jobs", "gpu_mtbf: 1000 h", "gpu_mtbf: 1000 h, trials: 5", 13, "trials is of one training run"},
        Case{"too_few_trials", "gpu_mtbf: 1000 h", "gpu_mtbf: 1000 h, trials: 1", 13, "found 1, expected 2 to"},
        Case{"gpu_beside_jobs", "nodes: 2", "gpu: V100-SXM2-32GB", 5, "a run of jobs takes cluster"},
        Case{"workload_beside_jobs", "nodes: 2", "workload: {model: bert-base}", 5, "both 'workload' and 'jobs'"},
        Case{"unknown_key", "queue: fifo", "quueue: fifo", 8, "did you mean 'queue'?"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(BadJobs, WorkloadsAreCheckedAgainstTheCluster) {
  const Scratch scratch;
  const std::string job =
      "{name: b, gpus: 16, steps: 3, workload: {model: llama-2-7b, mode: training, sequence: 128, global_batch: 16, "
      "micro_batch: 1}, parallel: {tp: 3, dp: 2}}";
  const std::string path =
      scratch.file("s.yaml", with(good(), "{name: b, arrival: 10 min, gpus: 16, duration: 1 h}", job));
  const Outcome outcome = run_program("check " + path);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("b: gpus is 16, and tp x pp x cp x dp is 6"));
  EXPECT_THAT(outcome.err, HasSubstr("b: parallel: tp 3 does not divide the 32 heads of llama-2-7b"));
}

struct TraceCase {
  const char *name, *file, *text, *message;
};
class BadTrace : public ::testing::TestWithParam<TraceCase> {};

TEST_P(BadTrace, IsExitTwoWithItsLine) {
  const Scratch scratch;
  const TraceCase& c = GetParam();
  const std::string trace = scratch.file(c.file, c.text);
  const std::string path = scratch.file("s.yaml", with(good(),
                                                       "      synthetic: {jobs: 20, interarrival: 5 min, duration: "
                                                       "10 min, gpus: {1: 0.5, 4: 0.5}}\n",
                                                       "      trace: {file: " + trace + "}\n"));
  const Outcome outcome = run_program("simulate " + path);
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(path + ":" + (c.message[0] == 'j' ? "7:" : "12:")));
  EXPECT_THAT(outcome.err, HasSubstr(c.message));
}

INSTANTIATE_TEST_SUITE_P(
    One, BadTrace,
    ::testing::Values(
        TraceCase{"row_cut_short", "t.csv", "job_id,submit_s,gpus,duration_s\na,0,1,10\nb,5,1\n", "t.csv:3"},
        TraceCase{"unknown_column", "t.csv", "job_id,submit_s,gpu,duration_s\na,0,1,10\n", "did you mean 'gpus'?"},
        TraceCase{"missing_column", "t.csv", "job_id,submit_s,gpus\na,0,1\n", "duration_s"},
        TraceCase{"negative_duration", "t.csv", "job_id,submit_s,gpus,duration_s\na,0,1,-10\n",
                  "duration_s: found '-10', expected a time in seconds, not negative"},
        TraceCase{"dates_go_back", "t.csv", "job_id,submit_s,gpus,duration_s\na,5,1,10\nb,4,1,10\n",
                  "submit_s: found '4', expected a date from 5 s on"},
        TraceCase{"half_a_gpu", "t.csv", "job_id,submit_s,gpus,duration_s\na,5,1.5,10\n", "expected a whole number"},
        TraceCase{"no_number", "t.csv", "job_id,submit_s,gpus,duration_s\na,soon,1,10\n", "found 'soon'"},
        TraceCase{"empty", "t.csv", "job_id,submit_s,gpus,duration_s\n", "the trace has no jobs"},
        TraceCase{"nothing_ran", "t.csv", "job_id,submit_s,gpus,duration_s\na,0,0,0\n", "none of its 1 jobs ran"},
        TraceCase{"larger_than_the_cluster", "t.csv", "job_id,submit_s,gpus,duration_s\na,0,99,9\n",
                  "job a of the trace: 99 GPUs are asked for"},
        TraceCase{"swf_line_cut_short", "t.swf", "1 0 0 10 1 -1 -1 1 -1 -1 1 1 1 -1 1 -1 -1 -1\n2 5 0 10 1\n",
                  "t.swf:2:1: 5 fields, a job has 18"},
        TraceCase{"swf_jobs_missing", "t.swf", "; MaxJobs: 2\n1 0 0 10 1 -1 -1 1 -1 -1 1 1 1 -1 1 -1 -1 -1\n",
                  "the header promises 2 jobs, and there are 1: the trace is cut short"},
        TraceCase{"swf_dates_go_back", "t.swf",
                  "1 9 0 10 1 -1 -1 1 -1 -1 1 1 1 -1 1 -1 -1 -1\n2 5 0 10 1 -1 -1 1 -1 -1 1 1 1 -1 1 -1 -1 -1\n",
                  "t.swf:2:1: submit time 5 s, expected 9 s or later"},
        TraceCase{"swf_no_number", "t.swf", "1 0 0 ten 1 -1 -1 1 -1 -1 1 1 1 -1 1 -1 -1 -1\n",
                  "field 4: found 'ten', expected a number"},
        TraceCase{"swf_empty", "t.swf", "; MaxProcs: 8\n", "the trace has no jobs"}),
    [](const auto& test) { return std::string(test.param.name); });

Json one_run(const Outcome& outcome, std::size_t index = 0) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return parse_json(outcome.out, "stdout").at("runs").items().at(index);
}

TEST(Jobs, WriteSummaryTableAndPicture) {
  const Scratch scratch;
  const std::string path = scratch.file("s.yaml", good());
  const auto out = scratch.path() / "out";
  const Json summary = one_run(run_program("simulate " + path + " --json --out " + out.string()));
  EXPECT_EQ(summary.at("jobs").integer(), 22);
  const CsvTable rows = CsvTable::read(out / "r" / "jobs.csv");
  EXPECT_EQ(rows.rows(), 22U);
  double held = 0;
  for (std::size_t row = 0; row < rows.rows(); ++row)
    held += *rows.number(row, rows.need("held_s")) * *rows.number(row, rows.need("gpus"));
  double parts = 0;
  for (const char* part : {"useful_gpu_s", "slowed_gpu_s", "redone_gpu_s", "checkpointing_gpu_s", "restarting_gpu_s"})
    parts += summary.at(part).number();
  EXPECT_NEAR(parts / held, 1, 1e-6);
  EXPECT_NEAR(summary.at("busy_ratio").number() * summary.at("makespan_s").number() * 16 / held, 1, 1e-6);
  EXPECT_THAT(read_file(out / "r" / "timeline.svg"), HasSubstr("GPUs in use"));
  for (const char* file : {"summary.json", "trace.json", "manifest.json"})
    EXPECT_TRUE(std::filesystem::exists(out / "r" / file)) << file;
  EXPECT_THAT(run_program("simulate " + path + " --out " + out.string()).out, HasSubstr("finish-time"));
  EXPECT_THAT(run_program("check " + path).out, HasSubstr("r: 22 jobs on 16 x A100-SXM-80GB"));
}

TEST(Jobs, OfATraceThatNeverRanAreCounted) {
  const Scratch scratch;
  const std::string trace = scratch.file("t.swf",
                                         "; MaxJobs: 3\n1 0 0 100 8 -1 -1 8 -1 -1 1 1 1 -1 1 -1 -1 -1\n"
                                         "2 10 -1 -1 -1 -1 -1 8 -1 -1 5 1 1 -1 1 -1 -1 -1\n"
                                         "3 20 0 50 -1 -1 -1 4 -1 -1 1 1 1 -1 1 -1 -1 -1\n");
  const std::string path = scratch.file("s.yaml",
                                        "name: s\nruns:\n  - name: r\n    cluster: dgx-a100-80gb\n    jobs:\n"
                                        "      trace: {file: " +
                                            trace + "}\n");
  const Json summary = one_run(run_program("simulate " + path + " --json --out " + (scratch.path() / "o").string()));
  EXPECT_EQ(summary.at("jobs").integer(), 2);
  EXPECT_EQ(summary.at("never_ran").integer(), 1);
  EXPECT_EQ(summary.at("makespan_s").number(), 150);
}

const char* const kTraining =
    "workload: {model: bert-base, mode: training, sequence: 128, global_batch: 64, micro_batch: 4}";

TEST(Jobs, OneAloneIsTheSimulationOfIt) {
  const Scratch scratch;
  const std::string path = scratch.file(
      "s.yaml",
      std::string("name: s\nruns:\n  - name: train\n    cluster: dgx-a100-80gb\n    nodes: 2\n    gpus: 16\n"
                  "    parallel: {dp: 16}\n    ") +
          kTraining +
          "\n  - name: job\n    cluster: dgx-a100-80gb\n    nodes: 2\n    jobs:\n      list:\n        - {name: a, "
          "steps: 100, parallel: {dp: 16}, " +
          kTraining + "}\n");
  const Outcome outcome = run_program("simulate " + path + " --json --out " + (scratch.path() / "o").string());
  const double step = one_run(outcome).at("step_time_s").at("p50").number();
  EXPECT_NEAR(one_run(outcome, 1).at("makespan_s").number() / (100 * step), 1, 1e-9);
}

TEST(Reliability, OfATrainingRunIsReportedBesideIt) {
  const Scratch scratch;
  const std::string path = scratch.file(
      "s.yaml", std::string("name: s\nruns:\n  - name: train\n    cluster: dgx-a100-80gb\n    nodes: 3\n    gpus: 16\n"
                            "    parallel: {dp: 16}\n    reliability: {gpu_mtbf: 200 h, repair: 4 h, spares: 1, "
                            "checkpoint_cost: 1 min, restart: 5 min, duration: 4 d, trials: 5}\n    ") +
                    kTraining + "\n");
  const auto out = scratch.path() / "o";
  const Json r = one_run(run_program("simulate " + path + " --json --out " + out.string())).at("reliability");
  EXPECT_NEAR(r.at("mtbf_s").number(), 200 * 3600 / 16.0, 1e-6);
  EXPECT_NEAR(r.at("young_s").number(), std::sqrt(2 * 60 * 200 * 3600 / 16.0), 1e-6);
  EXPECT_GT(r.at("best").at("goodput_ratio").number(), 0.7);
  EXPECT_LT(r.at("best").at("goodput_ratio").number(), 1);
  EXPECT_TRUE(std::filesystem::exists(out / "train" / "reliability.json"));
  EXPECT_THAT(run_program("simulate " + path + " --out " + out.string()).out, HasSubstr("Young, Daly"));
  for (const auto& [set, message] : {std::pair{"spares=2", "2 spares leave 8"},
                                     {"duration=0", "must be positive"},
                                     {"checkpoint_cost=0", "missing key 'checkpoint_cost'"}}) {
    const Outcome wrong = run_program("check " + path + " --set runs.train.reliability." + set);
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.err, HasSubstr(message));
  }
}

TEST(Jobs, ThatWouldNeverEndAreRefused) {
  const Scratch scratch;
  const std::string path = scratch.file("s.yaml", with(good(), "gpu_mtbf: 1000 h", "gpu_mtbf: 1 min"));
  const Outcome outcome = run_program("simulate " + path + " --out " + (scratch.path() / "o").string());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("would never end"));
}

}  // namespace
}  // namespace tessera::testing
