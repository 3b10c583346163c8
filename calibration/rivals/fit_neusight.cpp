// NeuSight's own recipe: a net per operator class, SMAPE on seconds, AdamW at the paper's rates and batches.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "calibration/rivals/fit_rivals.hpp"
#include "calibration/rivals/rows.hpp"
#include "models/neusight/relu_net.hpp"
#include "sim/base/file.hpp"
#include "sim/config/json.hpp"

namespace tessera {

namespace {

using neusight::GpuNumbers;
using neusight::Kind;
using neusight::kNetNames;
using neusight::Tiling;

struct PaperRecipe {
  Kind net;
  double rate;
  int batch;
};
/// The rates and batches of NVIDIA's nets, in the order of Kind.
constexpr std::array kRecipes{PaperRecipe{Kind::bmm, 1e-5, 128}, PaperRecipe{Kind::linear, 5e-3, 128},
                              PaperRecipe{Kind::elementwise, 5e-4, 64}, PaperRecipe{Kind::softmax, 1e-6, 16},
                              PaperRecipe{Kind::layernorm, 1e-6, 16}};

/// Rows as the law sees them.
struct LawRows {
  std::vector<Tiling> tilings;
  std::vector<Seconds> ideal, measured;
};

LawRows law_rows(const std::vector<RivalRow>& rows) {
  std::map<std::string, GpuNumbers> gpus;
  LawRows out;
  for (const RivalRow& row : rows) {
    const std::string& gpu = row.kernel.gpu;
    if (!gpus.contains(gpu)) gpus[gpu] = neusight::numbers_of(find_gpu(gpu));
    out.tilings.push_back(neusight::tile_up(row.kernel.operation, row.kernel.tile, gpus[gpu]));
    out.ideal.push_back(neusight::ideal_time(out.tilings.back(), gpus[gpu]));
    out.measured.push_back(row.time);
  }
  return out;
}

ReluTraining training_of(const LawRows& rows) {
  ReluTraining data;
  data.samples = rows.tilings.size();
  for (const Tiling& tiling : rows.tilings) data.x.insert(data.x.end(), tiling.inputs.begin(), tiling.inputs.end());
  data.loss = [&rows](std::size_t i, std::span<const float> out, std::span<float> slope) {
    return neusight::smape(rows.measured[i], rows.ideal[i], rows.tilings[i].waves, out, slope);
  };
  data.error = [&rows](std::size_t i, std::span<const float> out) {
    const double u = neusight::utilisation(out, rows.tilings[i].waves);
    const Seconds time = u > 0 ? rows.ideal[i] / u : Seconds(0);
    return std::abs(time / rows.measured[i] - 1);
  };
  return data;
}

Json record_of(const RivalFit& options, std::string_view net, const EpochReport& best, int epochs_run,
               std::size_t rows) {
  Json json = Json::object();
  json["net"] = net;
  json["command"] = fmt::format("tessera calibrate --model neusight --net {} --epochs {} --seed {}", net,
                                options.epochs, options.seed);
  json["data"] = "NeuSight's artifact, commit 6945927 (MIT): rows that NeuSight trains on";
  Json left_out = Json::array();
  for (const std::string& gpu : options.leave_out) left_out.push(gpu);
  json["left_out"] = std::move(left_out);
  json["rows"] = rows;
  json["epoch"] = best.epoch;
  json["epochs_run"] = epochs_run;
  json["validation_error_percent"] = 100 * best.error;
  return json;
}

void fit_net(const RivalFit& options, const PaperRecipe& recipe) {
  const std::string name(kNetNames[static_cast<std::size_t>(recipe.net)]);
  const std::vector<RivalRow> rows = read_rival_rows(options.data, recipe.net, options.leave_out);
  std::vector<neusight::TileRow> tiles;
  tiles.reserve(rows.size());
  for (const RivalRow& row : rows) tiles.push_back(row.kernel);
  neusight::write_tiles(options.out / (name + "-tiles.csv.gz"), tiles);
  const LawRows law = law_rows(rows);
  const ReluOptions how{.epochs = options.epochs, .batch = recipe.batch, .rate = recipe.rate, .seed = options.seed};
  const ReluNet start(paper_widths(neusight::kLawInputs, neusight::kLawOutputs), how.seed);
  EpochReport best;
  train_relu(start, training_of(law), how, [&](const EpochReport& report, const ReluNet& net) {
    options.progress(fmt::format("{} epoch {} of {}: loss {:.4f}, validation error {:.2f} %", name, report.epoch,
                                 how.epochs, report.loss, 100 * report.error));
    if (report.best) {
      best = report;
      write_net(options.out / (name + ".net"), net);
    }
    write_file(options.out / (name + ".json"), record_of(options, name, best, report.epoch, rows.size()).dump() + "\n");
  });
}

}  // namespace

void fit_neusight(const RivalFit& options) {
  for (const PaperRecipe& recipe : kRecipes) {
    const std::string_view name = kNetNames[static_cast<std::size_t>(recipe.net)];
    if (options.nets.empty() || std::ranges::find(options.nets, name) != options.nets.end()) fit_net(options, recipe);
  }
}

}  // namespace tessera
