#include "calibration/microbench/results.hpp"

#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/config/csv.hpp"

namespace tessera::microbench {
namespace {

constexpr std::string_view kFailedFile = "failed.csv", kFailedHeader = "case,reason";

using Name = std::string_view;
constexpr std::array kKernelColumns{Name("case"),       Name("gpu"),
                                    Name("dtype"),      Name("op"),
                                    Name("layout"),     Name("timing"),
                                    Name("runtime"),    Name("b"),
                                    Name("m"),          Name("n"),
                                    Name("k"),          Name("rows"),
                                    Name("h"),          Name("c_in"),
                                    Name("c_out"),      Name("ksize"),
                                    Name("hw"),         Name("stride"),
                                    Name("pad"),        Name("batch"),
                                    Name("q_len"),      Name("kv_len"),
                                    Name("heads"),      Name("kv_heads"),
                                    Name("head_dim"),   Name("tokens"),
                                    Name("hidden"),     Name("inter"),
                                    Name("topk"),       Name("experts"),
                                    Name("latency_ms"), Name("p10_ms"),
                                    Name("p90_ms"),     Name("repeats"),
                                    Name("error"),      Name("sm_clock_mhz"),
                                    Name("power_w"),    Name("temperature_c")};
constexpr std::array kDeviceColumns{Name("case"),     Name("gpu"),
                                    Name("dtype"),    Name("op"),
                                    Name("timing"),   Name("runtime"),
                                    Name("bytes"),    Name("blocks"),
                                    Name("m"),        Name("n"),
                                    Name("k"),        Name("rows"),
                                    Name("h"),        Name("latency_ms"),
                                    Name("p10_ms"),   Name("p90_ms"),
                                    Name("gb_per_s"), Name("tflops"),
                                    Name("host_us"),  Name("repeats"),
                                    Name("error"),    Name("sm_clock_mhz"),
                                    Name("power_w"),  Name("temperature_c")};
constexpr std::array kPairColumns{Name("case"),       Name("gpu"),          Name("op"),         Name("blocks_a"),
                                  Name("blocks_b"),   Name("partition"),    Name("sms_a"),      Name("sms_b"),
                                  Name("alone_a_ms"), Name("alone_b_ms"),   Name("latency_ms"), Name("p10_ms"),
                                  Name("p90_ms"),     Name("end_a_ms"),     Name("end_b_ms"),   Name("repeats"),
                                  Name("error"),      Name("sm_clock_mhz"), Name("power_w"),    Name("temperature_c")};
constexpr std::array kCollectiveColumns{
    Name("case"),    Name("gpu"),          Name("platform"),      Name("collective"), Name("n_gpus"),
    Name("n_nodes"), Name("dtype"),        Name("message_bytes"), Name("library"),    Name("latency_us"),
    Name("p10_us"),  Name("p90_us"),       Name("repeats"),       Name("error"),      Name("sm_clock_mhz"),
    Name("power_w"), Name("temperature_c")};

struct TableRow {
  Table table;
  std::string_view file;
  std::span<const std::string_view> columns;
};
constexpr std::array<TableRow, 4> kTables{{{Table::kernels, "kernels.csv", kKernelColumns},
                                           {Table::device, "device.csv", kDeviceColumns},
                                           {Table::pairs, "pairs.csv", kPairColumns},
                                           {Table::collectives, "collectives.csv", kCollectiveColumns}}};

const TableRow& row_of(Table table) {
  return kTables[static_cast<std::size_t>(table)];
}

std::string header(Table table) {
  return fmt::format("{}", fmt::join(columns(table), ","));
}

/// Six digits say more than any measurement; empty for what is not known.
std::string number(double value) {
  return fmt::format("{:.6g}", value);
}
std::string known(double value) {
  return value > 0 ? number(value) : "";
}

std::optional<std::string> label(const Case& c, const Origin& origin, std::string_view column) {
  if (column == "case") return case_id(c);
  if (column == "gpu") return origin.gpu;
  if (column == "platform") return origin.platform;
  if (column == "dtype") return std::string(to_string(c.dtype));
  if (column == "op" || column == "collective") return c.op;
  if (column == "layout") return c.layout;
  if (column == "timing") return std::string(to_string(c.timing));
  if (column == "runtime" || column == "library") return c.runtime;
  if (column == "n_nodes") return "1";
  return std::nullopt;
}

std::string measured_cell(const Case& c, const Result& r, std::string_view column) {
  if (column == "latency_ms") return number(r.time.median.value() * 1e3);
  if (column == "latency_us") return number(r.time.median.value() * 1e6);
  if (column == "p10_ms") return number(r.time.p10.value() * 1e3);
  if (column == "p10_us") return number(r.time.p10.value() * 1e6);
  if (column == "p90_ms") return number(r.time.p90.value() * 1e3);
  if (column == "p90_us") return number(r.time.p90.value() * 1e6);
  if (column == "repeats") return fmt::format("{}", r.time.repeats);
  if (column == "error") return number(r.error);
  if (column == "sm_clock_mhz") return known(r.sensors.sm_clock.value() * 1e-6);
  if (column == "power_w") return known(r.sensors.power.value());
  if (column == "temperature_c") return known(r.sensors.temperature_c);
  if (column == "gb_per_s") return known((c.moved / r.time.median).value() * 1e-9);
  if (column == "tflops") return known((c.work / r.time.median).value() * 1e-12);
  for (const auto& [name, value] : r.extras)
    if (name == column) return number(value);
  return "";
}

std::string cell(const Case& c, const Result& result, const Origin& origin, std::string_view column) {
  if (const auto text = label(c, origin, column)) return csv_cell(*text);
  for (const Dim& d : c.dims)
    if (d.name == column) return fmt::format("{}", d.value);
  return measured_cell(c, result, column);
}

}  // namespace

std::string_view file_name(Table table) {
  return row_of(table).file;
}

std::span<const std::string_view> columns(Table table) {
  return row_of(table).columns;
}

std::string csv_row(const Case& c, const Result& result, const Origin& origin) {
  std::string line;
  for (const std::string_view column : columns(c.table)) {
    if (!line.empty()) line += ',';
    line += cell(c, result, origin, column);
  }
  return line + "\n";
}

ResultFolder::ResultFolder(std::filesystem::path folder, Origin origin, const Machine& machine)
    : folder_(std::move(folder)), origin_(std::move(origin)) {
  const std::filesystem::path record = folder_ / "machine.json";
  if (std::filesystem::exists(record)) {
    check_machine(machine);
  } else {
    write_file(record, Json(Json::Object{{"gpu", origin_.gpu},
                                         {"platform", origin_.platform},
                                         {"date", origin_.date},
                                         {"machine", as_json(machine)}})
                               .dump() +
                           "\n");
  }
  for (const TableRow& table : kTables) read_ids(table.file, header(table.table), measured_);
  read_ids(kFailedFile, kFailedHeader, failed_);
}

void ResultFolder::check_machine(const Machine& machine) const {
  const Json record = read_json(folder_ / "machine.json");
  std::vector<std::string> lines = differences(machine_from_json(record.at("machine")), machine);
  if (record.at("gpu").text() != origin_.gpu)
    lines.insert(lines.begin(), fmt::format("gpu: {} and {}", record.at("gpu").text(), origin_.gpu));
  if (lines.empty()) return;
  throw RunError(fmt::format("{} holds the measurements of another machine; give another --out:\n  {}",
                             folder_.string(), fmt::join(lines, "\n  ")));
}

void ResultFolder::read_ids(std::string_view file, std::string_view expected, std::set<std::string>& ids) const {
  const std::filesystem::path path = folder_ / file;
  if (!std::filesystem::exists(path)) return;
  std::string text = read_file(path);
  if (!text.ends_with('\n')) {
    text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
    write_file(path, text);
  }
  if (text.empty()) {
    std::filesystem::remove(path);
    return;
  }
  if (!text.starts_with(std::string(expected) + "\n")) {
    throw InputError(
        Diagnostic{.file = path.string(),
                   .line = 1,
                   .message = fmt::format("has other columns than this version writes; expected {}", expected)});
  }
  const CsvTable table = CsvTable::parse(std::move(text), path.string());
  for (std::size_t i = 0; i < table.rows(); ++i) ids.emplace(table.cell(i, 0));
}

void ResultFolder::append(std::string_view file, const std::string& header_line, const std::string& line) const {
  const std::filesystem::path path = folder_ / file;
  const bool fresh = !std::filesystem::exists(path);
  std::ofstream out(path, std::ios::app | std::ios::binary);
  if (fresh) out << header_line << '\n';
  out << line << std::flush;
  if (!out) throw RunError(fmt::format("cannot write {}", path.string()));
}

void ResultFolder::add(const Case& c, const Result& result) {
  append(file_name(c.table), header(c.table), csv_row(c, result, origin_));
  measured_.insert(case_id(c));
}

void ResultFolder::add_failure(const std::string& id, std::string_view reason) {
  append(kFailedFile, std::string(kFailedHeader), fmt::format("{},{}\n", csv_cell(id), csv_cell(reason)));
  failed_.insert(id);
}

}  // namespace tessera::microbench
