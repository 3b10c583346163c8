#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "sim/app/jobs/jobs_run.hpp"
#include "sim/app/memory_complaint.hpp"
#include "sim/app/scenario.hpp"
#include "sim/app/verbs.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/config/json.hpp"

namespace tessera {
namespace {

class Check final : public Command {
 public:
  explicit Check(CLI::App& app) {
    app.add_option("SCENARIO", scenarios_, "scenario files");
    app.add_option("--set", settings_, "change a key first: --set runs.train.parallel.tp=4")->allow_extra_args(false);
    app.add_flag("--reference", reference_, "print every key that a scenario may have, as Markdown");
    app.add_flag("--json", json_, "print the runs as JSON");
  }

  int run() override {
    if (reference_) fmt::print("{}", scenario_reference());
    if (scenarios_.empty() && !reference_)
      throw InputError(Diagnostic{"", 0, 0, "check: give a scenario file or --reference"});
    Json list = Json::array();
    bool all_fit = true;
    for (const ScenarioFile& file : read_scenarios(scenarios_, settings_)) {
      const auto latency = make_latency_model(file.scenario.latency_model);
      for (const RunSection& section : file.scenario.runs) {
        if (!section.tenants.empty()) {
          if (!describe_tenants(file, resolve_tenants(file.scenario, section, *latency), list)) all_fit = false;
          continue;
        }
        if (section.jobs) {
          describe_jobs(file, resolve_jobs(file.scenario, section), list);
          continue;
        }
        if (!describe_run(file, chosen(resolve(file.scenario, section), *latency), list)) all_fit = false;
      }
    }
    if (json_) fmt::print("{}\n", Json(Json::Object{{"runs", std::move(list)}}).dump());
    return all_fit ? 0 : 1;
  }

 private:
  /// False if the run does not fit into its GPUs' memory: simulating it would fail.
  bool describe_run(const ScenarioFile& file, const RunSpec& spec, Json& list) const {
    const MemoryFootprint footprint =
        memory_footprint(spec.model, spec.build, build_graph(spec.model, spec.build), spec.parallel);
    const Bytes memory = footprint.total();
    const bool fits = memory <= spec.cluster.gpu.memory;
    if (json_) {
      list.push(Json(Json::Object{{"scenario", spec.scenario},
                                  {"run", spec.name},
                                  {"model", spec.model.name},
                                  {"platform", spec.cluster.name},
                                  {"gpus", spec.parallel.world_size()},
                                  {"memory_per_gpu_bytes", memory.value()},
                                  {"capacity_bytes", spec.cluster.gpu.memory.value()},
                                  {"fits", fits}}));
      return fits;
    }
    fmt::print("{}: {}: {} on {} x {}, {} of {} per GPU{}\n", file.path.string(), spec.name, spec.model.name,
               spec.parallel.world_size(), spec.cluster.gpu.name, format(memory), format(spec.cluster.gpu.memory),
               fits ? "" : ": does not fit");
    if (!fits) fmt::print("{}\n", memory_complaint(spec, footprint));
    return fits;
  }

  void describe_jobs(const ScenarioFile& file, const JobsRunSpec& spec, Json& list) const {
    if (json_)
      list.push(Json(Json::Object{{"scenario", spec.scenario},
                                  {"run", spec.name},
                                  {"platform", spec.cluster.name},
                                  {"gpus", spec.cluster.gpus()},
                                  {"jobs", spec.jobs.size()}}));
    else
      fmt::print("{}: {}: {} jobs on {} x {}\n", file.path.string(), spec.name, spec.jobs.size(), spec.cluster.gpus(),
                 spec.cluster.gpu.name);
  }

  /// The same of tenants, one line per GPU.
  bool describe_tenants(const ScenarioFile& file, const SharedRunSpec& spec, Json& list) const {
    bool all_fit = true;
    for (const GpuTenants& shared : spec.gpus) {
      Bytes memory;
      for (const TenantWorkload& workload : shared.workloads) memory += workload.memory;
      const bool fits = memory <= shared.gpu.memory;
      all_fit = all_fit && fits;
      if (json_)
        list.push(Json(Json::Object{{"scenario", spec.scenario},
                                    {"run", spec.name},
                                    {"gpu", shared.gpu.name},
                                    {"device", shared.device},
                                    {"tenants", shared.tenants.size()},
                                    {"memory_bytes", memory.value()},
                                    {"capacity_bytes", shared.gpu.memory.value()},
                                    {"fits", fits}}));
      else
        fmt::print("{}: {}: {} tenants on {}, {} of {}{}\n", file.path.string(), spec.name, shared.tenants.size(),
                   shared.gpu.name, format(memory), format(shared.gpu.memory), fits ? "" : ": do not fit");
    }
    return all_fit;
  }

  std::vector<std::string> scenarios_, settings_;
  bool reference_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_check(CLI::App& app) {
  return std::make_unique<Check>(app);
}

}  // namespace tessera
