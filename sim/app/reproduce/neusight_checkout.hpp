// Labels and predictions of a checkout of NeuSight's repository, as the repackaged tables have them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/csv.hpp"

namespace tessera {

/// Operators of a node, as the repository's tables write them in Python ("[['Linear', (4096, 1024, 4096)]]"), in the
/// repackaged form ("linear:1,4096,1024,4096;add:1,4096"). Nothing where the text is no such list.
std::optional<std::string> operator_text(std::string_view python);

/// Elements of a shape "(8, 512)", or of all of a list of shapes together. Nothing where the text is neither.
std::optional<double> element_count(std::string_view python);

/// e2e_labels: label/DEVICE/RUN.json beside results/prediction/DEVICE/METHOD/RUN.json. `suspect` marks runs whose
/// measured forward pass takes over 1.25 times the sum of its own measured operators. `root`: the folder of `label`.
CsvTable checkout_labels(const std::filesystem::path& root);

/// model_ops: label/DEVICE/RUN.csv beside the four methods' RUN.csv, joined by the nodes' names.
CsvTable checkout_operators(const std::filesystem::path& root);

}  // namespace tessera
