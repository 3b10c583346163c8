// CSV tables (RFC 4180 quoting), plain or .gz, by column name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"

namespace tessera {

/// A whole table in memory. An empty cell means not given. 2 M rows of ten columns fit in about 400 MB:
/// cells are views into one buffer.
class CsvTable {
 public:
  /// Throws InputError on a missing header, a row of another width, an unclosed quote, an empty or binary file.
  static CsvTable read(const std::filesystem::path& path);
  static CsvTable parse(std::string text, std::string file_name);

  [[nodiscard]] std::size_t rows() const;
  [[nodiscard]] const std::vector<std::string>& columns() const;
  /// Index of a column, or nothing.
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;
  /// Index of a column; throws InputError with the nearest name.
  [[nodiscard]] std::size_t need(std::string_view name) const;
  [[nodiscard]] std::string_view cell(std::size_t row, std::size_t column) const;
  /// Empty: nothing. Not a number: InputError with the row's line and the column's name.
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const;
  /// As `number`, and "24.0" is 24; a fraction is an InputError.
  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t row, std::size_t column) const;
  /// A mistake in a cell, ready to collect or throw.
  [[nodiscard]] Diagnostic at(std::size_t row, std::size_t column, std::string message) const;

  CsvTable(CsvTable&&) = default;  // not copied: the cells point into the buffer
  CsvTable& operator=(CsvTable&&) = default;

 private:
  CsvTable() = default;

  std::string file_;
  std::vector<char> buffer_;
  std::vector<std::string> columns_;
  std::vector<std::string_view> cells_;
  std::vector<int> lines_;
};

/// A cell for writing: quoted where it must be.
std::string csv_cell(std::string_view text);

}  // namespace tessera
