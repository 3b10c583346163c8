#include "sim/app/validation/render.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace tessera {
namespace {

std::vector<std::string> metric_cells(const Metrics& m) {
  if (m.n == 0) return {"0", "-", "-", "-", "-", "-", "-", "-"};
  return {fmt::format("{}", m.n),
          fmt::format("{:.2f}", m.mape),
          fmt::format("{:.2f}", m.median_ape),
          fmt::format("{:.2f}", m.p90_ape),
          fmt::format("{:+.2f}", m.bias),
          fmt::format("{:.1f}", m.coverage),
          fmt::format("{:.2f}", m.band_width),
          fmt::format("{:.4f}", m.pinball)};
}

using Lines = std::vector<std::vector<std::string>>;

/// Names to the left, numbers to the right.
std::string align(const Lines& lines, std::size_t names) {
  std::vector<std::size_t> width(lines.front().size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (i > 0) row += "  ";
      row += i < names ? fmt::format("{:<{}}", line[i], width[i]) : fmt::format("{:>{}}", line[i], width[i]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
  return text;
}

void append(std::vector<std::string>& line, std::vector<std::string> more) {
  line.insert(line.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// An unbounded error bar has no width that JSON could hold.
Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

void put(Json& json, const Metrics& m) {
  json["n"] = m.n;
  json["mape"] = m.mape;
  json["median_ape"] = m.median_ape;
  json["p90_ape"] = m.p90_ape;
  json["bias"] = m.bias;
  json["coverage"] = m.coverage;
  json["band_width"] = finite(m.band_width);
  json["pinball"] = finite(m.pinball);
}

Json reasons(const std::vector<Unsupported>& list) {
  Json json = Json::array();
  for (const Unsupported& u : list) {
    Json item = Json::object();
    item["reason"] = u.reason;
    item["n"] = u.rows;
    json.push(std::move(item));
  }
  return json;
}

/// Columns of all files, each once, in order of first appearance.
std::vector<std::string> all_columns(const ValidationReport& report) {
  std::vector<std::string> columns;
  for (const ValidatedFile& file : report.files) {
    for (const std::string& name : file.table.columns()) {
      if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
    }
  }
  return columns;
}

std::string outcome_cells(Seconds measured, const Outcome& outcome) {
  const std::string given = measured > Seconds(0) ? fmt::format("{:.9g}", 1e3 * measured.value()) : std::string();
  if (!outcome.prediction) return fmt::format("{},,,,,,{}", given, csv_cell(outcome.unsupported));
  const Estimate<Seconds>& time = outcome.prediction->time;
  return fmt::format("{},{:.9g},{:.9g},{:.9g},{:.3f},{},", given, 1e3 * time.p10.value(), 1e3 * time.p50.value(),
                     1e3 * time.p90.value(), 100.0 * (time.p50 / measured - 1.0),
                     to_string(outcome.prediction->provenance));
}

}  // namespace

std::string text_table(const ValidationReport& report) {
  const std::size_t names = report.groups.empty() ? 1 : report.groups.front().by.size();
  Lines lines(1);
  if (report.groups.empty()) lines.front().emplace_back();
  if (!report.groups.empty()) {
    for (const auto& [column, value] : report.groups.front().by) lines.front().push_back(column);
  }
  append(lines.front(), {"n", "mean %", "median %", "p90 %", "bias %", "in band %", "p90/p10", "pinball"});
  for (const Group& group : report.groups) {
    std::vector<std::string> line;
    for (const auto& [column, value] : group.by) line.push_back(value.empty() ? "-" : value);
    append(line, metric_cells(group.metrics));
    lines.push_back(std::move(line));
  }
  std::vector<std::string> overall(names);
  overall.front() = "overall";
  append(overall, metric_cells(report.overall));
  lines.push_back(std::move(overall));
  std::string text = align(lines, names);
  for (const Unsupported& u : report.unsupported) text += fmt::format("not predicted, {} rows: {}\n", u.rows, u.reason);
  for (const Unsupported& note : report.notes) text += fmt::format("note, {} rows: {}\n", note.rows, note.reason);
  return text;
}

Json to_json(const ValidationReport& report) {
  Json json = Json::object();
  json["files"] = Json::array();
  for (const ValidatedFile& file : report.files) json["files"].push(file.name);
  json["groups"] = Json::array();
  for (const Group& group : report.groups) {
    Json item = Json::object();
    item["by"] = Json::object();
    for (const auto& [column, value] : group.by) item["by"][column] = value;
    put(item, group.metrics);
    json["groups"].push(std::move(item));
  }
  json["overall"] = Json::object();
  put(json["overall"], report.overall);
  json["unsupported"] = reasons(report.unsupported);
  if (!report.notes.empty()) json["notes"] = reasons(report.notes);
  return json;
}

std::string rows_csv(const ValidationReport& report) {
  const std::vector<std::string> columns = all_columns(report);
  std::string text;
  for (const std::string& name : columns) text += csv_cell(name) + ',';
  text += "measured_ms,p10_ms,p50_ms,p90_ms,error_percent,provenance,unsupported\n";
  for (const ValidatedFile& file : report.files) {
    for (std::size_t i = 0; i < file.rows.size(); ++i) {
      for (const std::string& name : columns) {
        const auto column = file.table.column(name);
        if (column) text += csv_cell(file.table.cell(file.rows[i], *column));
        text += ',';
      }
      text += outcome_cells(file.measured[i], file.outcomes[i]) + '\n';
    }
  }
  return text;
}

}  // namespace tessera
