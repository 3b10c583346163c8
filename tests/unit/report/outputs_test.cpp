#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/config/csv.hpp"
#include "sim/config/gzip.hpp"
#include "sim/report/error_bar.hpp"
#include "sim/report/outputs.hpp"
#include "tests/unit/report/tiny_run.hpp"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SummaryJson, ReadsBackWithUnitsInItsNames) {
  const Summary s = TinyRun().summary();
  const Json json = parse_json(summary_json(s).dump(), "summary.json");
  EXPECT_EQ(json.at("schema_version").integer(), kSchemaVersion);
  EXPECT_EQ(json.at("model").text(), "toy");
  EXPECT_EQ(json.at("step_time_s").at("p10").number(), s.step_time.p10.value());
  EXPECT_EQ(json.at("mfu_ratio").at("p50").number(), s.mfu_ratio.p50);
  EXPECT_EQ(json.at("memory_per_gpu").at("total_bytes").number(), 1073741824.0);
  EXPECT_EQ(json.at("operators").items().size(), 3u);
  EXPECT_EQ(json.at("energy").at("hosts_j").number(), s.energy.hosts.value());
  EXPECT_EQ(json.at("folded").integer(), 2);
}

TEST(OpsCsv, OneRowPerKernelAndNameThenPerCollective) {
  const TinyRun run;
  const CsvTable table = CsvTable::parse(ops_csv(run.plan, run.costs, run.trace), "ops.csv");
  ASSERT_EQ(table.rows(), 3u);
  EXPECT_EQ(table.cell(2, table.need("name")), "all_reduce over dp");
  EXPECT_EQ(table.cell(2, table.need("kernel")), "all_reduce over dp bytes=100");
  EXPECT_EQ(table.integer(2, table.need("calls")), 1);
  EXPECT_EQ(table.number(2, table.need("call_p50_s")), 1.0);
  EXPECT_EQ(table.number(2, table.need("call_p90_s")), 1 + kCommunicationHigh);
  EXPECT_EQ(table.cell(2, table.need("flops")), "");
  EXPECT_EQ(table.cell(1, table.need("name")), "copy, out");
  EXPECT_EQ(table.integer(0, table.need("calls")), 2);
  EXPECT_EQ(table.number(0, table.need("total_p50_s")), 2.0);
  EXPECT_EQ(table.number(0, table.need("flops")), 2000.0);
  EXPECT_EQ(table.cell(0, table.need("provenance")), "fitted");
}

std::string plain_trace(const TinyRun& run) {
  PackingText text(std::size_t{1} << 30);
  chrome_trace(run.trace, run.plan, text);
  return text.take().bytes;
}

TEST(ChromeTrace, EverySpanIsAnEventOnANamedThread) {
  const TinyRun run;
  const Json json = parse_json(plain_trace(run), "trace.json");
  std::set<std::pair<std::int64_t, std::int64_t>> threads, used;
  double end = 0;
  int spans = 0;
  for (const Json& event : json.at("traceEvents").items()) {
    const std::string& phase = event.at("ph").text();
    if (event.at("name").text() == "thread_name") threads.emplace(event.at("pid").integer(), event.at("tid").integer());
    if (phase != "X") continue;
    ++spans;
    used.emplace(event.at("pid").integer(), event.at("tid").integer());
    end = std::max(end, event.at("ts").number() + event.at("dur").number());
  }
  EXPECT_EQ(spans, 5);
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_EQ(threads, used);
  EXPECT_DOUBLE_EQ(end, 5e6);
  EXPECT_EQ(json.at("traceEvents").items().back().at("args").at("labels").text(), "each simulated GPU stands for 2");
}

TEST(ChromeTrace, TasksAreCalledAsInTheTable) {
  const TinyRun run;
  std::set<std::string> shown, listed;
  const Json json = parse_json(plain_trace(run), "trace.json");
  for (const Json& event : json.at("traceEvents").items())
    if (event.at("ph").text() == "X") shown.insert(event.at("name").text());
  for (const OperatorShare& op : run.summary().operators) listed.insert(op.name);
  EXPECT_EQ(shown, listed);
}

TEST(ChromeTrace, LinksAreAProcessOfTheirOwn) {
  const TinyRun run;
  std::set<std::string> processes;
  const Json json = parse_json(plain_trace(run), "trace.json");
  for (const Json& event : json.at("traceEvents").items())
    if (event.at("name").text() == "process_name") processes.insert(event.at("args").at("name").text());
  EXPECT_THAT(processes, ElementsAre("GPU 0", "links"));
}

TEST(TextReport, SaysWhatAUserAsks) {
  const std::string text = text_report(TinyRun().summary());
  for (const char* expected : {"tiny / one", "toy training, bf16, 12 x 7 tokens a step", "step time", "tokens/s/GPU",
                               "MFU", "energy", "exposed communication", "all_reduce over dp", "Memory per GPU",
                               "2 bytes x parameters", "Busiest link: wire", "nothing recomputed"})
    EXPECT_THAT(text, HasSubstr(expected));
}

TEST(TextReport, FitsAHundredColumnsWithoutTrailingSpaces) {
  TinyRun run;
  run.cluster.name = "a-cluster-whose-name-somebody-made-rather-long";
  run.cluster.gpu.name = "GPU-OF-A-LONG-NAME-TOO-80GB";
  run.graph.model = "a model of a name that fills half of the line by itself alone";
  run.plan.names[0] = "an operator that has a name longer than the column that it is in";
  run.memory.components[0].formula = "a formula of many words that goes on for longer than what is left of a line here";
  for (const std::string& line : split(text_report(run.summary()), '\n')) {
    EXPECT_LE(line.size(), 100u) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

TEST(TextReport, WarnsOfExtrapolation) {
  TinyRun run;
  EXPECT_THAT(text_report(run.summary()), ::testing::Not(HasSubstr("trust it less")));
  run.costs[1].provenance = Provenance::extrapolated;
  EXPECT_THAT(text_report(run.summary()), HasSubstr("50.0 % of the compute time lies outside"));
}

// Values of the reference implementation (Fowler, Noll, Vo; RFC draft, appendix C).
TEST(ContentHash, IsFnv1a) {
  EXPECT_EQ(content_hash(""), "cbf29ce484222325");
  EXPECT_EQ(content_hash("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(content_hash("foobar"), "85944171f73967e8");
}

TEST(Manifest, SaysWhatItTakesToRepeat) {
  const Json json = manifest_json({"s", "r", 7, Json(Json::Object{{"name", "s"}}), {{"a.yaml", "00"}}});
  EXPECT_EQ(json.at("seed").integer(), 7);
  EXPECT_EQ(json.at("inputs_fnv1a64").at("a.yaml").text(), "00");
  EXPECT_EQ(json.at("resolved_scenario").at("name").text(), "s");
  for (const char* package : {"tessera", "simgrid", "fmt", "yaml-cpp", "nlohmann-json", "zlib", "eigen", "cli11"})
    EXPECT_THAT(json.at("versions").at(package).text(), ::testing::MatchesRegex("[0-9]+\\..*")) << package;
}

class WriteOutputs : public ::testing::Test {
 protected:
  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("tessera-outputs-" + std::to_string(::getpid()));
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
};

TEST_F(WriteOutputs, TheSameRunGivesTheSameBytes) {
  const TinyRun run;
  const Manifest manifest{"tiny", "one", 1, Json(), {}};
  std::vector<std::string> first, second;
  for (auto* contents : {&first, &second})
    for (const auto& name : write_outputs(folder_, run.summary(), run.plan, run.costs, run.trace, manifest))
      contents->push_back(name + read_file(folder_ / name));
  EXPECT_EQ(first, second);
  EXPECT_EQ(first.size(), 4u);
}

TEST_F(WriteOutputs, AnInterruptedSetHasNoManifest) {
  const TinyRun run;
  const auto write = [&] { return write_outputs(folder_, run.summary(), run.plan, run.costs, run.trace, {}); };
  write();
  std::filesystem::remove(folder_ / "trace.json");
  std::filesystem::create_directory(folder_ / "trace.json");  // a file in the middle of the set cannot be written
  EXPECT_THROW(write(), RunError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "manifest.json"));
  std::filesystem::remove(folder_ / "trace.json");
  write();
  EXPECT_TRUE(std::filesystem::exists(folder_ / "manifest.json"));
}

TEST_F(WriteOutputs, AnEarlierManifestThatStaysIsAnError) {
  const TinyRun run;
  write_file(folder_ / "manifest.json" / "x", "");  // a folder that is not empty
  EXPECT_THROW(write_outputs(folder_, run.summary(), run.plan, run.costs, run.trace, {}), RunError);
}

TEST_F(WriteOutputs, PacksALongTimeline) {
  TinyRun run;
  const std::vector<Span> few = run.trace.spans;
  while (run.trace.spans.size() < 200'000) run.trace.spans.insert(run.trace.spans.end(), few.begin(), few.end());
  const auto names = write_outputs(folder_, run.summary(), run.plan, run.costs, run.trace, {});
  EXPECT_THAT(names, ElementsAre("summary.json", "ops.csv", "trace.json.gz", "manifest.json"));
  EXPECT_EQ(read_maybe_gzip(folder_ / "trace.json.gz"), plain_trace(run));
}

}  // namespace
}  // namespace tessera
