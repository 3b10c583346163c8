#include "sim/app/validation/validation.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "models/calibrated_model.hpp"
#include "sim/app/validation/catalogue.hpp"
#include "sim/app/validation/collective_rows.hpp"
#include "sim/app/validation/kernel_rows.hpp"
#include "sim/app/validation/model_rows.hpp"
#include "sim/app/validation/row_reader.hpp"
#include "sim/app/validation/training_rows.hpp"
#include "sim/app/validation/where.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {
namespace {

constexpr Seconds kShortest(1e-12), kLongest(1e9);  // no measurement is outside; keeps ratios finite
constexpr std::string_view kNoValue = "no measured value";

MeasuredPart part_of(std::string_view column) {
  if (column == "fw_ms") return MeasuredPart::forward;
  if (column == "bw_ms") return MeasuredPart::backward;
  return MeasuredPart::whole;
}

std::string measure_of(const ValidationOptions& options, MeasurementKind kind) {
  return options.measure.empty() ? std::string(default_measure(kind)) : options.measure;
}

ValidatedFile open(const std::filesystem::path& path, const std::vector<Condition>& where) {
  CsvTable table = CsvTable::read(path);
  const MeasurementKind kind = kind_of(table, path.string());
  if (table.rows() == 0) throw InputError(Diagnostic{path.string(), 0, 0, "no rows"});
  std::vector<std::size_t> rows = select_rows(table, where);
  return {.name = path.string(),
          .kind = kind,
          .table = std::move(table),
          .rows = std::move(rows),
          .measured = {},
          .outcomes = {}};
}

void read_measured(ValidatedFile& file, const std::string& column, Mistakes& mistakes) {
  const std::size_t index = file.table.need(column);
  const Seconds unit = unit_of(column);
  for (const std::size_t row : file.rows) {
    try {
      const std::optional<double> value = file.table.number(row, index);
      file.measured.push_back(unit * value.value_or(0.0));
      if (value && (file.measured.back() < kShortest || file.measured.back() > kLongest))
        mistakes.add(file.table.at(
            row, index,
            fmt::format("expected a time of {} s to {} s, found {}", kShortest.value(), kLongest.value(), *value)));
    } catch (const InputError& error) {
      file.measured.push_back(Seconds(0));
      mistakes.add(error);
    }
  }
}

/// Default groups: what tells kernels apart, or the sets that a collection of runs names.
std::vector<std::string> default_by(const std::vector<ValidatedFile>& files) {
  const auto has = [&](std::string_view column) {
    return std::any_of(files.begin(), files.end(), [&](const ValidatedFile& f) { return f.table.column(column); });
  };
  if (has("set")) return {"set"};
  std::vector<std::string> by;
  for (const char* column : {"gpu", "op", "dtype"}) {
    if (has(column)) by.emplace_back(column);
  }
  return by;
}

std::vector<std::string> group_columns(const ValidationOptions& options, const std::vector<ValidatedFile>& files) {
  if (options.by.empty()) return default_by(files);
  if (options.by.size() == 1 && options.by.front() == "none") return {};
  std::set<std::string> known;
  for (const ValidatedFile& file : files) known.insert(file.table.columns().begin(), file.table.columns().end());
  const std::vector<std::string> names(known.begin(), known.end());
  for (const std::string& column : options.by) {
    if (known.contains(column)) {
      if (std::ranges::count(options.by, column) == 1) continue;
      throw InputError(Diagnostic{.file = "--by", .message = fmt::format("'{}' is given twice", column)});
    }
    throw InputError(
        Diagnostic{.file = "--by",
                   .line = 0,
                   .column = 0,
                   .message = fmt::format("no file has a column '{}'{}", column, did_you_mean(column, names))});
  }
  return options.by;
}

std::vector<std::string> values_of(const ValidatedFile& file, std::size_t row,
                                   const std::vector<std::string>& columns) {
  std::vector<std::string> values;
  for (const std::string& name : columns) {
    const auto column = file.table.column(name);
    values.emplace_back(column ? file.table.cell(row, *column) : std::string_view());
  }
  return values;
}

void count(std::string_view reason, std::vector<Unsupported>& list) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Unsupported& u) { return u.reason == reason; });
  if (found == list.end()) {
    list.push_back({std::string(reason), 1});
  } else {
    ++found->rows;
  }
}

/// Runtimes that no row of the fits can have: predicted as where nobody says whose kernels run.
void note_runtimes(const ValidatedFile& file, std::vector<Unsupported>& notes) {
  const auto column = file.table.column("runtime");
  if (!column || file.kind != MeasurementKind::kernel) return;
  std::vector<std::string> known;
  for (const Runtime runtime : kRuntimes)
    if (runtime != Runtime::unspecified && runtime != Runtime::other) known.emplace_back(to_string(runtime));
  for (const std::size_t row : file.rows) {
    const std::string_view name = file.table.cell(row, *column);
    if (parse_runtime(name) != Runtime::other) continue;
    count(fmt::format("runtime '{}' is none of {}{}: predicted as without a runtime", name, fmt::join(known, ", "),
                      did_you_mean(name, known)),
          notes);
  }
}

void summarise(ValidationReport& report, const std::vector<std::string>& by) {
  std::map<std::vector<std::string>, std::vector<Scored>> groups;
  std::vector<Scored> all;
  for (const ValidatedFile& file : report.files) {
    for (std::size_t i = 0; i < file.rows.size(); ++i) {
      const Outcome& outcome = file.outcomes[i];
      if (!outcome.prediction) {
        count(outcome.unsupported, report.unsupported);
        continue;
      }
      all.push_back({file.measured[i], outcome.prediction->time});
      if (!by.empty()) groups[values_of(file, file.rows[i], by)].push_back(all.back());
    }
  }
  report.overall = score(all);
  for (const auto& [values, rows] : groups) {
    Group group{.by = {}, .metrics = score(rows)};
    for (std::size_t i = 0; i < by.size(); ++i) group.by.emplace_back(by[i], values[i]);
    report.groups.push_back(std::move(group));
  }
  std::stable_sort(report.unsupported.begin(), report.unsupported.end(),
                   [](const Unsupported& a, const Unsupported& b) { return a.rows > b.rows; });
}

/// Rows that have a measured value; only these are predicted.
std::vector<std::size_t> measured_rows(const ValidatedFile& file) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    if (file.measured[i] > Seconds(0)) rows.push_back(file.rows[i]);
  }
  return rows;
}

void spread(ValidatedFile& file, const std::vector<Outcome>& predicted) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    const bool given = file.measured[i] > Seconds(0);
    file.outcomes.push_back(given ? predicted[next++] : Outcome{std::nullopt, std::string(kNoValue)});
  }
}

/// A value that no cell of its column has, and those that it has.
std::string unknown_value(const Condition& condition, const std::vector<ValidatedFile>& files) {
  constexpr std::size_t kMostListed = 12;
  std::set<std::string> values;
  for (const ValidatedFile& file : files) {
    const std::size_t column = file.table.need(condition.column);
    for (std::size_t row = 0; row < file.table.rows(); ++row) values.emplace(file.table.cell(row, column));
  }
  const std::vector<std::string> listed(values.begin(), values.end());
  if (condition.relation != Relation::equal || condition.number || values.contains(condition.value)) return "";
  const std::string near = did_you_mean(condition.value, listed);
  if (!near.empty() || listed.size() > kMostListed)
    return fmt::format("; {} is never '{}'{}", condition.column, condition.value, near);
  return fmt::format("; {} is never '{}': there are {}", condition.column, condition.value, fmt::join(listed, ", "));
}

/// A condition that chooses nothing is a mistake: an empty table would look like a result.
void require_rows(const std::vector<Condition>& where, const std::vector<ValidatedFile>& files,
                  const std::string& text) {
  if (std::ranges::any_of(files, [](const ValidatedFile& f) { return !f.rows.empty(); })) return;
  std::string why;
  for (const Condition& condition : where)
    if (why.empty()) why = unknown_value(condition, files);
  throw InputError(Diagnostic{.file = "--where", .message = fmt::format("no row meets '{}'{}", text, why)});
}

void require_training_rows(const std::vector<ValidatedFile>& files) {
  const auto trains = [](const ValidatedFile& f) { return f.kind == MeasurementKind::training; };
  if (std::ranges::any_of(files, trains)) return;
  throw InputError(Diagnostic{.file = "--host-launch", .message = "no file has training rows, which it is for"});
}

}  // namespace

ValidationReport validate(const ValidationOptions& options, const LatencyModel& zero_shot,
                          const ValidationProgress& progress) {
  const CalibratedModel model(zero_shot, options.profiles);
  ValidationReport report;
  const std::vector<Condition> where = parse_where(options.where);
  for (const auto& path : options.files) report.files.push_back(open(path, where));
  require_rows(where, report.files, options.where);
  if (options.host_launch) require_training_rows(report.files);
  const std::vector<std::string> by = group_columns(options, report.files);

  Mistakes mistakes;
  Catalogue catalogue;
  std::optional<CollectiveParameters> collectives = options.collectives;
  const auto network = [&]() -> const CollectiveParameters& {
    if (!collectives) collectives = load_collective_parameters();
    return *collectives;
  };
  std::size_t done = 0, total = 0;
  for (const ValidatedFile& file : report.files) total += file.rows.size();
  const auto step = [&] {
    if (progress) progress(++done, total);
  };
  for (ValidatedFile& file : report.files) {
    const std::string column = measure_of(options, file.kind);
    read_measured(file, column, mistakes);
    const std::vector<std::size_t> rows = measured_rows(file);
    if (file.kind == MeasurementKind::kernel) {
      spread(file,
             predict_kernel_rows(file.table, rows, options.defaults, catalogue, model, options.runtime, mistakes));
    } else if (file.kind == MeasurementKind::model) {
      spread(file, predict_model_rows(file.table, rows, options.defaults, catalogue, model, network(), part_of(column),
                                      mistakes, step, options.profiles));
    } else if (file.kind == MeasurementKind::collective) {
      spread(file, predict_collective_rows(file.table, rows, options.defaults, catalogue, network(), mistakes));
    } else {
      spread(file, predict_training_rows(file.table, rows, options.defaults, catalogue, model, network(), mistakes,
                                         step, options.profiles, options.host_launch));
    }
  }
  mistakes.check();
  for (const Profile& profile : options.profiles)
    if (!catalogue.has_gpu(profile.gpu))
      throw InputError(
          Diagnostic{"--profile", 0, 0, fmt::format("{} is of {}, and no row is", profile.name, profile.gpu)});
  summarise(report, by);
  if (options.runtime == RuntimeColumn::used)
    for (const ValidatedFile& file : report.files) note_runtimes(file, report.notes);
  return report;
}

}  // namespace tessera
