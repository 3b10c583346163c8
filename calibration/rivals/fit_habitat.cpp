// Habitat's nets for matrix products (relative error as loss), and the vector kernels of its two origins.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calibration/neusight.hpp"
#include "calibration/rivals/fit_rivals.hpp"
#include "calibration/rivals/rows.hpp"
#include "models/neusight/habitat.hpp"
#include "models/neusight/relu_net.hpp"
#include "sim/base/file.hpp"
#include "sim/config/json.hpp"

namespace tessera {

namespace {

using neusight::Kind;

// The artifact's Habitat nets: the same size as NeuSight's, for both classes one rate and batch.
constexpr double kRate = 5e-5;
constexpr int kBatch = 128;

ReluTraining training_of(const std::vector<RivalRow>& rows, const neusight::Scale& scale,
                         std::span<const std::array<double, neusight::kHabitatInputs>> features) {
  ReluTraining data;
  data.samples = rows.size();
  for (const auto& raw : features) neusight::standardise(raw, scale, data.x);
  const auto relative = [&rows](std::size_t i, float out) { return out / rows[i].time.value() - 1; };
  data.error = [relative](std::size_t i, std::span<const float> out) { return std::abs(relative(i, out[0])); };
  data.loss = [relative, &rows](std::size_t i, std::span<const float> out, std::span<float> slope) {
    const double error = relative(i, out[0]);
    slope[0] = static_cast<float>(std::copysign(1 / rows[i].time.value(), error));
    return std::abs(error);
  };
  return data;
}

Json array_of(const std::array<double, neusight::kHabitatInputs>& values) {
  Json array = Json::array();
  for (double value : values) array.push(value);
  return array;
}

Json record_of(const RivalFit& options, std::string_view net, const EpochReport& best, int epochs_run, std::size_t rows,
               const neusight::Scale& scale) {
  Json json = Json::object();
  json["net"] = net;
  json["command"] = fmt::format("tessera calibrate --model habitat --net {} --epochs {} --seed {}", net, options.epochs,
                                options.seed);
  json["rows"] = rows;
  json["epoch"] = best.epoch;
  json["epochs_run"] = epochs_run;
  json["validation_error_percent"] = 100 * best.error;
  json["mean"] = array_of(scale.mean);
  json["deviation"] = array_of(scale.deviation);
  return json;
}

void fit_net(const RivalFit& options, Kind kind) {
  const std::string name(neusight::kNetNames[static_cast<std::size_t>(kind)]);
  const std::vector<RivalRow> rows = read_rival_rows(options.data, kind, options.leave_out);
  std::vector<std::array<double, neusight::kHabitatInputs>> features;
  features.reserve(rows.size());
  for (const RivalRow& row : rows) {
    features.push_back(habitat_features(row.kernel.operation, neusight::numbers_of(find_gpu(row.kernel.gpu))));
  }
  const neusight::Scale scale = neusight::scale_of(features);
  const ReluOptions how{.epochs = options.epochs, .batch = kBatch, .rate = kRate, .seed = options.seed};
  const ReluNet start(paper_widths(neusight::kHabitatInputs, 1), how.seed);
  EpochReport best;
  train_relu(start, training_of(rows, scale, features), how, [&](const EpochReport& report, const ReluNet& net) {
    options.progress(fmt::format("habitat {} epoch {} of {}: validation error {:.2f} %", name, report.epoch, how.epochs,
                                 100 * report.error));
    if (report.best) {
      best = report;
      write_net(options.out / (name + ".net"), net);
    }
    write_file(options.out / (name + ".json"),
               record_of(options, name, best, report.epoch, rows.size(), scale).dump() + "\n");
  });
}

void keep_origins(const RivalFit& options) {
  const Dataset data = read_neusight_vector(options.data);
  std::vector<neusight::OriginRow> rows;
  for (const Sample& sample : data.samples) {
    const std::string& gpu = data.gpus[sample.gpu];
    if (gpu != neusight::kOrigin && gpu != neusight::kSecondOrigin) continue;
    const auto& shape = std::get<VectorShape>(sample.kernel.shape);
    rows.push_back({gpu, neusight::vector_operation(sample.kernel.op, shape.rows, shape.h), sample.time});
  }
  neusight::write_origins(options.out / "vectors.csv.gz", rows);
}

}  // namespace

void fit_habitat(const RivalFit& options) {
  keep_origins(options);
  for (const Kind kind : {Kind::linear, Kind::bmm}) {
    const std::string_view name = neusight::kNetNames[static_cast<std::size_t>(kind)];
    if (options.nets.empty() || std::ranges::find(options.nets, name) != options.nets.end()) fit_net(options, kind);
  }
}

}  // namespace tessera
