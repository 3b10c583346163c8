// Model measurements: a row to a run, and its simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/collectives/parameters.hpp"
#include "models/latency_model.hpp"
#include "sim/app/run.hpp"
#include "sim/app/validation/catalogue.hpp"
#include "sim/app/validation/outcome.hpp"
#include "sim/app/validation/row_reader.hpp"
#include "sim/config/csv.hpp"

namespace tessera {

/// none, dpN, tpN, or ppN_M: N stages, M micro-batches.
struct Parallelism {
  int dp = 1, tp = 1, stages = 1, micro_batches = 1;
  friend bool operator==(const Parallelism&, const Parallelism&) = default;
};
std::optional<Parallelism> parse_parallelism(std::string_view text);

struct ModelRow {
  RunSpec spec;
  std::string unsupported;  // why it cannot run; empty: it can
};

/// `train` is forward and backward with gradient accumulation, without optimiser. Empty `attention`: flash where the
/// kernels exist (16-bit types), else eager. `timing` eager: the host launches every kernel; graph: it launches none.
/// Nothing is refused for lack of memory: the row was measured, so it fitted.
ModelRow read_model_row(RowReader& row, Catalogue& catalogue);

/// Simulated time of the measured part. backward: from the end of the last forward kernel to the end of the run.
Outcome predict_model_row(const ModelRow& row, MeasuredPart part, const LatencyModel& model);

/// `collectives` price the network; `profiles` give the launch cost of their GPU's host; `model` has their offsets
/// already. One outcome per row; each run is simulated in its own process. `progress` hears of every finished row.
std::vector<Outcome> predict_model_rows(const CsvTable& table, std::span<const std::size_t> rows,
                                        const std::map<std::string, std::string>& defaults, Catalogue& catalogue,
                                        const LatencyModel& model, const CollectiveParameters& collectives,
                                        MeasuredPart part, Mistakes& mistakes, const std::function<void()>& progress,
                                        std::span<const Profile> profiles = {});

}  // namespace tessera
