#include "sim/config/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/text.hpp"
#include "sim/config/gzip.hpp"
#include "sim/config/utf8.hpp"

namespace tessera {

namespace {

constexpr std::size_t kMaxErrors = 20;

/// Cuts a buffer into cells, taking the quotes out in place.
class Scanner {
 public:
  Scanner(std::vector<char>& buffer, const std::string& file)
      : at_(buffer.data()), end_(buffer.data() + buffer.size()), file_(file) {
    if (std::string_view(at_, buffer.size()).starts_with("\xEF\xBB\xBF")) at_ += 3;  // a byte order mark
  }

  [[nodiscard]] int line() const { return line_; }

  /// Appends the next row's cells; false at the end. Lines without text are no rows.
  bool row(std::vector<std::string_view>& cells) {
    while (at_ != end_ && (*at_ == '\n' || *at_ == '\r')) {
      if (*at_++ == '\n') ++next_line_;
    }
    if (at_ == end_) return false;
    line_ = next_line_;
    for (;;) {
      cells.push_back(at_ != end_ && *at_ == '"' ? quoted() : plain());
      if (at_ == end_) return true;
      if (*at_++ == '\n') {
        ++next_line_;
        return true;
      }
    }
  }

 private:
  std::string_view plain() {
    const char* begin = at_;
    while (at_ != end_ && *at_ != ',' && *at_ != '\n') ++at_;
    const char* end = at_;
    if (end != begin && end[-1] == '\r' && (at_ == end_ || *at_ == '\n')) --end;
    return {begin, end};
  }

  std::string_view quoted() {
    const int first_line = next_line_;
    char* const begin = ++at_;
    char* out = begin;
    for (;; ++at_) {
      if (at_ == end_) fail(first_line, "a quote that is opened here is never closed");
      if (*at_ == '"') {
        if (at_ + 1 == end_ || at_[1] != '"') break;
        ++at_;  // a doubled quote means one
      }
      if (*at_ == '\n') ++next_line_;
      *out++ = *at_;
    }
    ++at_;
    if (at_ != end_ && *at_ == '\r') ++at_;
    if (at_ != end_ && *at_ != ',' && *at_ != '\n') fail(next_line_, "expected a comma after the closing quote");
    return {begin, out};
  }

  [[noreturn]] void fail(int line, std::string message) const {
    throw InputError(Diagnostic{.file = file_, .line = line, .message = std::move(message)});
  }

  char* at_;
  char* end_;
  const std::string& file_;
  int line_ = 1, next_line_ = 1;
};

void check_header(const std::vector<std::string>& columns, const std::string& file) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool repeated = std::find(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(i), columns[i]) !=
                          columns.begin() + static_cast<std::ptrdiff_t>(i);
    if (columns[i].empty() || repeated) {
      const std::string what = repeated ? fmt::format("column '{}' appears twice", columns[i])
                                        : fmt::format("column {} of the header has no name", i + 1);
      throw InputError(Diagnostic{.file = file, .line = 1, .message = what});
    }
  }
}

}  // namespace

CsvTable CsvTable::read(const std::filesystem::path& path) {
  return parse(read_maybe_gzip(path), path.string());
}

CsvTable CsvTable::parse(std::string text, std::string file_name) {
  check_text(text, file_name);
  CsvTable table;
  table.file_ = std::move(file_name);
  table.buffer_.assign(text.begin(), text.end());
  text = {};
  Scanner scanner(table.buffer_, table.file_);
  std::vector<std::string_view> header;
  scanner.row(header);
  for (const std::string_view name : header) table.columns_.emplace_back(trim(name));
  check_header(table.columns_, table.file_);
  std::vector<Diagnostic> errors;
  const std::size_t width = header.size();
  for (std::size_t before = 0; scanner.row(table.cells_); before += width) {
    const std::size_t found = table.cells_.size() - before;
    if (found != width) {
      errors.push_back(
          {table.file_, scanner.line(), 0, fmt::format("expected {} cells as in the header, found {}", width, found)});
      table.cells_.resize(before + width);
    }
    table.lines_.push_back(scanner.line());
    if (errors.size() == kMaxErrors) break;
  }
  if (!errors.empty()) throw InputError(std::move(errors));
  return table;
}

std::size_t CsvTable::rows() const {
  return lines_.size();
}

const std::vector<std::string>& CsvTable::columns() const {
  return columns_;
}

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

std::size_t CsvTable::need(std::string_view name) const {
  if (const auto index = column(name)) return *index;
  throw InputError(Diagnostic{file_, 1, 0, fmt::format("missing column '{}'{}", name, did_you_mean(name, columns_))});
}

std::string_view CsvTable::cell(std::size_t row, std::size_t column) const {
  return cells_[row * columns_.size() + column];
}

std::optional<double> CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string_view text = trim(cell(row, column));
  if (text.empty()) return std::nullopt;
  double value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    throw InputError(at(row, column, fmt::format("expected a number, found '{}'", text)));
  }
  return value;
}

std::optional<std::int64_t> CsvTable::integer(std::size_t row, std::size_t column) const {
  const std::optional<double> value = number(row, column);
  if (!value) return std::nullopt;
  if (std::abs(*value) > 0x1p53 || *value != std::floor(*value)) {
    throw InputError(at(row, column, fmt::format("expected a whole number, found '{}'", trim(cell(row, column)))));
  }
  return static_cast<std::int64_t>(*value);
}

Diagnostic CsvTable::at(std::size_t row, std::size_t column, std::string message) const {
  return {.file = file_, .line = lines_[row], .message = fmt::format("{}: {}", columns_[column], message)};
}

std::string csv_cell(std::string_view text) {
  const bool edge_space = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  if (!edge_space && text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace tessera
