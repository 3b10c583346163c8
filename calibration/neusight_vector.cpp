#include <fmt/format.h>

#include "calibration/cells.hpp"
#include "calibration/neusight.hpp"
#include "calibration/neusight_repository.hpp"

namespace tessera {

namespace {

// Below this many bytes a row shows the host's time for a call, which differs by machine: not read.
constexpr double kShowsDevice = 2e7;
// A100-PCIE-40GB ran short calls at three clocks (its powu rows cost 58, 83 or 105 lane cycles an element, at random):
// rows that count cycles are for fitting only where they are long.
constexpr std::string_view kUnsteadyGpu = "A100-PCIE-40GB";
constexpr double kSteadyBytes = 2e8;
constexpr std::int64_t kVector = 4;  // elements of one load

struct Row {
  std::string_view gpu;
  Op op = Op::add;
  VectorShape shape;
  double bytes = 0;
  bool train = false;
};

bool counts_cycles(Op op) {
  return op == Op::softmax || op == Op::layernorm || op == Op::pow || op == Op::powu;
}

bool fits(const Row& row) {
  if (!row.train) return false;
  if (row.gpu == kUnsteadyGpu && counts_cycles(row.op) && row.bytes < kSteadyBytes) return false;
  return row.op != Op::softmax || row.shape.h % kVector == 0;  // unaligned rows take an extra step that is not modelled
}

Op op_of(const CsvTable& table, std::size_t row, std::size_t column) {
  const std::string_view name = table.cell(row, column);
  const auto op = parse_op(name == "ln" ? "layernorm" : name);
  if (!op) throw InputError(table.at(row, column, fmt::format("unknown operator '{}'", name)));
  return *op;
}

void append(const std::filesystem::path& folder, std::string_view name, std::uint16_t session, bool as_copy,
            Dataset& data) {
  const CsvTable table = read_neusight(folder, name);
  const std::size_t gpu = table.need("gpu"), op = table.need("op"), split = table.need("split"),
                    rows = table.need("rows"), h = table.need("h"), time = table.need("latency_ms");
  for (std::size_t i = 0; i < table.rows(); ++i) {
    Row row{.gpu = table.cell(i, gpu),
            .op = op_of(table, i, op),
            .shape = {dimension_at(table, i, rows), dimension_at(table, i, h)},
            .train = is_train(table, i, split)};
    Kernel kernel{row.op, Dtype::fp32, row.shape};
    const Traffic moved = traffic(kernel);
    row.bytes = moved.total().value();
    if (row.bytes < kShowsDevice || (as_copy && counts_cycles(row.op))) continue;
    if (as_copy) kernel = {Op::memory, Dtype::fp32, MemoryShape{moved.read, moved.written}};
    data.samples.push_back({.gpu = data.gpu_index(row.gpu),
                            .session = session,
                            .fit = fits(row),
                            .kernel = kernel,
                            .context = {Timing::eager, Residency::warm, Runtime::pytorch},
                            .time = milliseconds_at(table, i, time)});
  }
}

}  // namespace

Dataset read_neusight_vector(const std::filesystem::path& data) {
  Dataset out;
  append(data, "elementwise", 0, false, out);
  append(data, "softmax", 1, false, out);
  append(data, "layernorm", 2, false, out);
  return with_rows_to_fit(std::move(out), data / "neusight");
}

Dataset read_neusight_copies(const std::filesystem::path& data) {
  Dataset out;
  append(data, "elementwise", 0, true, out);
  return with_rows_to_fit(std::move(out), data / "neusight");
}

}  // namespace tessera
