// Kernel measurements: a row to a kernel, and all rows to predictions.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/latency_model.hpp"
#include "sim/app/validation/catalogue.hpp"
#include "sim/app/validation/outcome.hpp"
#include "sim/app/validation/row_reader.hpp"
#include "sim/config/csv.hpp"
#include "sim/graph/kernel.hpp"

namespace tessera {

/// Whether the rows' `runtime` is what the model is asked for, or none (`Runtime::unspecified`).
enum class RuntimeColumn : std::uint8_t { used, ignored };

struct KernelRow {
  Kernel kernel;
  const GpuSpec* gpu = nullptr;  // null: a mistake was found
  PredictContext context;
};

/// `timing` graph is a benchmark that rotates its weights (the operands of the next call are not in L2); eager repeats
/// one call, so what fits stays in L2. Without `timing`: graph.
PredictContext read_kernel_context(RowReader& row);

/// Matrices lie as the column `layout` says (nn, tn, nt), where there is one, else as the operator's framework has
/// them.
KernelRow read_kernel_row(RowReader& row, Catalogue& catalogue);

/// One outcome per row of `rows`, predicted in batches of one GPU. Mistakes go to `mistakes`; their rows have neither
/// a prediction nor a reason.
std::vector<Outcome> predict_kernel_rows(const CsvTable& table, std::span<const std::size_t> rows,
                                         const std::map<std::string, std::string>& defaults, Catalogue& catalogue,
                                         const LatencyModel& model, RuntimeColumn runtime, Mistakes& mistakes);

}  // namespace tessera
