// The files and the table of a run; every function but the last is pure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/kernel_cost.hpp"
#include "sim/config/json.hpp"
#include "sim/config/packing_text.hpp"
#include "sim/graph/plan.hpp"
#include "sim/report/summary.hpp"
#include "sim/trace/trace.hpp"

namespace tessera {

/// Raised when a field of summary.json or manifest.json changes its meaning or goes away.
inline constexpr int kSchemaVersion = 1;

/// The table that a user reads: at most 100 columns, every number with its unit and error bar.
std::string text_report(const Summary& summary);

/// What lies behind it: folding, and the operators on the critical path.
std::string explain_text(const Summary& summary);

/// summary.json: field names carry units, an estimate is {"p10", "p50", "p90"}.
Json summary_json(const Summary& summary);

/// ops.csv: one row per distinct kernel and name, and per collective and message size, per GPU and step. A collective's
/// times are the mean of what the simulation saw, waiting for other ranks included.
std::string ops_csv(const Plan& plan, const CostTable& costs, const Trace& trace);

/// Chrome trace events: one process per simulated GPU with a thread per stream, one process for the links; times in us.
/// Opens in Perfetto and speedscope.
void chrome_trace(const Trace& trace, const Plan& plan, PackingText& out);

/// What it takes to make the same numbers again. No time of day: same input, same bytes.
struct Manifest {
  std::string scenario, run;
  std::int64_t seed = 0;
  Json resolved;  // the scenario after --set
  /// Path as the user would write it, and the content's hash.
  std::vector<std::pair<std::string, std::string>> inputs;
};
Json manifest_json(const Manifest& manifest);

/// FNV-1a, 64 bits, as 16 hex digits: tells versions of a file apart, no protection against forgery.
std::string content_hash(std::string_view content);

/// The program's version and those of the libraries it was built with.
std::vector<std::pair<std::string, std::string>> program_versions();

/// Timelines above 20 MB are packed while they are made.
inline constexpr std::size_t kPlainTimeline = 20'000'000;

/// Names and contents.
using OutputFiles = std::vector<std::pair<std::string, std::string>>;
/// Writes `files`, the timeline as trace.json (trace.json.gz above 20 MB) and manifest.json; returns their names.
std::vector<std::string> write_folder(const std::filesystem::path& folder, const OutputFiles& files,
                                      PackingText timeline, const Manifest& manifest);

/// Writes summary.json, ops.csv, trace.json and manifest.json; returns their names.
/// The manifest of an earlier run goes first and the new one comes last: a set without one is not complete.
std::vector<std::string> write_outputs(const std::filesystem::path& folder, const Summary& summary, const Plan& plan,
                                       const CostTable& costs, const Trace& trace, const Manifest& manifest);

}  // namespace tessera
