// Phaze's experiments (ICML 2024, arXiv 2407.13143): what is run, and what came out.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/app/search/replay.hpp"
#include "sim/app/search/search_scenario.hpp"
#include "sim/place/search/certified_search.hpp"
#include "sim/place/search/chip_study.hpp"

namespace tessera {

using PhazeProgress = std::function<void(std::string_view)>;

/// The public run's log on the v7-like chip with 80 GiB, and ours from our own estimates.
struct PhazeLogRow {
  int micro_batch = 1;
  double log = 0, ours = 0, log_expert = 0, expert = 0;  // samples/s
};
std::vector<PhazeLogRow> phaze_log(const std::filesystem::path& data);

/// The recorded outer search: layer cycles of 3,810 chips.
struct PhazeRecordedRow {
  int micro_batch = 1;
  double reference = 0, best = 0,
         stopped = 0;  // samples per "millisecond": TPUv4-like, certified, the original's stop rule
  std::string chip;
  std::size_t stop_chips = 0, stop_buckets = 0;
  Certificate certificate;
};
std::vector<PhazeRecordedRow> phaze_recorded(const std::filesystem::path& data, const PhazeProgress& progress);

/// One correction alone, from the public fork's rules: Llama2-7B as traced.
struct PhazeCorrectionRow {
  std::string name, what;
  double tpu = 0, large = 0;  // samples/s of the TPUv4-like and the v7-like chip; 0: does not fit
};
std::vector<PhazeCorrectionRow> phaze_corrections(const std::filesystem::path& data);

/// A model of the suite in one mode.
struct PhazeSuiteRow {
  std::string model;
  bool corrected = false;
  StudiedChip expert, reference, a100, best;
  double random = 0, bayesian = 0,
         stopped = 0;          // best scores under the same number of exact evaluations (the stop rule: its own)
  StudiedChip stopped_chip{};  // what the original's stop rule finds
  std::size_t budget = 0, stop_chips = 0;
  Certificate certificate;
  double seconds = 0;  // of the certified search
};
std::vector<PhazeSuiteRow> phaze_suite(const PhazeProgress& progress);
/// A model of the suite as a search; not corrected: as the public fork computes.
SearchScenario phaze_scenario(std::string_view model, bool corrected);

/// A chip and a plan by the corrected costs and in the event loop.
struct PhazeReplay {
  SystolicChip chip{};
  ChipResult result{};
  Replay replay{};
  std::size_t rank = 1;  // of ours: among our plans by the analytical cost
};
/// What the original decides, chip and plan by its own costs and its stop rule, beside what we do.
struct PhazeReplayRow {
  std::string model;
  PhazeReplay original{}, original_chip{};    // its chip: its plan, ours
  PhazeReplay reference{}, reference_chip{};  // TPUv4-like: its plan, ours
  PhazeReplay ours{};
};
std::vector<PhazeReplayRow> phaze_replays(const std::vector<PhazeSuiteRow>& suite, const PhazeProgress& progress);

struct PhazeResults {
  std::vector<PhazeLogRow> log;
  std::vector<PhazeRecordedRow> recorded;
  std::vector<PhazeCorrectionRow> corrections;
  std::vector<PhazeSuiteRow> suite;
  std::vector<PhazeReplayRow> replays;
};
/// "## Both systems' plans in the event loop", in Markdown.
std::string phaze_replay_section(const std::vector<PhazeReplayRow>& rows);
std::string phaze_page(const PhazeResults& results, std::string_view command);
std::string phaze_picture(const std::vector<PhazeSuiteRow>& suite);

}  // namespace tessera
