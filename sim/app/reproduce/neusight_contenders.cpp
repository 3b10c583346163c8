// Who takes part in NeuSight's experiments.
#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/app/reproduce/neusight_experiments.hpp"
#include "sim/app/reproduce/neusight_protocols.hpp"
#include "sim/base/error.hpp"
#include "sim/base/paths.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// Models whose networks are too large to keep.
struct Rebuilt {
  std::string_view model, title;
  std::unique_ptr<neusight::RivalModel> (*open)(const fs::path& weights);
  std::array<std::string_view, neusight::kNets> nets;
};
constexpr std::array kRebuilt{Rebuilt{"neusight", "NeuSight rebuilt", neusight::open_neusight, neusight::kNetNames},
                              Rebuilt{"habitat", "Habitat rebuilt", neusight::open_habitat, {"bmm", "linear"}}};

/// The records that `calibrate` writes beside the networks.
Json fits_in(const fs::path& folder, const Rebuilt& rebuilt) {
  Json fits = Json::array();
  for (const std::string_view net : rebuilt.nets) {
    const fs::path file = folder / (std::string(net) + ".json");
    if (!net.empty() && fs::exists(file)) fits.push(read_json(file));
  }
  return fits;
}

void add_kept(const Rebuilt& rebuilt, KeptModel& kept, Contenders& all) {
  const fs::path file = home() / "results" / kept.file;
  const fs::path predictions = file.string() + ".csv.gz", fits = file.string() + ".json";
  if (!fs::exists(predictions)) {
    all.missing.push_back(fmt::format("{}: no weights; `tessera calibrate --model {} --data DIR` fits them",
                                      rebuilt.title, rebuilt.model));
    return;
  }
  kept.predictions = read_kept(predictions);
  if (fs::exists(fits)) kept.fits = read_json(fits);
  all.list.push_back({std::string(rebuilt.title), answering(kept.predictions)});
}

void add_rebuilt(const Rebuilt& rebuilt, const fs::path& folder, Contenders& all) {
  KeptModel& kept = *all.kept.emplace_back(std::make_unique<KeptModel>());
  kept.file = fmt::format("{}_rebuilt", rebuilt.model);
  try {
    auto model = rebuilt.open(folder / rebuilt.model);
    kept.fresh = true;
    kept.fits = fits_in(folder / rebuilt.model, rebuilt);
    all.list.push_back({std::string(rebuilt.title), recording(std::move(model), kept.predictions)});
  } catch (const InputError&) {
    add_kept(rebuilt, kept, all);
  }
}

}  // namespace

Contenders contenders(const ReproduceOptions& options) {
  const fs::path folder = options.weights.empty() ? home() / "calibration" / "rivals" : options.weights;
  Contenders all;
  all.list.push_back({"Tessera", make_latency_model()});
  if (options.refit) {
    for (Contender& refit : protocol_contenders(options)) all.list.push_back(std::move(refit));
  }
  for (const Rebuilt& rebuilt : kRebuilt) add_rebuilt(rebuilt, folder, all);
  all.list.push_back({"Li rebuilt", make_latency_model("li")});
  all.list.push_back({"roofline", make_latency_model("roofline")});
  return all;
}

}  // namespace tessera
