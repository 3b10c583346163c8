// `validate` as a function: files of measurements to a report; prints nothing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/collectives/parameters.hpp"
#include "models/latency_model.hpp"
#include "models/profile.hpp"
#include "sim/app/validation/kernel_rows.hpp"
#include "sim/app/validation/kind.hpp"
#include "sim/app/validation/metrics.hpp"
#include "sim/app/validation/outcome.hpp"
#include "sim/config/csv.hpp"

namespace tessera {

struct ValidationOptions {
  std::vector<std::filesystem::path> files{};
  std::string where{}, measure{};                 // empty: all rows; the kind's own column
  std::vector<std::string> by{};                  // empty: the default; {"none"}: no groups
  std::vector<Profile> profiles{};                // shift `model` on their GPUs
  std::map<std::string, std::string> defaults{};  // `gpu`, `platform`: for rows that do not say
  RuntimeColumn runtime = RuntimeColumn::used;
  std::optional<CollectiveParameters> collectives{};  // none: the committed ones
  std::optional<Seconds> host_launch{};               // of training rows, instead of their platforms' own
};

/// The chosen rows of one file; `rows` and `outcomes` are parallel.
struct ValidatedFile {
  std::string name;
  MeasurementKind kind = MeasurementKind::kernel;
  CsvTable table;
  std::vector<std::size_t> rows;
  std::vector<Seconds> measured;  // parallel to rows; 0: not given
  std::vector<Outcome> outcomes;
};

struct Group {
  std::vector<std::pair<std::string, std::string>> by;  // column and value
  Metrics metrics;
};

/// Rows that one reason holds for.
struct Unsupported {
  std::string reason;
  std::size_t rows = 0;
};

struct ValidationReport {
  std::vector<ValidatedFile> files;
  std::vector<Group> groups;  // by value
  Metrics overall;
  std::vector<Unsupported> unsupported;  // by falling number of rows
  std::vector<Unsupported> notes;        // what was predicted otherwise than the row says
};

/// Called with the rows done and all rows; only model rows take long enough to matter.
using ValidationProgress = std::function<void(std::size_t done, std::size_t total)>;

/// InputError with every mistake of all the files.
ValidationReport validate(const ValidationOptions& options, const LatencyModel& zero_shot,
                          const ValidationProgress& progress = {});

}  // namespace tessera
