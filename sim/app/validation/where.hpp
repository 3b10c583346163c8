// Row filters of `validate --where`: comparisons joined by commas, all of which must hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/csv.hpp"

namespace tessera {

enum class Relation : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };

/// `column` against `value`: as numbers where both are ("24" equals "24.0"), else as text. An empty cell is not given:
/// it equals only an empty value. Cells that are no numbers are neither less nor greater than anything.
struct Condition {
  std::string column;
  Relation relation = Relation::equal;
  std::string value;
  std::optional<double> number;  // of `value`
  friend bool operator==(const Condition&, const Condition&) = default;
};

/// "split=headline,suspect=0,latency_ms>0.02". InputError on a part without a comparison or a column.
std::vector<Condition> parse_where(std::string_view text);

/// Rows of `table` that meet every condition. A column that the table lacks is an InputError with the nearest name.
std::vector<std::size_t> select_rows(const CsvTable& table, const std::vector<Condition>& conditions);

}  // namespace tessera
