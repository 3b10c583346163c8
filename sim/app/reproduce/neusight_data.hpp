// The published measurements of NeuSight, as tables of the `validate` contract.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/csv.hpp"

namespace tessera {

/// The repackaged artifact (`e2e_labels.csv`, `model_ops.csv.gz`, a .csv.gz per class of kernel), or a checkout of its
/// own repository.
class NeuSightData {
 public:
  /// `folder` itself or its subfolder `neusight`. InputError naming every file that is missing; of a checkout, only
  /// `label` and `results/prediction` must be there.
  explicit NeuSightData(const std::filesystem::path& folder);

  /// Rows of split=test of bmm, linear, elementwise, softmax or layernorm, with columns gpu, dtype, op, dims, timing,
  /// latency_ms. Rows of GPUs without a data sheet are left out; see unknown_gpus(). None where a checkout has no such
  /// test set; see missing().
  CsvTable kernels(std::string_view file);
  /// e2e_labels with columns platform, timing and attention added.
  CsvTable models();
  [[nodiscard]] CsvTable operators() const;
  /// False: no data sheet; the name is remembered.
  bool known(std::string_view gpu);
  /// Names that occurred in the data and have no data sheet, each once.
  [[nodiscard]] const std::vector<std::string>& unknown_gpus() const { return unknown_; }
  /// What a checkout does not hold.
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }

 private:
  /// Of a checkout; notes what is missing.
  bool has_test_set(std::string_view file);

  std::filesystem::path folder_;
  std::optional<std::filesystem::path> checkout_;  // the folder of its `label`
  std::vector<std::string> known_, unknown_, missing_;
};

inline constexpr std::string_view kNeuSightKernelFiles[] = {"bmm", "linear", "elementwise", "softmax", "layernorm"};

/// One of the five NVIDIA GPUs that NeuSight was trained on.
bool seen_by_neusight(std::string_view gpu);

}  // namespace tessera
