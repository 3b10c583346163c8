#include "sim/app/reproduce/neusight_experiments.hpp"
#include "models/collectives/parameters.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "sim/app/validation/kernel_rows.hpp"
#include "sim/app/validation/model_rows.hpp"
#include "sim/base/error.hpp"

namespace tessera {
namespace {

using Defaults = std::map<std::string, std::string>;

struct Published {
  std::string_view method, column;
};

std::vector<std::size_t> all_rows(const CsvTable& table) {
  std::vector<std::size_t> rows(table.rows());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

std::string where_of(std::string_view gpu) {
  if (gpu.starts_with("MI")) return "amd";
  return seen_by_neusight(gpu) ? "seen" : "unseen";
}

std::optional<Seconds> milliseconds(const CsvTable& table, std::size_t row, std::string_view column) {
  const auto at = table.column(column);
  if (!at) return std::nullopt;
  const auto value = table.number(row, *at);
  if (!value || *value <= 0) return std::nullopt;
  return Seconds(*value * 1e-3);
}

/// Every column as a key; then what each contender says of each entry, with its reasons where it says nothing.
class Builder {
 public:
  explicit Builder(const CsvTable& table) : table_(table) {}

  void add_row(std::size_t row, Seconds measured) {
    Entry entry{{}, measured, {}};
    for (std::size_t column = 0; column < table_.columns().size(); ++column) {
      entry.keys[table_.columns()[column]] = std::string(table_.cell(row, column));
    }
    entry.keys["where"] = where_of(entry.key("gpu"));
    result.entries.push_back(std::move(entry));
    rows.push_back(row);
  }

  void add_published(std::string_view method, std::string_view column) {
    result.methods.emplace_back(method);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      result.entries[i].predicted.push_back(milliseconds(table_, rows[i], column));
    }
  }

  void add_outcomes(const std::string& method, const std::vector<Outcome>& outcomes) {
    result.methods.push_back(method);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Outcome& outcome = outcomes[i];
      result.entries[i].predicted.push_back(outcome.prediction ? std::optional(outcome.prediction->time.p50)
                                                               : std::nullopt);
      if (!outcome.prediction) ++result.not_run[method + ": " + outcome.unsupported];
    }
  }

  Comparison result;
  std::vector<std::size_t> rows;  // of the table, parallel to the entries

 private:
  const CsvTable& table_;
};

std::string class_of(std::string_view op) {
  for (const std::string_view name : {"bmm", "linear", "softmax", "layernorm"}) {
    if (op == name) return std::string(name);
  }
  return op == "memory" ? "memory" : "elementwise";
}

void append(Comparison& all, Comparison some) {
  all.methods = std::move(some.methods);
  std::ranges::move(some.entries, std::back_inserter(all.entries));
  for (const auto& [reason, n] : some.not_run) all.not_run[reason] += n;
}

}  // namespace

Comparison compare_kernels(NeuSightData& data, const Contenders& contenders, const ReproduceOptions& options) {
  Comparison all;
  for (const std::string_view file : kNeuSightKernelFiles) {
    options.progress(fmt::format("kernels: {}", file));
    const CsvTable table = data.kernels(file);
    const std::size_t time = table.need("latency_ms");
    Builder builder(table);
    for (const std::size_t row : all_rows(table)) {
      builder.add_row(row, Seconds(table.number(row, time).value_or(0) * 1e-3));
    }
    for (Entry& entry : builder.result.entries) {
      entry.keys["operator"] = std::string(entry.key("op"));
      entry.keys["op"] = class_of(entry.key("operator"));
    }
    Mistakes mistakes;
    Catalogue catalogue;
    for (const Contender& contender : contenders.list) {
      builder.add_outcomes(contender.name, predict_kernel_rows(table, builder.rows, Defaults{}, catalogue,
                                                               *contender.model, RuntimeColumn::used, mistakes));
    }
    mistakes.check();
    append(all, std::move(builder.result));
  }
  return all;
}

Comparison compare_models(NeuSightData& data, const Contenders& contenders, MeasuredPart part,
                          const ReproduceOptions& options) {
  static constexpr std::array kWhole{Published{"NeuSight", "neusight_ms"}, Published{"Habitat", "habitat_ms"},
                                     Published{"Li et al.", "micro_ms"}, Published{"roofline (paper)", "roofline_ms"}};
  const bool forward = part == MeasuredPart::forward, whole = part == MeasuredPart::whole;
  const std::string_view measured = whole ? "latency_ms" : forward ? "fw_ms" : "bw_ms";
  const CsvTable table = data.models();
  Builder builder(table);
  for (const std::size_t row : all_rows(table)) {
    if (const auto time = milliseconds(table, row, measured)) builder.add_row(row, *time);
  }
  if (whole) {
    for (const auto& [method, column] : kWhole) builder.add_published(method, column);
  } else {
    builder.add_published("NeuSight", forward ? "neusight_fw_ms" : "neusight_bw_ms");
  }
  Mistakes mistakes;
  Catalogue catalogue;
  const CollectiveParameters network = load_collective_parameters();
  for (const Contender& contender : contenders.list) {
    options.progress(fmt::format("models: {}", contender.name));
    builder.add_outcomes(contender.name, predict_model_rows(table, builder.rows, Defaults{}, catalogue,
                                                            *contender.model, network, part, mistakes, [] {}));
  }
  mistakes.check();
  return std::move(builder.result);
}

}  // namespace tessera
