#include "sim/app/validation/row_reader.hpp"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include "sim/base/text.hpp"

namespace tessera {

void Mistakes::add(Diagnostic diagnostic) {
  ++count_;
  const auto [at, fresh] = index_.try_emplace(diagnostic.file + '\n' + diagnostic.message, found_.size());
  if (fresh) {
    found_.emplace_back(std::move(diagnostic), 1);
  } else {
    ++found_[at->second].second;
  }
}

void Mistakes::add(const InputError& error) {
  for (const Diagnostic& diagnostic : error.diagnostics()) add(diagnostic);
}

void Mistakes::check() const {
  if (found_.empty()) return;
  std::vector<Diagnostic> all;
  for (const auto& [diagnostic, rows] : found_) {
    all.push_back(diagnostic);
    if (rows > 1) all.back().message += fmt::format(" (and {} more rows like it)", rows - 1);
  }
  throw InputError(std::move(all));
}

std::string_view RowReader::text(std::string_view column) const {
  if (const auto index = table_.column(column)) {
    const std::string_view cell = trim(table_.cell(row_, *index));
    if (!cell.empty()) return cell;
  }
  const auto given = defaults_.find(std::string(column));
  return given == defaults_.end() ? std::string_view() : std::string_view(given->second);
}

std::string_view RowReader::need(std::string_view column) {
  const std::string_view cell = text(column);
  if (cell.empty()) mistake(column, "expected a value, found nothing");
  return cell;
}

std::int64_t RowReader::integer(std::string_view column, std::int64_t otherwise) {
  const auto index = table_.column(column);
  if (index && !trim(table_.cell(row_, *index)).empty()) {
    try {
      return table_.integer(row_, *index).value_or(otherwise);
    } catch (const InputError& error) {
      mistakes_.add(error);
      return otherwise;
    }
  }
  const std::string_view given = text(column);
  if (given.empty()) return otherwise;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error == std::errc{} && end == given.data() + given.size()) return value;
  mistake(column, fmt::format("expected a whole number, found '{}'", given));
  return otherwise;
}

std::int64_t RowReader::need_integer(std::string_view column) {
  if (text(column).empty()) mistake(column, "expected a whole number, found nothing");
  return integer(column, 1);
}

std::int64_t RowReader::need_count(std::string_view column) {
  const std::int64_t count = need_integer(column);
  if (count >= 1 && count <= kMostCount) return count;
  mistake(column, fmt::format("expected 1 to {}, found {}", kMostCount, count));
  return 1;
}

bool RowReader::flag(std::string_view column) {
  const std::int64_t value = integer(column, 0);
  if (value != 0 && value != 1) mistake(column, fmt::format("expected 0 or 1, found {}", value));
  return value == 1;
}

void RowReader::mistake(std::string_view column, const std::string& message) {
  if (const auto index = table_.column(column)) {
    mistakes_.add(table_.at(row_, *index, message));
    return;
  }
  Diagnostic diagnostic = table_.at(row_, 0, {});
  const bool given = !text(column).empty();
  const std::string near = given ? "" : fmt::format(" (no such column{})", did_you_mean(column, table_.columns()));
  diagnostic.message = fmt::format("{}: {}{}", column, message, near);
  mistakes_.add(std::move(diagnostic));
}

}  // namespace tessera
