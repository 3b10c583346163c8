// A search's scenario: what is trained, on what kind of chip and system, and what counts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/amount.hpp"
#include "sim/config/reader.hpp"
#include "sim/place/chip/space.hpp"
#include "sim/place/chip/transformer_layers.hpp"
#include "sim/place/search/chip_study.hpp"

namespace tessera {

enum class SearchWhat : std::uint8_t { both, chip, placement };
enum class SearchMode : std::uint8_t { corrected, phaze, phaze_fork };

struct SearchWorkload {
  std::string model;
  std::int64_t sequence = 0;
  std::vector<std::int64_t> micro_batches{1};
  int widest = 8, narrowest = 1;
  Tracing tracing = Tracing::whole_model;
  double weight = 1;
};

struct NetworkSection {
  int devices = 0;
  BytesPerSec bandwidth{};
  Seconds latency{};
};

struct SystemSection {
  SystemSection() = default;  // no aggregate: g++ 12 warns of uninitialized members in T{} otherwise
  int devices = 1024;
  Bytes memory{80 * 1073741824.0};
  std::int64_t batch = 4096;
  bool recomputation = true;
  PipelineOptimizer optimizer = PipelineOptimizer::adam;
  int zero = 0;
  std::vector<NetworkSection> network;
};

/// Lowest and highest of a power-of-two range.
struct SpaceSection {
  SpaceSection() = default;  // no aggregate, as above
  std::vector<int> tensor_cores{1, 4096}, vector_cores{1, 4096}, width{2, 256}, depth{2, 256}, buffer_MiB{2, 128};
  std::vector<int> hbm_stacks{4};
  std::optional<Area> area, smallest_area;
};

struct ChipSection {
  ChipSection() = default;  // no aggregate, as above
  std::optional<std::string> name;
  int tensor_cores = 1, vector_cores = 1, width = 128, depth = 128;
  Bytes buffer{32 * 1048576.0};
  int hbm_stacks = 4;
};

struct PlanSection {
  int stages = 1, width = 1, replicas = 1;
};

/// Whose operator schedules the result shows: our own search's alone, or beside an integer linear programme's.
enum class OperatorSolver : std::uint8_t { own, cbc, glpk };

struct SearchScenario {
  SearchScenario() = default;  // no aggregate, as above
  std::string name;
  std::int64_t seed = 1;
  SearchWhat search = SearchWhat::both;
  SearchMode mode = SearchMode::corrected;
  Objective objective = Objective::throughput;
  Combination combine = Combination::weighted;
  std::vector<SearchWorkload> workloads;
  SystemSection system;
  SpaceSection space;
  std::optional<ChipSection> chip;
  std::optional<PlanSection> plan, expert;
  std::optional<Watts> power;
  std::optional<Money> price;
  int top = 5;
  OperatorSolver solver = OperatorSolver::own;
  Seconds solver_limit{10.0};  // of one pass of one layer
};

void describe(Reader& r, SearchScenario& s);

/// A scenario and the document that it came from, after `--set`.
struct SearchFile {
  std::filesystem::path path;
  Document document;
  SearchScenario scenario;
};
/// InputError with all mistakes, an empty space among them.
SearchFile read_search(const std::filesystem::path& path, std::span<const std::string> settings);

SystolicChip chip_of(const ChipSection& section);
/// TPUv4-like, with the most HBM stacks that the space gives.
SystolicChip reference_chip(const SearchScenario& scenario);
/// The candidates: the space, or the one chip that is given.
std::vector<SystolicChip> candidates_of(const SearchScenario& scenario);
/// What a study may plan. exact: one width and whole replicas, whose search is exact and fast, for thousands of chips;
/// full: every kind of plan, for the best chips; replayable: what the event loop runs.
enum class PlanKinds : std::uint8_t { exact, full, replayable };
/// Models loaded, graphs built.
ChipStudy study_of(const SearchScenario& scenario, PlanKinds kinds);

/// The expert's plan on the reference chip, if there is one.
std::optional<StudiedChip> expert_of(const SearchScenario& scenario);

/// Every key, in Markdown.
std::string search_reference();

}  // namespace tessera
