// A validation report as a table, as JSON and as CSV; pure.
#pragma once

#include <string>

#include "sim/app/validation/validation.hpp"
#include "sim/config/json.hpp"

namespace tessera {

/// One line per group and one for all; then what could not be predicted, by reason.
std::string text_table(const ValidationReport& report);

/// {"files", "groups": [{"by", "n", "mape", ...}], "overall", "unsupported": [{"reason", "n"}]}. Errors, bias and
/// coverage in percent, band width as a ratio p90 / p10; null where a band is unbounded.
Json to_json(const ValidationReport& report);

/// Every chosen row with its own columns (of all files, each once), then measured_ms, p10_ms, p50_ms, p90_ms,
/// error_percent (signed), provenance and, where there is no prediction, why.
std::string rows_csv(const ValidationReport& report);

}  // namespace tessera
