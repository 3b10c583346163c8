// Papers whose experiments can be repeated: `tessera reproduce PAPER`. One row per paper.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

struct ReproduceOptions {
  std::filesystem::path data;     // the paper's published measurements
  std::filesystem::path weights;  // folder with a subfolder per rebuilt model; empty: calibration/rivals
  bool refit = false;             // also fit our model as the paper's protocol has it, and without each GPU
  std::string command;            // as the user gave it, for the page
  std::function<void(std::string_view)> progress;
};

struct Reproduction {
  std::string summary;                                     // for the terminal
  std::vector<std::pair<std::string, std::string>> files;  // name and content, for the folder of results
};

struct Paper {
  std::string_view name, what;
  Reproduction (*run)(const ReproduceOptions& options);
  bool fits = false;  // has models that are fitted, for --weights and --refit
};
/// Alphabetical.
std::span<const Paper> papers();

Reproduction reproduce_gacer(const ReproduceOptions& options);
Reproduction reproduce_neusight(const ReproduceOptions& options);
Reproduction reproduce_phaze(const ReproduceOptions& options);

}  // namespace tessera
