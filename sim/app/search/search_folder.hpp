// The folder of a search's results: its state to go on from, and nothing of any other search.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "sim/app/search/search_files.hpp"
#include "sim/app/search/search_scenario.hpp"
#include "sim/place/search/certified_search.hpp"

namespace tessera {

class SearchFolder {
 public:
  /// InputError naming --out where something else than a folder is there, or the results of another search.
  SearchFolder(std::filesystem::path folder, const SearchFile& file);

  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }
  [[nodiscard]] std::filesystem::path state_path() const;
  /// The state that an earlier call left; empty: none did. InputError where it is damaged.
  [[nodiscard]] SearchState state(std::size_t candidates) const;
  void write_state(const SearchState& state) const;
  /// Instead of all results of earlier calls; none: nothing was found.
  void write(std::span<const NamedFile> files) const;

 private:
  std::filesystem::path folder_;
  std::string identity_;
};

/// InputError where a search over chips left its state: one around a GPU would overwrite its results.
void require_no_chip_search(const std::filesystem::path& folder);

}  // namespace tessera
