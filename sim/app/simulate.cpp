#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "sim/app/inputs.hpp"
#include "sim/app/jobs/jobs_run.hpp"
#include "sim/app/progress.hpp"
#include "sim/app/run.hpp"
#include "sim/app/scenario.hpp"
#include "sim/app/verbs.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/report/outputs.hpp"

namespace tessera {
namespace {

class Simulate final : public Command {
 public:
  explicit Simulate(CLI::App& app) {
    app.add_option("SCENARIO", scenarios_, "scenario files")->required();
    app.add_option("--run", only_, "only these runs");
    app.add_option("--set", settings_, "change a key: --set runs.train.parallel.tp=4")->allow_extra_args(false);
    app.add_option("--out", out_, "folder for the results, instead of results/<scenario>");
    app.add_flag("--explain", explain_, "say what was folded and why, and which kernels the step waits for");
    app.add_flag("--json", json_, "print the summaries as JSON");
  }

  int run() override {
    const std::vector<ScenarioFile> files = read_scenarios(scenarios_, settings_);  // all, before the first one runs
    if (files.size() > 1 && !out_.empty())
      throw InputError(Diagnostic{"--out", 0, 0, "one folder for several scenarios; give one scenario"});
    check_run_names(files);
    Json summaries = Json::array();
    std::vector<std::string> failures;
    for (const ScenarioFile& file : files) run_scenario(file, summaries, failures);
    if (json_ && !summaries.items().empty())
      fmt::print("{}\n", Json(Json::Object{{"runs", std::move(summaries)}}).dump());
    if (!failures.empty()) throw RunError(fmt::format("{}", fmt::join(failures, "\n")));
    return 0;
  }

 private:
  void check_run_names(const std::vector<ScenarioFile>& files) const {
    std::vector<std::string> names;
    for (const ScenarioFile& file : files)
      for (const RunSection& section : file.scenario.runs) names.push_back(section.name);
    for (const std::string& name : only_)
      if (std::ranges::find(names, name) == names.end())
        throw InputError(Diagnostic{
            "--run", 0, 0,
            fmt::format("unknown run '{}'{}; there are {}", name, did_you_mean(name, names), fmt::join(names, ", "))});
  }

  /// One run that fails leaves the others: a sweep goes on, and says at its end what failed.
  void run_scenario(const ScenarioFile& file, Json& summaries, std::vector<std::string>& failures) const {
    const auto latency = make_latency_model(file.scenario.latency_model);
    for (const RunSection& section : file.scenario.runs) {
      if (!only_.empty() && std::ranges::find(only_, section.name) == only_.end()) continue;
      try {
        run_section(file, section, *latency, summaries);
      } catch (const RunError& failure) {
        failures.push_back(fmt::format("{} / {}: {}", file.scenario.name, section.name, failure.what()));
      }
    }
  }

  void run_section(const ScenarioFile& file, const RunSection& section, const LatencyModel& latency,
                   Json& summaries) const {
    if (!section.tenants.empty()) return run_tenants(file, section, latency, summaries);
    if (section.jobs) return run_jobs_of(file, section, latency, summaries);
    const RunSpec spec = resolve(file.scenario, section);
    const RunResult result = [&] {
      const Progress progress(fmt::format("simulating {} / {}", spec.scenario, spec.name));
      return tessera::run(spec, latency);
    }();
    std::optional<ReliabilitySummary> reliability;
    if (section.reliability)
      reliability = study_reliability(spec, *section.reliability, result.trace.makespan,
                                      static_cast<std::uint64_t>(file.scenario.seed));
    report(file, spec, result, reliability, summaries);
  }

  void run_jobs_of(const ScenarioFile& file, const RunSection& section, const LatencyModel& latency,
                   Json& summaries) const {
    const JobsSummary summary = [&] {
      const Progress progress(fmt::format("simulating {} / {}", file.scenario.name, section.name));
      return run_job_mix(resolve_jobs(file.scenario, section), latency);
    }();
    const auto folder = folder_of(summary.scenario, summary.run);
    const Manifest manifest{summary.scenario, summary.run, file.scenario.seed, as_json(file.document.root),
                            input_hashes(file, section)};
    PackingText timeline(kPlainTimeline);
    jobs_trace(summary, timeline);
    const auto written = write_folder(folder,
                                      {{"summary.json", jobs_json(summary).dump() + "\n"},
                                       {"jobs.csv", jobs_csv(summary)},
                                       {"timeline.svg", jobs_svg(summary)}},
                                      std::move(timeline), manifest);
    if (json_) return summaries.push(jobs_json(summary));
    fmt::print("{}Files in {}: {}\n\n", jobs_text(summary), folder.string(), fmt::join(written, ", "));
    std::fflush(stdout);
  }

  [[nodiscard]] std::filesystem::path folder_of(const std::string& scenario, const std::string& run) const {
    return (out_.empty() ? std::filesystem::path("results") / scenario : std::filesystem::path(out_)) / run;
  }

  void run_tenants(const ScenarioFile& file, const RunSection& section, const LatencyModel& latency,
                   Json& summaries) const {
    const SharedRunSpec spec = resolve_tenants(file.scenario, section, latency);
    const std::vector<SharedResult> results = [&] {
      const Progress progress(fmt::format("simulating {} / {}", spec.scenario, spec.name));
      return run_shared(spec);
    }();
    const Manifest manifest{spec.scenario, spec.name, file.scenario.seed, as_json(file.document.root),
                            input_hashes(file, section)};
    for (std::size_t i = 0; i < results.size(); ++i) {
      auto folder = folder_of(spec.scenario, spec.name);
      if (results.size() > 1) folder /= fmt::format("device{}", results[i].summary.device);
      PackingText timeline(kPlainTimeline);
      tenants_trace(spec.gpus[i].tenants, kernel_names(spec.gpus[i]), results[i].timeline, timeline);
      const auto written = write_folder(folder, tenant_files(spec.gpus[i], results[i]), std::move(timeline), manifest);
      if (json_) {
        summaries.push(sharing_json(results[i].summary));
        continue;
      }
      fmt::print("{}Files in {}: {}\n\n", sharing_text(results[i].summary), folder.string(), fmt::join(written, ", "));
      std::fflush(stdout);
    }
  }

  void report(const ScenarioFile& file, const RunSpec& spec, const RunResult& result,
              const std::optional<ReliabilitySummary>& reliability, Json& summaries) const {
    const auto folder = folder_of(spec.scenario, spec.name);
    const Manifest manifest{spec.scenario, spec.name, file.scenario.seed, as_json(file.document.root),
                            input_hashes(file, spec)};
    auto written = write_outputs(folder, result.summary, result.plan, result.costs, result.trace, manifest);
    if (reliability) {
      write_file(folder / "reliability.json", reliability_json(*reliability).dump() + "\n");
      written.emplace_back("reliability.json");
    }
    if (json_) {
      Json summary = summary_json(result.summary);
      if (reliability) summary["reliability"] = reliability_json(*reliability);
      return summaries.push(std::move(summary));
    }
    fmt::print("{}{}{}Files in {}: {}\n\n", text_report(result.summary),
               reliability ? reliability_text(*reliability) : "", explain_ ? "\n" + explain_text(result.summary) : "",
               folder.string(), fmt::join(written, ", "));
    std::fflush(stdout);  // before the next run forks: SimGrid flushes what the child inherited
  }

  std::vector<std::string> scenarios_, only_, settings_;
  std::string out_;
  bool json_ = false, explain_ = false;
};

}  // namespace

std::unique_ptr<Command> make_simulate(CLI::App& app) {
  return std::make_unique<Simulate>(app);
}

}  // namespace tessera
