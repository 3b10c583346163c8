#include "sim/app/reproduce/neusight_data.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "calibration/neusight_repository.hpp"
#include "sim/app/reproduce/neusight_checkout.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/cluster/gpu.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kSeen{"A100-PCIE-40GB", "P100-PCIE-16GB", "P4", "T4", "V100-PCIE-32GB"};

struct Machine {
  std::string_view gpu, platform;
};
/// The nodes of the paper's runs on several GPUs.
constexpr std::array kMachines{Machine{"A100-SXM4-40GB", "dgx-a100-40gb"}, Machine{"H100-SXM-80GB", "dgx-h100"}};

std::vector<std::string> expected_files() {
  std::vector<std::string> files{"e2e_labels.csv", "model_ops.csv.gz"};
  for (const std::string_view name : kNeuSightKernelFiles) files.push_back(std::string(name) + ".csv.gz");
  return files;
}

std::vector<Diagnostic> missing_in(const fs::path& folder) {
  std::vector<Diagnostic> missing;
  for (const std::string& file : expected_files()) {
    if (!fs::is_regular_file(folder / file)) {
      missing.push_back({(folder / file).string(), 0, 0, "is missing; it is part of NeuSight's repackaged artifact"});
    }
  }
  return missing;
}

std::vector<Diagnostic> missing_in_checkout(const fs::path& root) {
  std::vector<Diagnostic> missing;
  for (const fs::path& folder : {root / "label", root / "results" / "prediction"}) {
    if (!fs::is_directory(folder)) {
      missing.push_back({folder.string(), 0, 0, "is missing; it is part of github.com/sitar-lab/NeuSight"});
    }
  }
  return missing;
}

std::string platform_of(std::string_view gpu, std::string_view gpus) {
  if (gpus == "1" || gpus == "1.0") return "";
  const auto found = std::ranges::find(kMachines, gpu, &Machine::gpu);
  return found == kMachines.end() ? "" : std::string(found->platform);
}

std::string joined(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + csv_cell(cell);
  return line + '\n';
}

}  // namespace

NeuSightData::NeuSightData(const fs::path& folder)
    : folder_(fs::is_regular_file(folder / "e2e_labels.csv") ? folder : folder / "neusight"), known_(known_gpus()) {
  if (!fs::is_regular_file(folder_ / "e2e_labels.csv")) checkout_ = neusight_checkout(folder);
  std::vector<Diagnostic> missing = checkout_                   ? missing_in_checkout(*checkout_)
                                    : fs::is_directory(folder_) ? missing_in(folder_)
                                                                : missing_in(folder);
  if (!missing.empty()) throw InputError(std::move(missing));
  if (checkout_) folder_ = folder;
  for (std::string& name : known_) name = normalise(name);
}

bool NeuSightData::known(std::string_view gpu) {
  if (std::ranges::find(known_, normalise(gpu)) != known_.end()) return true;
  if (std::ranges::find(unknown_, gpu) == unknown_.end()) unknown_.emplace_back(gpu);
  return false;
}

bool NeuSightData::has_test_set(std::string_view file) {
  const fs::path path = *checkout_ / "data" / "dataset" / "test" / neusight_test_file(file);
  if (fs::is_regular_file(path)) return true;
  missing_.push_back(path.lexically_relative(*checkout_).string());
  return false;
}

CsvTable NeuSightData::kernels(std::string_view file) {
  const bool matrix = file == "bmm" || file == "linear";
  const std::vector<std::string> dims =
      matrix ? std::vector<std::string>{"b", "m", "n", "k"} : std::vector<std::string>{"rows", "h"};
  const std::string header = "gpu,dtype,op," + fmt::format("{}", fmt::join(dims, ",")) + ",timing,latency_ms\n";
  if (checkout_ && !has_test_set(file)) return CsvTable::parse(header, (*checkout_ / std::string(file)).string());
  const CsvTable table = read_neusight(folder_, file);
  const std::size_t gpu = table.need("gpu"), dtype = table.need("dtype"), op = table.need("op"),
                    split = table.need("split"), time = table.need("latency_ms");
  std::vector<std::size_t> columns;
  for (const std::string& dim : dims) columns.push_back(table.need(dim));
  std::string text = header;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.cell(row, split) != "test" || !known(table.cell(row, gpu))) continue;
    const std::string_view name = table.cell(row, op);
    std::vector<std::string> cells{std::string(table.cell(row, gpu)), std::string(table.cell(row, dtype)),
                                   std::string(name == "ln" ? "layernorm" : name)};
    for (const std::size_t column : columns) cells.emplace_back(table.cell(row, column));
    cells.emplace_back("eager");
    cells.emplace_back(table.cell(row, time));
    text += joined(cells);
  }
  return CsvTable::parse(std::move(text), (folder_ / (std::string(file) + ".csv.gz")).string());
}

CsvTable NeuSightData::models() {
  const CsvTable table = checkout_ ? checkout_labels(*checkout_) : CsvTable::read(folder_ / "e2e_labels.csv");
  const std::size_t gpu = table.need("gpu"), gpus = table.need("n_gpu");
  std::vector<std::string> header = table.columns();
  header.insert(header.end(), {"platform", "timing", "attention"});
  std::string text = joined(header);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!known(table.cell(row, gpu))) continue;
    std::vector<std::string> cells;
    for (std::size_t column = 0; column < table.columns().size(); ++column) cells.emplace_back(table.cell(row, column));
    cells.push_back(platform_of(table.cell(row, gpu), table.cell(row, gpus)));
    cells.emplace_back("eager");
    cells.emplace_back("eager");
    text += joined(cells);
  }
  return CsvTable::parse(std::move(text), (folder_ / "e2e_labels.csv").string());
}

CsvTable NeuSightData::operators() const {
  return checkout_ ? checkout_operators(*checkout_) : CsvTable::read(folder_ / "model_ops.csv.gz");
}

bool seen_by_neusight(std::string_view gpu) {
  return std::ranges::find(kSeen, gpu) != kSeen.end();
}

}  // namespace tessera
