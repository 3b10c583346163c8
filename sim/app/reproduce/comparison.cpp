#include "sim/app/reproduce/comparison.hpp"

#include <cmath>
#include <iterator>
#include <set>

#include <fmt/format.h>

namespace tessera {

std::string_view Entry::key(std::string_view name) const {
  const auto found = keys.find(name);
  return found == keys.end() ? std::string_view() : std::string_view(found->second);
}

std::vector<MethodError> errors_of(const Comparison& comparison, const EntryFilter& keep) {
  std::vector<MethodError> errors(comparison.methods.size());
  for (const Entry& entry : comparison.entries) {
    if (!keep(entry)) continue;
    for (std::size_t m = 0; m < errors.size(); ++m) {
      if (!entry.predicted[m]) continue;
      ++errors[m].n;
      errors[m].mape += 100 * std::abs(*entry.predicted[m] / entry.measured - 1);
    }
  }
  for (MethodError& error : errors) {
    if (error.n > 0) error.mape /= static_cast<double>(error.n);
  }
  return errors;
}

std::vector<TableLine> lines_by(const Comparison& comparison, const std::string& key, const EntryFilter& keep) {
  std::set<std::string, std::less<>> values;
  for (const Entry& entry : comparison.entries) {
    if (keep(entry)) values.emplace(entry.key(key));
  }
  std::vector<TableLine> lines;
  for (const std::string& value : values) {
    lines.push_back({value, [=](const Entry& entry) { return keep(entry) && entry.key(key) == value; }});
  }
  return lines;
}

std::string markdown(const Comparison& comparison, std::string_view first_column, const std::vector<TableLine>& lines) {
  std::string text = fmt::format("| {} | n |", first_column), rule = "|---|---:|";
  for (const std::string& method : comparison.methods) {
    text += fmt::format(" {} |", method);
    rule += "---:|";
  }
  text += '\n' + rule + '\n';
  for (const TableLine& line : lines) {
    std::size_t n = 0;
    for (const Entry& entry : comparison.entries) n += line.keep(entry) ? 1 : 0;
    if (n == 0) continue;
    fmt::format_to(std::back_inserter(text), "| {} | {} |", line.label, n);
    for (const MethodError& error : errors_of(comparison, line.keep)) {
      if (error.n == 0) {
        text += " - |";
      } else if (error.n == n) {
        fmt::format_to(std::back_inserter(text), " {:.1f} |", error.mape);
      } else {
        fmt::format_to(std::back_inserter(text), " {:.1f} ({}) |", error.mape, error.n);
      }
    }
    text += '\n';
  }
  return text;
}

}  // namespace tessera
