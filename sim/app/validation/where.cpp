#include "sim/app/validation/where.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {
namespace {

struct Sign {
  std::string_view text;
  Relation relation;
};
constexpr std::array<Sign, 6> kSigns{{{"!=", Relation::not_equal},
                                      {"<=", Relation::less_equal},
                                      {">=", Relation::greater_equal},
                                      {"=", Relation::equal},
                                      {"<", Relation::less},
                                      {">", Relation::greater}}};

std::optional<double> as_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

InputError bad_part(std::string_view part) {
  return InputError(Diagnostic{.file = "--where",
                               .line = 0,
                               .column = 0,
                               .message = fmt::format("'{}' is no comparison; write COLUMN=VALUE with one of "
                                                      "= != < <= > >=, several joined by commas",
                                                      part)});
}

bool is_ordering(Relation relation) {
  return relation != Relation::equal && relation != Relation::not_equal;
}

/// A value that is no double (1e400) would compare as text.
bool overflows(std::string_view text) {
  double value = 0;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc::result_out_of_range;
}

void check_value(std::string_view part, const Condition& condition) {
  const bool fine = is_ordering(condition.relation) ? condition.number && std::isfinite(*condition.number)
                                                    : !overflows(condition.value);
  if (fine) return;
  throw InputError(Diagnostic{
      .file = "--where",
      .line = 0,
      .column = 0,
      .message = fmt::format("'{}': expected a number that fits in 64 bits, found '{}'", part, condition.value)});
}

Condition parse_condition(std::string_view part) {
  const std::size_t at = part.find_first_of("!<>=");
  if (at == std::string_view::npos || trim(part.substr(0, at)).empty()) throw bad_part(part);
  const std::size_t after = std::min(part.find_first_not_of("!<>=", at), part.size());
  for (const Sign& sign : kSigns) {
    if (part.substr(at, after - at) != sign.text) continue;
    const std::string_view value = trim(part.substr(after));
    Condition condition{.column = std::string(trim(part.substr(0, at))),
                        .relation = sign.relation,
                        .value = std::string(value),
                        .number = as_number(value)};
    check_value(part, condition);
    return condition;
  }
  throw bad_part(part);
}

template <class T>
bool holds(Relation relation, const T& a, const T& b) {
  switch (relation) {
    case Relation::equal:
      return a == b;
    case Relation::not_equal:
      return a != b;
    case Relation::less:
      return a < b;
    case Relation::less_equal:
      return a <= b;
    case Relation::greater:
      return a > b;
    case Relation::greater_equal:
      return a >= b;
  }
  return false;
}

bool meets(std::string_view cell, const Condition& condition) {
  const std::optional<double> number = as_number(cell);
  if (!number && is_ordering(condition.relation)) return false;
  if (number && condition.number) return holds(condition.relation, *number, *condition.number);
  return holds(condition.relation, cell, std::string_view(condition.value));
}

}  // namespace

std::vector<Condition> parse_where(std::string_view text) {
  std::vector<Condition> conditions;
  if (trim(text).empty()) return conditions;
  for (const std::string& part : split(text, ',')) conditions.push_back(parse_condition(part));
  return conditions;
}

std::vector<std::size_t> select_rows(const CsvTable& table, const std::vector<Condition>& conditions) {
  std::vector<std::size_t> rows(table.rows());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  for (const Condition& condition : conditions) {
    const std::size_t column = table.need(condition.column);
    std::erase_if(rows, [&](std::size_t row) { return !meets(table.cell(row, column), condition); });
  }
  return rows;
}

}  // namespace tessera
