#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/base/paths.hpp"
#include "sim/base/text.hpp"
#include "sim/graph/model_config.hpp"

namespace tessera {

namespace {

std::filesystem::path models_folder() {
  return home() / "scenarios" / "models";
}

}  // namespace

std::vector<std::string> builtin_models() {
  std::vector<std::string> names;
  std::error_code missing;  // no folder, no models: `find_model` then says what it looked for
  for (const auto& entry : std::filesystem::directory_iterator(models_folder(), missing)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

ModelConfig find_model(std::string_view model) {
  const std::filesystem::path path(model);
  if (path.extension() == ".json") return read_model_config(path);
  const std::vector<std::string> names = builtin_models();
  auto found = std::find(names.begin(), names.end(), model);
  if (found == names.end()) {
    const std::string wanted = normalise(model);
    found =
        std::find_if(names.begin(), names.end(), [&](const std::string& name) { return normalise(name) == wanted; });
  }
  if (found != names.end()) return read_model_config(models_folder() / (*found + ".json"));
  throw InputError(
      Diagnostic{.message = fmt::format(
                     "unknown model '{}'{}; expected a name that `list models` shows or a path to a config.json", model,
                     did_you_mean(model, names))});
}

}  // namespace tessera
