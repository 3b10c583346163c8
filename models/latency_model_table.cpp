#include <fmt/ranges.h>
#include <array>

#include "models/models.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {

std::string_view to_string(Timing timing) {
  return timing == Timing::eager ? "eager" : "graph";
}

std::span<const LatencyModelEntry> latency_models() {
  static constexpr std::array kModels{
      LatencyModelEntry{"habitat", "Habitat's scheme: networks on raw shapes, other kernels scaled by bandwidth; fp32",
                        make_habitat},
      LatencyModelEntry{"li", "a line per GPU and operator class (Li et al.); fp32", make_li},
      LatencyModelEntry{"neusight", "NeuSight (ASPLOS 2025) rebuilt; fp32; fit it first", make_neusight},
      LatencyModelEntry{"roofline", "work or bytes over the sustained rates; nothing fitted", make_roofline},
      LatencyModelEntry{"tile", "tiles and waves, corrected by small networks fitted on measured kernels",
                        make_tile_model},
  };
  return kModels;
}

std::unique_ptr<LatencyModel> make_latency_model(std::string_view name, const std::filesystem::path& weights) {
  std::vector<std::string> names;
  for (const LatencyModelEntry& entry : latency_models()) {
    if (entry.name == name) return entry.make(weights);
    names.emplace_back(entry.name);
  }
  throw InputError(Diagnostic{.message = fmt::format("unknown latency model '{}'{}; there are: {}", name,
                                                     did_you_mean(name, names), fmt::join(names, ", "))});
}

}  // namespace tessera
