#include "calibration/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera {

std::int64_t dimension_at(const CsvTable& table, std::size_t row, std::size_t column) {
  const auto value = table.integer(row, column);
  if (!value || *value < 1) throw InputError(table.at(row, column, "expected a whole number above 0"));
  return *value;
}

Seconds milliseconds_at(const CsvTable& table, std::size_t row, std::size_t column) {
  const auto value = table.number(row, column);
  if (!value || !std::isfinite(*value) || *value <= 0)
    throw InputError(table.at(row, column, "expected a time above 0"));
  return Seconds(*value * 1e-3);
}

bool is_train(const CsvTable& table, std::size_t row, std::size_t column) {
  const std::string_view split = table.cell(row, column);
  if (split != "train" && split != "test")
    throw InputError(table.at(row, column, fmt::format("expected train or test, found '{}'", split)));
  return split == "train";
}

Dataset with_rows_to_fit(Dataset data, const std::filesystem::path& folder) {
  if (std::ranges::none_of(data.samples, &Sample::fit)) {
    throw InputError(Diagnostic{.file = folder.string(),
                                .message = "no row to fit on: all are of another dtype, split or kind than is read"});
  }
  return data;
}

}  // namespace tessera
