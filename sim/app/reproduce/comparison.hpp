// Methods side by side on the same measured rows: what an experiment gives.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace tessera {

/// One measured row: what it is, and what each method says.
struct Entry {
  std::map<std::string, std::string, std::less<>> keys;  // gpu, op or model, ...
  Seconds measured;
  std::vector<std::optional<Seconds>> predicted;  // parallel to the methods

  [[nodiscard]] std::string_view key(std::string_view name) const;
};

struct Comparison {
  std::vector<std::string> methods;
  std::vector<Entry> entries;
  std::map<std::string, std::size_t> not_run;  // rows of our own model by reason
};

/// Of one method over some entries: those that it predicts, and its mean |predicted / measured - 1| in percent.
struct MethodError {
  std::size_t n = 0;
  double mape = 0;
};

using EntryFilter = std::function<bool(const Entry& entry)>;
std::vector<MethodError> errors_of(const Comparison& comparison, const EntryFilter& keep);

/// A line of a table: its label, and which entries it is about.
struct TableLine {
  std::string label;
  EntryFilter keep;
};

/// One line per value of `key`, in order of value, of the entries that pass `keep`.
std::vector<TableLine> lines_by(const Comparison& comparison, const std::string& key, const EntryFilter& keep);

/// A Markdown table: n, then the mean abs % error per method, "-" where it predicts none, with its own n in brackets
/// where that differs. Lines without an entry are left out.
std::string markdown(const Comparison& comparison, std::string_view first_column, const std::vector<TableLine>& lines);

}  // namespace tessera
