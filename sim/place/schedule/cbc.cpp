#include <coin/Cbc_C_Interface.h>
#include <fmt/format.h>

#include <memory>
#include <numeric>

#include "sim/place/schedule/linear_solvers.hpp"

namespace tessera {

namespace {

struct Delete {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};

/// Cbc wants the matrix by columns.
void load(Cbc_Model* model, const LinearProgram& program) {
  const std::size_t columns = program.columns.size();
  std::vector<std::vector<std::pair<int, double>>> by_column(columns);
  std::vector<double> row_lower, row_upper;
  for (const LinearProgram::Row& row : program.rows) {
    for (const auto& [column, factor] : row.terms) {
      by_column[static_cast<std::size_t>(column)].emplace_back(static_cast<int>(row_lower.size()), factor);
    }
    row_lower.push_back(row.lower);
    row_upper.push_back(row.upper);
  }
  std::vector<CoinBigIndex> start{0};
  std::vector<int> index;
  std::vector<double> value, lower, upper, cost;
  for (std::size_t c = 0; c < columns; ++c) {
    for (const auto& [row, factor] : by_column[c]) {
      index.push_back(row);
      value.push_back(factor);
    }
    start.push_back(static_cast<CoinBigIndex>(index.size()));
    lower.push_back(program.columns[c].lower);
    upper.push_back(program.columns[c].upper);
    cost.push_back(program.columns[c].cost);
  }
  Cbc_loadProblem(model, static_cast<int>(columns), static_cast<int>(program.rows.size()), start.data(), index.data(),
                  value.data(), lower.data(), upper.data(), cost.data(), row_lower.data(), row_upper.data());
  for (std::size_t c = 0; c < columns; ++c) {
    if (program.columns[c].integer) Cbc_setInteger(model, static_cast<int>(c));
  }
}

}  // namespace

LinearSolution solve_with_cbc(const LinearProgram& program, std::span<const double> start, Seconds limit) {
  const std::unique_ptr<Cbc_Model, Delete> model(Cbc_newModel());
  load(model.get(), program);
  Cbc_setLogLevel(model.get(), 0);
  Cbc_setParameter(model.get(), "timeMode", "elapsed");
  Cbc_setParameter(model.get(), "sec", fmt::format("{}", limit.value()).c_str());
  Cbc_setParameter(model.get(), "ratioGap", "0");
  Cbc_setParameter(model.get(), "allowableGap", "0");
  if (!start.empty()) {
    std::vector<int> columns(start.size());
    std::iota(columns.begin(), columns.end(), 0);
    Cbc_setMIPStartI(model.get(), static_cast<int>(start.size()), columns.data(), start.data());
  }
  Cbc_solve(model.get());
  LinearSolution solution{.optimal = Cbc_isProvenOptimal(model.get()) != 0,
                          .infeasible = Cbc_isProvenInfeasible(model.get()) != 0,
                          .values = {},
                          .bound = Cbc_getBestPossibleObjValue(model.get())};
  if (const double* const values = Cbc_bestSolution(model.get()); values != nullptr) {
    solution.values.assign(values, values + program.columns.size());
  }
  return solution;
}

}  // namespace tessera
