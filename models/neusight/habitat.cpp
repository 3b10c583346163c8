#include "models/neusight/habitat.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/config/csv.hpp"
#include "sim/config/gzip.hpp"
#include "sim/config/json.hpp"

namespace tessera::neusight {

std::array<double, kHabitatInputs> habitat_features(const Operation& op, const GpuNumbers& gpu) {
  return {static_cast<double>(op.b),
          static_cast<double>(op.m),
          static_cast<double>(op.n),
          static_cast<double>(op.k),
          gpu.memory_gb,
          gpu.bandwidth_gbs,
          gpu.sms,
          gpu.gflops};
}

Scale scale_of(std::span<const std::array<double, kHabitatInputs>> rows) {
  Scale scale;
  const auto n = static_cast<double>(rows.size());
  for (std::size_t j = 0; j < kHabitatInputs; ++j) {
    for (const auto& row : rows) scale.mean[j] += row[j] / n;
    double squares = 0;
    for (const auto& row : rows) squares += (row[j] - scale.mean[j]) * (row[j] - scale.mean[j]) / n;
    scale.deviation[j] = squares > 0 ? std::sqrt(squares) : 1;
  }
  return scale;
}

void standardise(const std::array<double, kHabitatInputs>& raw, const Scale& scale, std::vector<float>& x) {
  for (std::size_t j = 0; j < kHabitatInputs; ++j) {
    x.push_back(static_cast<float>((raw[j] - scale.mean[j]) / scale.deviation[j]));
  }
}

OriginTable::OriginTable(std::vector<OriginRow> rows) : rows_(std::move(rows)) {}

Seconds OriginTable::scaled(const Operation& op, const GpuSpec& gpu) const {
  const std::string_view origin = gpu.name == kOrigin ? kSecondOrigin : kOrigin;
  const auto elements = [](const Operation& o) { return static_cast<double>(o.b) * static_cast<double>(o.n); };
  const OriginRow* nearest = nullptr;
  double best = std::numeric_limits<double>::infinity();
  for (const OriginRow& row : rows_) {
    if (row.operation.op != op.op || row.gpu != origin) continue;
    const double down = std::log(static_cast<double>(row.operation.b) / static_cast<double>(op.b));
    const double across = std::log(static_cast<double>(row.operation.n) / static_cast<double>(op.n));
    const double d = down * down + across * across;
    if (d < best) {
      best = d;
      nearest = &row;
    }
  }
  if (nearest == nullptr) throw RunError(fmt::format("habitat: no {} was measured on {}", to_string(op.op), origin));
  const double ratio = find_gpu(origin).memory_bandwidth / gpu.memory_bandwidth;
  return nearest->time * (elements(op) / elements(nearest->operation) * ratio);
}

OriginTable read_origins(const std::filesystem::path& path) {
  const CsvTable table = CsvTable::read(path);
  const std::size_t gpu = table.need("gpu"), op = table.need("op"), rows = table.need("rows"), h = table.need("h"),
                    time = table.need("time_s");
  std::vector<OriginRow> all;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto known = parse_op(table.cell(i, op));
    if (!known) throw InputError(table.at(i, op, "no such operator"));
    all.push_back({std::string(table.cell(i, gpu)),
                   vector_operation(*known, table.integer(i, rows).value_or(1), table.integer(i, h).value_or(1)),
                   Seconds(table.number(i, time).value_or(0))});
  }
  return OriginTable(std::move(all));
}

void write_origins(const std::filesystem::path& path, std::span<const OriginRow> rows) {
  std::string text = "gpu,op,rows,h,time_s\n";
  for (const OriginRow& row : rows) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{:.6g}\n", row.gpu, to_string(row.operation.op),
                   row.operation.b, row.operation.n, row.time.value());
  }
  write_file(path, gzip(text));
}

Scale read_scale(const std::filesystem::path& path) {
  const Json json = read_json(path);
  Scale scale;
  const Json::Array &mean = json.at("mean").items(), &deviation = json.at("deviation").items();
  if (mean.size() != kHabitatInputs || deviation.size() != kHabitatInputs) {
    throw RunError(path.string() + ": fitted for other inputs than this program's");
  }
  for (std::size_t j = 0; j < kHabitatInputs; ++j) {
    scale.mean[j] = mean[j].number();
    scale.deviation[j] = deviation[j].number();
  }
  return scale;
}

}  // namespace tessera::neusight
