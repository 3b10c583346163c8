#include "sim/app/profile_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "sim/app/input_files.hpp"
#include "sim/app/validation/catalogue.hpp"
#include "sim/app/validation/kernel_rows.hpp"
#include "sim/app/validation/kind.hpp"
#include "sim/app/validation/where.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/config/json.hpp"
#include "sim/report/outputs.hpp"

namespace tessera {
namespace {

/// Copies inside a device, with what they read and write per byte of the column.
struct CopyOp {
  std::string_view name;
  double read, written;
};
constexpr std::array<CopyOp, 5> kCopies{
    {{"copy", 1, 1}, {"copy_d2d", 1, 1}, {"memory_copy", 1, 1}, {"memory_read", 1, 0}, {"memory_write", 0, 1}}};
constexpr double kLargestRatio = 200;  // measured over predicted; a wrong unit is 1000, the worst real kernel 50
constexpr std::array<std::string_view, 2> kLaunches{"launch", "launch_train"};
constexpr std::array<std::string_view, 4> kNoKernels{"copy_h2d", "copy_d2h", "sustained_gemm", "sustained_copy"};

class FileRows {
 public:
  FileRows(const GpuSpec& gpu, const LatencyModel& model, ProfileRows& rows, Mistakes& mistakes)
      : gpu_(gpu), device_(derive_device(gpu)), model_(model), rows_(rows), mistakes_(mistakes) {
    defaults_["gpu"] = gpu.name;
  }

  void read(const CsvTable& table, std::span<const std::size_t> chosen) {
    const std::size_t latency = table.need("latency_ms");
    for (const std::size_t i : chosen) {
      RowReader row(table, i, defaults_, mistakes_);
      if (normalise(row.text("gpu")) != normalise(gpu_.name)) {
        leave_out(fmt::format("of another GPU, {}", row.text("gpu")));
      } else {
        const auto host = table.column("host_us");
        read_row(row, time_at(table, i, latency, Seconds(1e-3)),
                 host ? time_at(table, i, *host, Seconds(1e-6)) : std::nullopt);
      }
    }
  }

 private:
  void leave_out(const std::string& reason) { ++rows_.left_out[reason]; }

  /// Empty cells and mistakes: nothing.
  std::optional<Seconds> time_at(const CsvTable& table, std::size_t row, std::size_t column, Seconds unit) {
    try {
      const auto value = table.number(row, column);
      if (!value) return std::nullopt;
      if (*value > 0 && std::isfinite(*value)) return unit * *value;
      mistakes_.add(table.at(row, column, fmt::format("expected a time above 0, found {}", *value)));
    } catch (const InputError& error) {
      mistakes_.add(error);
    }
    return std::nullopt;
  }

  void read_row(RowReader& row, std::optional<Seconds> time, std::optional<Seconds> host) {
    const std::string_view op = row.text("op");
    if (!time) return leave_out("no measured value");
    if (std::ranges::find(kLaunches, op) != kLaunches.end()) return read_launch(row, host.value_or(*time));
    if (std::ranges::find(kNoKernels, op) != kNoKernels.end()) return leave_out(fmt::format("{} is no kernel", op));
    const std::size_t before = mistakes_.count();
    KernelRow kernel;
    const auto copy = std::ranges::find(kCopies, op, &CopyOp::name);
    if (copy != kCopies.end()) {
      const Bytes bytes(static_cast<double>(row.need_integer("bytes")));
      kernel.kernel = {Op::memory, Dtype::fp32, MemoryShape{copy->read * bytes, copy->written * bytes}};
      kernel.context = read_kernel_context(row);
    } else {
      kernel = read_kernel_row(row, catalogue_);
    }
    if (mistakes_.count() != before) return;
    if (const auto wrong = shape_error(kernel.kernel)) return row.mistake("op", *wrong);
    add(row, kernel, *time);
  }

  void add(RowReader& cells, const KernelRow& row, Seconds time) {
    try {
      const KernelCost cost = model_.predict(std::span(&row.kernel, 1), gpu_, row.context).front();
      const double ratio = time / cost.time.p50;
      if (ratio > kLargestRatio || ratio < 1 / kLargestRatio)
        return cells.mistake("latency_ms", fmt::format("{} is {:.2g} times the predicted {}: another unit?",
                                                       format(time), ratio, format(cost.time.p50)));
      rows_.kernels.push_back(observe(row.kernel, cost, time, device_));
    } catch (const RunError& error) {
      leave_out(error.what());
    }
  }

  /// The fastest: the others waited for something.
  void read_launch(RowReader& row, Seconds launch) {
    const std::string_view runtime = row.text("runtime");
    if (row.text("timing") == "graph") return leave_out("a launch inside a graph costs the host nothing");
    const bool bare = runtime == "tessera" || runtime == "cuda";
    if (rows_.launch && rows_.bare_launch == bare) {
      rows_.launch = min(*rows_.launch, launch);
    } else if (!rows_.launch || rows_.bare_launch) {
      rows_.launch = launch;
      rows_.bare_launch = bare;
    }
  }

  const GpuSpec& gpu_;
  Device device_;
  const LatencyModel& model_;
  ProfileRows& rows_;
  Mistakes& mistakes_;
  Catalogue catalogue_;
  std::map<std::string, std::string> defaults_;
};

/// What `tessera microbench` writes beside its tables.
void read_record(const std::filesystem::path& file, const GpuSpec& gpu, ProfileRows& rows) {
  const std::filesystem::path record = file.parent_path() / "machine.json";
  if (!std::filesystem::exists(record)) return;
  const Json json = read_json(record);
  try {
    if (rows.date.empty()) rows.date = json.at("date").text();
    if (normalise(json.at("gpu").text()) == normalise(gpu.name)) return;
    throw InputError(
        Diagnostic{.file = record.string(),
                   .message = fmt::format("was measured on {}, not on {}", json.at("gpu").text(), gpu.name)});
  } catch (const RunError& damaged) {
    throw InputError(Diagnostic{.file = record.string(), .message = damaged.what()});
  }
}

void read_date(const CsvTable& table, std::span<const std::size_t> chosen, ProfileRows& rows) {
  const auto column = table.column("date");
  if (!column || !rows.date.empty()) return;
  for (const std::size_t row : chosen) {
    rows.date = table.cell(row, *column);
    if (!rows.date.empty()) return;
  }
}

void require_usable(std::span<const std::filesystem::path> files, const GpuSpec& gpu, const ProfileRows& rows) {
  if (!rows.kernels.empty() || rows.launch) return;
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : rows.left_out) reasons.push_back(fmt::format("{} rows: {}", count, reason));
  if (reasons.empty()) reasons.emplace_back("no rows chosen");
  throw InputError(
      Diagnostic{.file = files.front().string(),
                 .message = fmt::format("no usable measurement of {}: {}", gpu.name, fmt::join(reasons, "; "))});
}

}  // namespace

ProfileRows read_profile_rows(std::span<const std::filesystem::path> files, const std::string& where,
                              const GpuSpec& gpu, const LatencyModel& model) {
  ProfileRows rows;
  Mistakes mistakes;
  const std::vector<Condition> conditions = parse_where(where);
  FileRows reader(gpu, model, rows, mistakes);
  require_different(files, "--measurements");
  for (const std::filesystem::path& file : files) {
    const CsvTable table = CsvTable::read(file);
    if (const MeasurementKind kind = kind_of(table, file.string()); kind != MeasurementKind::kernel)
      throw InputError(
          Diagnostic{.file = file.string(),
                     .line = 1,
                     .message = fmt::format("holds {} measurements; a profile is made from kernels", to_string(kind))});
    const std::vector<std::size_t> chosen = select_rows(table, conditions);
    read_record(file, gpu, rows);
    read_date(table, chosen, rows);
    reader.read(table, chosen);
    rows.sources.push_back({file.filename().string(), content_hash(read_file(file))});
  }
  mistakes.check();
  require_usable(files, gpu, rows);
  return rows;
}

}  // namespace tessera
