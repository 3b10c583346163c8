#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "sim/app/megatron_arguments.hpp"
#include "sim/app/verbs.hpp"
#include "sim/base/file.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/config/json.hpp"

namespace tessera {
namespace {

class Import final : public Command {
 public:
  explicit Import(CLI::App& app) {
    app.add_option("ARGUMENTS", arguments_, "a file with Megatron-LM's options: a launch script, or they alone")
        ->required();
    app.add_option("--cluster", cluster_, "what it runs on (`tessera list platforms`)")->required();
    app.add_option("--out", out_, "folder for scenario.yaml and model.json")->required();
    app.add_flag("--json", json_, "print what was written as JSON");
  }

  int run() override {
    (void)find_cluster(cluster_);
    const ImportedScenario imported = read_megatron_arguments(arguments_, cluster_);
    const std::filesystem::path folder(out_);
    write_file(folder / "model.json", imported.model);
    write_file(folder / "scenario.yaml", imported.scenario);
    if (json_) {
      Json ignored = Json::array();
      for (const std::string& name : imported.ignored) ignored.push(Json(name));
      fmt::print("{}\n", Json(Json::Object{{"scenario", (folder / "scenario.yaml").string()},
                                           {"model", (folder / "model.json").string()},
                                           {"ignored", std::move(ignored)}})
                             .dump());
      return 0;
    }
    fmt::print("{} and model.json written\n", (folder / "scenario.yaml").string());
    if (!imported.ignored.empty())
      fmt::print("Options without a meaning here: {}\n", fmt::join(imported.ignored, ", "));
    return 0;
  }

 private:
  std::string arguments_, cluster_, out_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_import(CLI::App& app) {
  return std::make_unique<Import>(app);
}

}  // namespace tessera
