// GPUs, models and platforms that rows name, each read once.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/app/validation/row_reader.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/graph/model_config.hpp"

namespace tessera {

/// Names that do not exist become mistakes at the row's cell, those inside a description keep their position; the
/// answer is then null.
class Catalogue {
 public:
  const GpuSpec* gpu(RowReader& row);
  const ModelConfig* model(RowReader& row);
  const ClusterSpec* platform(RowReader& row);
  /// Whether some row asked for it, alone or in a platform.
  [[nodiscard]] bool has_gpu(std::string_view name) const;

 private:
  template <class T>
  struct Entry {
    std::optional<T> value;
    std::vector<Diagnostic> mistakes;
  };
  template <class T>
  using Entries = std::map<std::string, Entry<T>, std::less<>>;
  template <class T>
  static const T* find(Entries<T>& entries, T (*read)(std::string_view), RowReader& row, std::string_view column);

  Entries<GpuSpec> gpus_;
  Entries<ModelConfig> models_;
  Entries<ClusterSpec> platforms_;
};

}  // namespace tessera
