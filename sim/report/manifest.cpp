#include <cstdint>
#include <system_error>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/report/outputs.hpp"

namespace tessera {
namespace {

Json as_object(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json object = Json::object();
  for (const auto& [key, value] : pairs) object[key] = value;
  return object;
}

void remove_earlier(const std::filesystem::path& file) {
  std::error_code failed;
  std::filesystem::remove(file, failed);
  if (failed) throw RunError(fmt::format("cannot replace {}: {}", file.string(), failed.message()));
}

}  // namespace

std::string content_hash(std::string_view content) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: offset basis and prime of 64 bits
  for (const char c : content) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

std::vector<std::pair<std::string, std::string>> program_versions() {
  std::vector<std::pair<std::string, std::string>> versions;
  for (const std::string& item : split(TESSERA_VERSIONS, ',')) {
    const auto parts = split(item, ' ');
    versions.emplace_back(parts.front(), parts.back());
  }
  return versions;
}

Json manifest_json(const Manifest& manifest) {
  return Json(Json::Object{{"schema_version", kSchemaVersion},
                           {"scenario", manifest.scenario},
                           {"run", manifest.run},
                           {"seed", manifest.seed},
                           {"versions", as_object(program_versions())},
                           {"inputs_fnv1a64", as_object(manifest.inputs)},
                           {"resolved_scenario", manifest.resolved}});
}

std::vector<std::string> write_folder(const std::filesystem::path& folder, const OutputFiles& files,
                                      PackingText timeline, const Manifest& manifest) {
  const auto [bytes, pack] = timeline.take();
  const std::string timeline_name = pack ? "trace.json.gz" : "trace.json";
  remove_earlier(folder / "manifest.json");  // written last: a set without it is not complete
  remove_earlier(folder / (pack ? "trace.json" : "trace.json.gz"));
  std::vector<std::string> names;
  for (const auto& [name, content] : files) {
    write_file(folder / name, content);
    names.push_back(name);
  }
  write_file(folder / timeline_name, bytes);
  write_file(folder / "manifest.json", manifest_json(manifest).dump() + "\n");
  names.push_back(timeline_name);
  names.emplace_back("manifest.json");
  return names;
}

std::vector<std::string> write_outputs(const std::filesystem::path& folder, const Summary& summary, const Plan& plan,
                                       const CostTable& costs, const Trace& trace, const Manifest& manifest) {
  PackingText timeline(kPlainTimeline);
  chrome_trace(trace, plan, timeline);
  return write_folder(folder,
                      {{"summary.json", summary_json(summary).dump() + "\n"}, {"ops.csv", ops_csv(plan, costs, trace)}},
                      std::move(timeline), manifest);
}

}  // namespace tessera
