// A search for a chip: workloads, what counts, and every candidate's bound and score.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/amount.hpp"
#include "sim/place/search/certified_search.hpp"
#include "sim/place/search/chip_workload.hpp"

namespace tessera {

enum class Objective : std::uint8_t { throughput, per_area, per_watt, per_cost };
constexpr std::array<std::string_view, 4> enum_names(Objective) {
  return {"throughput", "per-area", "per-watt", "per-cost"};
}
enum class Combination : std::uint8_t { weighted, worst };
constexpr std::array<std::string_view, 2> enum_names(Combination) {
  return {"weighted", "worst"};
}

/// One model, at the micro-batch sizes that may be chosen.
struct StudyWorkload {
  std::string name;
  std::vector<ChipWorkload> choices;
  double weight = 1;
};

/// A chip with its best choice for every workload.
struct StudiedChip {
  SystolicChip chip;
  double score = 0;  // minus infinity: some workload does not fit
  double bound = 0;  // the same with every schedule at its proven bound
  struct PerWorkload {
    std::size_t choice = 0;
    ChipResult result;
  };
  std::vector<PerWorkload> workloads;
  Area die{};
  Money price{};
};

/// Limits beside the space's: a chip beyond one is infeasible.
struct StudyLimits {
  std::optional<Watts> power{};  // mean over a step
  std::optional<Money> price{};
};

/// Several workloads count relative to a reference chip's samples (1 where it gives none), by weighted mean or by the
/// worst.
class ChipStudy {
 public:
  ChipStudy(std::vector<StudyWorkload> workloads, Objective objective, Combination combination, StudyLimits limits,
            const SystolicChip& reference);

  [[nodiscard]] std::span<const StudyWorkload> workloads() const { return workloads_; }
  [[nodiscard]] double bound(const SystolicChip& chip) const;
  /// See SearchTask.
  [[nodiscard]] double tighter_bound(const SystolicChip& chip,
                                     double least = -std::numeric_limits<double>::infinity()) const;
  [[nodiscard]] StudiedChip evaluate(const SystolicChip& chip) const;
  /// The score where each workload's rate is so many times what was studied.
  [[nodiscard]] double score(const StudiedChip& studied, std::span<const double> ratios) const;
  /// Both live as long as the task.
  [[nodiscard]] SearchTask task(std::span<const SystolicChip> chips) const;
  /// The smallest amount of memory that is missing on a chip; 0: something else is.
  [[nodiscard]] Bytes smallest_miss(const SystolicChip& chip) const;

 private:
  template <class Value>
  [[nodiscard]] double combine(const SystolicChip& chip, Value value) const;

  /// Samples/s of the only workload without which a score is below `least`; 0: nothing is known.
  [[nodiscard]] double least_rate(const SystolicChip& chip, double least) const;

  std::vector<StudyWorkload> workloads_;
  Objective objective_;
  Combination combination_;
  StudyLimits limits_;
  std::vector<double> reference_;
};

}  // namespace tessera
