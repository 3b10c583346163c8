#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "calibration/rivals/fit_rivals.hpp"
#include "models/neusight/operation.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {

std::span<const Rival> rivals() {
  static constexpr std::array kRivals{
      Rival{"habitat", "nets for matrix products, other kernels scaled by bandwidth", fit_habitat},
      Rival{"li", "a line per GPU and operator class", fit_li},
      Rival{"neusight", "NeuSight's five nets and its tile table", fit_neusight},
  };
  return kRivals;
}

void fit_rival(std::string_view model, const RivalFit& options) {
  for (const std::string& wanted : options.nets) {
    if (std::ranges::find(neusight::kNetNames, wanted) != neusight::kNetNames.end()) continue;
    const std::vector<std::string> names(neusight::kNetNames.begin(), neusight::kNetNames.end());
    throw InputError(Diagnostic{.file = "--net",
                                .message = fmt::format("no net '{}'{}; there are {}", wanted,
                                                       did_you_mean(wanted, names), fmt::join(names, ", "))});
  }
  if (options.epochs < 1) throw InputError(Diagnostic{.file = "--epochs", .message = "expected at least 1"});
  std::vector<std::string> names{"tile"};
  for (const Rival& rival : rivals()) {
    if (rival.name == model) return rival.fit(options);
    names.emplace_back(rival.name);
  }
  throw InputError(Diagnostic{.file = "--model",
                              .message = fmt::format("no fitted model '{}'{}; there are {}", model,
                                                     did_you_mean(model, names), fmt::join(names, ", "))});
}

}  // namespace tessera
