// The published measurements of NeuSight, as tables of the `validate` contract.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/csv.hpp"

namespace tessera {

/// The files of the repackaged artifact: `e2e_labels.csv`, `model_ops.csv.gz`, and a .csv.gz per class of kernel.
class NeuSightData {
 public:
  /// `folder` itself or its subfolder `neusight`. InputError naming every file that is missing, and, where the folder
  /// is a checkout of the artifact's own repository, that it must be repackaged first.
  explicit NeuSightData(const std::filesystem::path& folder);

  /// Rows of split=test of bmm, linear, elementwise, softmax or layernorm, with columns gpu, dtype, op, dims, timing,
  /// latency_ms. Rows of GPUs without a data sheet are left out; see unknown_gpus().
  CsvTable kernels(std::string_view file);
  /// e2e_labels with columns platform, timing and attention added.
  CsvTable models();
  [[nodiscard]] CsvTable operators() const;
  /// False: no data sheet; the name is remembered.
  bool known(std::string_view gpu);
  /// Names that occurred in the data and have no data sheet, each once.
  [[nodiscard]] const std::vector<std::string>& unknown_gpus() const { return unknown_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> known_, unknown_;
};

inline constexpr std::string_view kNeuSightKernelFiles[] = {"bmm", "linear", "elementwise", "softmax", "layernorm"};

/// One of the five NVIDIA GPUs that NeuSight was trained on.
bool seen_by_neusight(std::string_view gpu);

}  // namespace tessera
