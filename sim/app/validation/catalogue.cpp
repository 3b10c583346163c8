#include "sim/app/validation/catalogue.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace tessera {

template <class T>
const T* Catalogue::find(Entries<T>& entries, T (*read)(std::string_view), RowReader& row, std::string_view column) {
  const std::string_view name = row.need(column);
  if (name.empty()) return nullptr;
  auto at = entries.find(name);
  if (at == entries.end()) {
    Entry<T> entry;
    try {
      entry.value = read(name);
    } catch (const InputError& error) {
      entry.mistakes = error.diagnostics();
    }
    at = entries.emplace(std::string(name), std::move(entry)).first;
  }
  if (!at->second.value) {
    for (const Diagnostic& mistake : at->second.mistakes) {
      if (mistake.line > 0) {
        row.mistake(mistake);
      } else {
        row.mistake(column, mistake.file.empty() ? mistake.message : mistake.file + ": " + mistake.message);
      }
    }
    return nullptr;
  }
  return &*at->second.value;
}

const GpuSpec* Catalogue::gpu(RowReader& row) {
  return find(gpus_, &find_gpu, row, "gpu");
}

const ModelConfig* Catalogue::model(RowReader& row) {
  return find(models_, &find_model, row, "model");
}

const ClusterSpec* Catalogue::platform(RowReader& row) {
  return find<ClusterSpec>(
      platforms_, [](std::string_view name) { return find_cluster(name); }, row, "platform");
}

bool Catalogue::has_gpu(std::string_view name) const {
  const auto alone = [&](const auto& entry) { return entry.second.value && entry.second.value->name == name; };
  const auto inside = [&](const auto& entry) { return entry.second.value && entry.second.value->gpu.name == name; };
  return std::ranges::any_of(gpus_, alone) || std::ranges::any_of(platforms_, inside);
}

}  // namespace tessera
