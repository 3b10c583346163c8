#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

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
    for (const std::string& path : scenarios_) {
      const ScenarioFile file = read_scenario(path, settings_);
      for (const RunSection& section : file.scenario.runs) describe_run(file, resolve(file.scenario, section), list);
    }
    if (json_) fmt::print("{}\n", Json(Json::Object{{"runs", std::move(list)}}).dump());
    return 0;
  }

 private:
  void describe_run(const ScenarioFile& file, const RunSpec& spec, Json& list) const {
    const Bytes memory =
        memory_footprint(spec.model, spec.build, build_graph(spec.model, spec.build), spec.parallel).total();
    const bool fits = memory <= spec.cluster.gpu.memory;
    if (json_)
      return list.push(Json(Json::Object{{"scenario", spec.scenario},
                                         {"run", spec.name},
                                         {"model", spec.model.name},
                                         {"platform", spec.cluster.name},
                                         {"gpus", spec.parallel.world_size()},
                                         {"memory_per_gpu_bytes", memory.value()},
                                         {"capacity_bytes", spec.cluster.gpu.memory.value()},
                                         {"fits", fits}}));
    fmt::print("{}: {}: {} on {} x {}, {} of {} per GPU{}\n", file.path.string(), spec.name, spec.model.name,
               spec.parallel.world_size(), spec.cluster.gpu.name, format(memory), format(spec.cluster.gpu.memory),
               fits ? "" : ": does not fit");
  }

  std::vector<std::string> scenarios_, settings_;
  bool reference_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_check(CLI::App& app) {
  return std::make_unique<Check>(app);
}

}  // namespace tessera
