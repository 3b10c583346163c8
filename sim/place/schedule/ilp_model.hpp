// The integer linear programme of one scheduling problem, and schedules to and from its points; internal to this
// folder.
#pragma once

#include <map>
#include <vector>

#include "sim/place/schedule/instance.hpp"
#include "sim/place/schedule/linear_program.hpp"

namespace tessera {

/// Times are ratios of `scale`, a makespan that is known to be reachable. Columns: makespan; start of each task; all
/// cores or not; i ends before j, for pairs that the order leaves open and that may exclude each other; task on core.
class IlpModel {
 public:
  IlpModel(const Instance& instance, Seconds scale);

  [[nodiscard]] const LinearProgram& program() const { return program_; }
  [[nodiscard]] std::vector<double> point_of(const CorePlacement& placement) const;
  /// Keeps choices, cores and the order of starts, and times them anew without the solver's rounding.
  [[nodiscard]] CorePlacement placement_of(const std::vector<double>& point) const;

 private:
  enum class Kind : std::uint8_t { tensor, vector, pair };
  struct CoreKey {
    std::size_t task;
    int core;
    auto operator<=>(const CoreKey&) const = default;
  };

  int add_column(LinearProgram::Column column);
  void add_row(double lower, double upper, std::vector<std::pair<int, double>> terms);
  void add_times();
  void add_choices();
  void add_cores();
  void add_orders();
  void add_exclusion(std::size_t i, std::size_t j);
  void take_any_core(std::size_t i, PlacedOperator& placed) const;
  [[nodiscard]] double ratio(Seconds time) const { return time / scale_; }
  [[nodiscard]] std::vector<Seconds> chains(bool before) const;
  [[nodiscard]] int core_count(std::size_t i) const;
  [[nodiscard]] std::vector<std::pair<int, double>> duration(std::size_t i, double sign) const;

  const Instance& instance_;
  Seconds scale_;
  LinearProgram program_;
  std::vector<int> all_cores_;  // column of each task; -1: never
  std::map<std::pair<std::size_t, std::size_t>, int> order_;
  std::map<CoreKey, int> core_;  // empty: there are enough cores for everything at once
};

}  // namespace tessera
