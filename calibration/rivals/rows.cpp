#include "calibration/rivals/rows.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "calibration/cells.hpp"
#include "calibration/neusight_repository.hpp"
#include "sim/base/error.hpp"

namespace tessera {

namespace {

using neusight::Kind;
using neusight::Operation;
using neusight::TileRow;

/// One row of a file, by column name.
class Row {
 public:
  explicit Row(const CsvTable& table) : table_(table) {}
  void go_to(std::size_t row) { row_ = row; }

  [[nodiscard]] std::string_view text(std::string_view column) const { return table_.cell(row_, table_.need(column)); }
  [[nodiscard]] std::int64_t integer(std::string_view column) const {
    return dimension_at(table_, row_, table_.need(column));
  }
  [[nodiscard]] Seconds milliseconds(std::string_view column) const {
    return milliseconds_at(table_, row_, table_.need(column));
  }

 private:
  const CsvTable& table_;
  std::size_t row_ = 0;
};

TileRow matrix_row(const Row& row, Kind kind) {
  const Operation op{.kind = kind,
                     .op = kind == Kind::bmm ? Op::bmm : Op::linear,
                     .b = row.integer("b"),
                     .m = row.integer("m"),
                     .n = row.integer("n"),
                     .k = row.integer("k")};
  return {op, std::string(row.text("gpu")), {row.integer("tile_m"), row.integer("tile_n")}};
}

TileRow vector_row(const Row& row) {
  const std::string_view name = row.text("op");
  const auto op = parse_op(name == "ln" ? "layernorm" : name);
  if (!op) throw InputError(Diagnostic{.message = "NeuSight data: unknown operator " + std::string(name)});
  const std::int64_t rows = row.integer("rows"), h = row.integer("h");
  const Operation operation = neusight::vector_operation(*op, rows, h);
  std::int64_t tile = h;
  if (operation.kind == Kind::elementwise) {
    const std::int64_t blocks = row.integer("grid_x") * row.integer("grid_y") * row.integer("grid_z");
    tile = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>((rows * h + blocks - 1) / blocks)));
  }
  return {operation, std::string(row.text("gpu")), {1, tile}};
}

}  // namespace

std::vector<RivalRow> read_rival_rows(const std::filesystem::path& data, Kind net,
                                      std::span<const std::string> leave_out) {
  const std::string_view name = neusight::kNetNames[static_cast<std::size_t>(net)];
  const CsvTable table = read_neusight(data, name);
  const bool matrix = neusight::is_matrix(net);
  Row row(table);
  std::vector<RivalRow> rows;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    row.go_to(i);
    const std::string_view gpu = row.text("gpu");
    const bool trained = matrix ? row.text("split") == "train" : row.text("neusight_train") == "1";
    if (!trained || gpu.starts_with("MI") || std::ranges::find(leave_out, gpu) != leave_out.end()) continue;
    rows.push_back({matrix ? matrix_row(row, net) : vector_row(row), row.milliseconds("latency_ms")});
  }
  if (rows.empty()) throw InputError(Diagnostic{.message = std::string(name) + ".csv.gz: no row to train on"});
  return rows;
}

}  // namespace tessera
