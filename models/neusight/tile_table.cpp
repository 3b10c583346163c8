#include "models/neusight/tile_table.hpp"

#include <fmt/core.h>

#include <iterator>
#include <limits>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/config/csv.hpp"
#include "sim/config/gzip.hpp"

namespace tessera::neusight {

namespace {

/// In device order of the raw features; a plain sum lets the compiler vectorise.
double distance(const std::array<double, 9>& a, const std::array<double, 9>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace

std::array<double, 9> raw_features(const Operation& op, const GpuNumbers& gpu) {
  const auto b = static_cast<double>(op.b), m = static_cast<double>(op.m), n = static_cast<double>(op.n);
  if (is_matrix(op.kind)) {
    return {b, m, static_cast<double>(op.k), n, gpu.sms, gpu.gflops, gpu.memory_gb, gpu.bandwidth_gbs, gpu.l2_mb};
  }
  return {
      b, n, gpu.sms, gpu.gflops, gpu.memory_gb, gpu.bandwidth_gbs, gpu.l2_mb, op.bytes_per_output, op.ops_per_output};
}

TileTable::TileTable(std::vector<TileRow> rows) : rows_(std::move(rows)) {
  std::map<std::string, GpuNumbers, std::less<>> gpus;
  for (const TileRow& row : rows_) {
    if (!gpus.contains(row.gpu)) gpus[row.gpu] = numbers_of(find_gpu(row.gpu));
    Column& column = columns_[row.operation.op];
    column.features.push_back(raw_features(row.operation, gpus[row.gpu]));
    column.tiles.push_back(row.tile);
  }
}

Tile TileTable::nearest(const Operation& operation, const GpuNumbers& gpu) const {
  if (operation.kind == Kind::softmax || operation.kind == Kind::layernorm) return {1, operation.n};
  const auto found = columns_.find(operation.op);
  if (found == columns_.end()) {
    throw RunError(fmt::format("neusight: no tile of {} in its table", to_string(operation.op)));
  }
  const std::array<double, 9> wanted = raw_features(operation, gpu);
  const Column& column = found->second;
  double best = std::numeric_limits<double>::infinity();
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < column.features.size(); ++i) {
    const double d = distance(column.features[i], wanted);
    if (d < best) {
      best = d;
      chosen = i;
    }
  }
  return column.tiles[chosen];
}

TileTable read_tiles(const std::filesystem::path& path) {
  const CsvTable table = CsvTable::read(path);
  const std::size_t op = table.need("op"), gpu = table.need("gpu");
  const std::size_t columns[] = {table.need("b"), table.need("m"),      table.need("n"),
                                 table.need("k"), table.need("tile_m"), table.need("tile_n")};
  std::vector<TileRow> rows;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto known = parse_op(table.cell(i, op));
    if (!known) throw InputError(table.at(i, op, "no such operator"));
    std::array<std::int64_t, 6> v{};
    for (std::size_t c = 0; c < v.size(); ++c) v[c] = table.integer(i, columns[c]).value_or(1);
    Operation operation = vector_operation(*known, v[0], v[2]);
    if (*known == Op::bmm || *known == Op::linear) {
      operation = {.kind = *known == Op::bmm ? Kind::bmm : Kind::linear,
                   .op = *known,
                   .b = v[0],
                   .m = v[1],
                   .n = v[2],
                   .k = v[3]};
    }
    rows.push_back({operation, std::string(table.cell(i, gpu)), {v[4], v[5]}});
  }
  return TileTable(std::move(rows));
}

void write_tiles(const std::filesystem::path& path, std::span<const TileRow> rows) {
  std::string text = "op,gpu,b,m,n,k,tile_m,tile_n\n";
  for (const TileRow& row : rows) {
    const Operation& op = row.operation;
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{}\n", to_string(op.op), row.gpu, op.b, op.m, op.n,
                   op.k, row.tile.m, row.tile.n);
  }
  write_file(path, gzip(text));
}

}  // namespace tessera::neusight
