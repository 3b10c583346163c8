#include "sim/app/validation/kind.hpp"

#include <array>

#include <fmt/format.h>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

struct KindRow {
  MeasurementKind kind;
  std::string_view name, measure;
  std::array<std::string_view, 2> telling;  // columns that no other kind has together
};
constexpr std::array<KindRow, 4> kKinds{{
    {MeasurementKind::kernel, "kernel", "latency_ms", {"op", "op"}},
    {MeasurementKind::model, "model", "latency_ms", {"model", "mode"}},
    {MeasurementKind::training, "training", "iter_time_s", {"iter_time_s", "iter_time_s"}},
    {MeasurementKind::collective, "collective", "latency_us", {"collective", "message_bytes"}},
}};

const KindRow& row_of(MeasurementKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string_view to_string(MeasurementKind kind) {
  return row_of(kind).name;
}

MeasurementKind kind_of(const CsvTable& table, const std::string& file) {
  for (const KindRow& row : kKinds) {
    if (table.column(row.telling[0]) && table.column(row.telling[1])) return row.kind;
  }
  throw InputError(Diagnostic{
      .file = file,
      .line = 1,
      .column = 0,
      .message = "no kind of measurement has these columns; expected 'op' (kernels), 'model' and 'mode' (models), "
                 "'iter_time_s' (training) or 'collective' and 'message_bytes' (collectives)"});
}

std::string_view default_measure(MeasurementKind kind) {
  return row_of(kind).measure;
}

Seconds unit_of(std::string_view column) {
  if (column.ends_with("_us")) return Seconds(1e-6);
  if (column.ends_with("_ms")) return Seconds(1e-3);
  if (column.ends_with("_s")) return Seconds(1.0);
  throw InputError(Diagnostic{
      .file = "--measure",
      .line = 0,
      .column = 0,
      .message = fmt::format("'{}' is no time: only columns that end in _s, _ms or _us can be predicted", column)});
}

}  // namespace tessera
