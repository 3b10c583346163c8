// Reads the cells of one row and collects every mistake, so that a file's mistakes are reported at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/config/csv.hpp"

namespace tessera {

/// Mistakes of any number of rows; of equal ones the first, with the number of rows that have it.
class Mistakes {
 public:
  void add(Diagnostic diagnostic);
  void add(const InputError& error);
  [[nodiscard]] std::size_t count() const { return count_; }
  /// Throws them as one InputError, if any.
  void check() const;

 private:
  std::vector<std::pair<Diagnostic, std::size_t>> found_;  // in order, with repetitions
  std::map<std::string, std::size_t> index_;               // of file and message
  std::size_t count_ = 0;
};

class RowReader {
 public:
  static constexpr std::int64_t kMostCount = 1 << 20;  // as in a model's config.json

  /// `defaults` fill columns that are missing or cells that are empty; all arguments outlive the reader.
  RowReader(const CsvTable& table, std::size_t row, const std::map<std::string, std::string>& defaults,
            Mistakes& mistakes)
      : table_(table), row_(row), defaults_(defaults), mistakes_(mistakes) {}

  /// The cell without spaces, or its default, or "".
  [[nodiscard]] std::string_view text(std::string_view column) const;
  /// As `text`; empty is a mistake.
  [[nodiscard]] std::string_view need(std::string_view column);
  /// A whole number; empty gives `otherwise`.
  [[nodiscard]] std::int64_t integer(std::string_view column, std::int64_t otherwise);
  /// As `integer`; empty is a mistake.
  [[nodiscard]] std::int64_t need_integer(std::string_view column);
  /// A number of things, from 1 to kMostCount; 1 where it is none, which is a mistake.
  [[nodiscard]] std::int64_t need_count(std::string_view column);
  /// 0 or 1; empty is 0.
  [[nodiscard]] bool flag(std::string_view column);

  /// A mistake in this column's cell (or in the row where it has no such column).
  void mistake(std::string_view column, const std::string& message);
  /// A mistake in a file that the row names.
  void mistake(Diagnostic diagnostic) { mistakes_.add(std::move(diagnostic)); }

 private:
  const CsvTable& table_;
  std::size_t row_;
  const std::map<std::string, std::string>& defaults_;
  Mistakes& mistakes_;
};

}  // namespace tessera
