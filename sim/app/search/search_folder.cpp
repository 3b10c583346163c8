#include "sim/app/search/search_folder.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "sim/app/inputs.hpp"
#include "sim/app/output_path.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/report/outputs.hpp"

namespace tessera {
namespace {

constexpr std::string_view kState = "search-state.json", kResult = "search.json";
constexpr std::array<std::string_view, 7> kWritten{kResult,     "search.svg", "placement.yaml", "best.yaml",
                                                   "chip.yaml", "node.yaml",  "cluster.yaml"};

/// Whether a search writes files of this name.
bool is_result(std::string_view name) {
  return std::ranges::find(kWritten, name) != kWritten.end() || (name.starts_with("times") && name.ends_with(".yaml"));
}

/// What a state belongs to: everything that decides the answer, models of the user's own included.
std::string identity_of(const SearchFile& file) {
  std::string text = as_json(file.document.root).dump(-1);
  for (const SearchWorkload& workload : file.scenario.workloads)
    if (std::filesystem::is_regular_file(workload.model)) text += read_file(workload.model);
  return text;
}

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view what) {
  throw InputError(Diagnostic{
      .file = path.string(),
      .message = fmt::format("belongs to another search{}; give another --out, or remove the folder", what)});
}

/// An interrupted write or an edit must not become a proof.
std::string checksum(const std::string& identity, const Json& state) {
  return content_hash(identity + state.dump(-1));
}

}  // namespace

SearchFolder::SearchFolder(std::filesystem::path folder, const SearchFile& file)
    : folder_(std::move(folder)), identity_(identity_of(file)) {
  require_output_folder(folder_);
  if (!std::filesystem::exists(state_path())) {
    if (std::filesystem::exists(folder_ / kResult)) refuse(folder_ / kResult, "");
    return;
  }
  const Json json = read_json(state_path());
  const Json* of = json.find("search");
  if (of == nullptr || !of->is_string() || of->text() != identity_)
    refuse(state_path(), " (other keys, --set values or models)");
}

std::filesystem::path SearchFolder::state_path() const {
  return folder_ / kState;
}

SearchState SearchFolder::state(std::size_t candidates) const {
  if (!std::filesystem::exists(state_path())) return {};
  const Json json = read_json(state_path());
  try {
    const Json& state = json.at("state");
    if (json.at("checksum").text() != checksum(identity_, state)) throw RunError("its checksum is another");
    return search_state(state, candidates);
  } catch (const RunError& error) {
    throw InputError(Diagnostic{.file = state_path().string(),
                                .message = fmt::format("a damaged state ({}); remove it to begin anew", error.what())});
  }
}

void SearchFolder::write_state(const SearchState& state) const {
  const Json json = to_json(state);
  const std::string sum = checksum(identity_, json);
  write_file(state_path(), Json(Json::Object{{"search", identity_}, {"checksum", sum}, {"state", json}}).dump(-1));
}

void SearchFolder::write(std::span<const NamedFile> files) const {
  for (const NamedFile& file : files) write_file(folder_ / file.name, file.content);
  if (!std::filesystem::is_directory(folder_)) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (is_result(name) && std::ranges::find(files, name, &NamedFile::name) == files.end())
      std::filesystem::remove(entry.path());
  }
}

void require_no_chip_search(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / kState)) refuse(folder / kState, " (one over chips)");
}

}  // namespace tessera
