#include "models/collectives/parameters.hpp"

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/paths.hpp"

namespace tessera {

namespace {

constexpr std::array<std::string_view, kCollectiveConstants> kNames{"start_kcycles",
                                                                    "hop_ll_kcycles",
                                                                    "hop_ll128_kcycles",
                                                                    "hop_simple_kcycles",
                                                                    "start_ll128_kcycles",
                                                                    "start_simple_kcycles",
                                                                    "share_ll_ratio",
                                                                    "share_ll128_ratio",
                                                                    "switched_ratio",
                                                                    "direct_ratio",
                                                                    "pcie_ratio",
                                                                    "local_copy_bytes_per_clock_and_sm",
                                                                    "pair_start_kcycles",
                                                                    "pair_peer_kcycles",
                                                                    "pair_start_simple_kcycles",
                                                                    "pair_share_ll_ratio",
                                                                    "pair_switched_ratio",
                                                                    "pair_copy_bytes_per_clock_and_sm",
                                                                    "nvls_start_kcycles",
                                                                    "nvls_ratio",
                                                                    "net_start_ratio",
                                                                    "net_ratio"};

constexpr double kLargest = 1e6, kWidestBar = 10;  // far above any fit: beyond, a file is damaged

Json constants_json(const CollectiveConstants& constants) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kCollectiveConstants; ++i) json[kNames[i]] = constants.values[i];
  return json;
}

CollectiveConstants constants_from(const Json& json) {
  CollectiveConstants constants;
  for (std::size_t i = 0; i < kCollectiveConstants; ++i) {
    constants.values[i] = json.at(kNames[i]).number();
    if (!(constants.values[i] > 0)) throw RunError(fmt::format("{} must be more than 0", kNames[i]));
    if (!(constants.values[i] <= kLargest))
      throw RunError(fmt::format("{} is {:g}, expected at most {:g}", kNames[i], constants.values[i], kLargest));
  }
  return constants;
}

Json bar_json(const CollectiveBar& bar) {
  return Json(Json::Object{{"p10_log", bar.p10}, {"p90_log", bar.p90}});
}

CollectiveBar bar_from(const Json& json) {
  const CollectiveBar bar{json.at("p10_log").number(), json.at("p90_log").number()};
  if (-kWidestBar <= bar.p10 && bar.p10 <= bar.p90 && bar.p90 <= kWidestBar) return bar;
  throw RunError(fmt::format("an error bar from e^{:g} to e^{:g} is none", bar.p10, bar.p90));
}

}  // namespace

std::string_view name_of(CollectiveConstant constant) {
  return kNames[static_cast<std::size_t>(constant)];
}

CollectiveConstants initial_constants() {
  return {{10, 1, 2, 5, 1, 25, 0.15, 0.5, 0.95, 0.9, 0.3, 3.3, 15, 0.5, 15, 0.2, 1, 2, 50, 0.75, 1, 0.85}};
}

const CollectiveConstants& CollectiveParameters::of(const std::string& machine_class) const {
  const auto found = classes.find(machine_class);
  return found == classes.end() ? pooled : found->second;
}

const CollectiveBar& CollectiveParameters::bar_of(const std::string& machine_class) const {
  return classes.contains(machine_class) ? seen : unseen;
}

std::string machine_class(const ClusterSpec& cluster) {
  const std::string generation = cluster.gpu.architecture.substr(0, cluster.gpu.architecture.find(' '));
  return fmt::format("{} {}", generation, enum_names(cluster.node.intra)[static_cast<std::size_t>(cluster.node.intra)]);
}

Json to_json(const CollectiveParameters& parameters) {
  Json classes = Json::object();
  for (const auto& [name, constants] : parameters.classes) classes[name] = constants_json(constants);
  return Json(Json::Object{{"pooled", constants_json(parameters.pooled)},
                           {"classes", std::move(classes)},
                           {"unseen", bar_json(parameters.unseen)},
                           {"seen", bar_json(parameters.seen)}});
}

CollectiveParameters collective_parameters_from(const Json& json) {
  CollectiveParameters parameters;
  parameters.pooled = constants_from(json.at("pooled"));
  for (const auto& [name, constants] : json.at("classes").fields())
    parameters.classes.emplace(name, constants_from(constants));
  parameters.unseen = bar_from(json.at("unseen"));
  parameters.seen = bar_from(json.at("seen"));
  return parameters;
}

CollectiveParameters load_collective_parameters(const std::filesystem::path& weights) {
  const std::filesystem::path folder = weights.empty() ? home() / "calibration" / "weights" : weights;
  const std::filesystem::path file = folder / kCollectiveWeightsFile;
  const Json json = read_json(file);
  try {
    return collective_parameters_from(json);
  } catch (const RunError& damaged) {
    throw InputError(Diagnostic{.file = file.string(), .message = damaged.what()});
  }
}

}  // namespace tessera
