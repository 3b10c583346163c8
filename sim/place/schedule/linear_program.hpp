// A mixed-integer linear programme as plain data, and the solvers that may be built in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"

namespace tessera {

/// Minimise cost x subject to row and column bounds. Everything is a ratio: callers scale.
struct LinearProgram {
  struct Column {
    double lower = 0.0, upper = 0.0, cost = 0.0;
    bool integer = false;
  };
  struct Row {
    double lower = 0.0, upper = 0.0;  // may be infinite
    std::vector<std::pair<int, double>> terms{};
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
};

struct LinearSolution {
  bool optimal = false;        // proven, within the solver's tolerance of 1e-6
  bool infeasible = false;     // proven
  std::vector<double> values;  // empty: no solution found
  double bound = 0.0;          // on the objective; 0 where the solver does not say
};

struct LinearSolver {
  std::string_view name;
  /// Stops by itself at about `limit` where the library can.
  LinearSolution (*solve)(const LinearProgram& program, std::span<const double> start, Seconds limit);
};
/// Those that this program was built with: of cbc and glpk.
std::span<const LinearSolver> linear_solvers();

/// Solves in a process of its own that is ended at `limit`, whatever the library does; nullopt: it was.
/// `start`: a feasible point that the solver may begin from, or empty. Call it before any thread exists.
std::optional<LinearSolution> solve_within(const LinearSolver& solver, const LinearProgram& program,
                                           std::span<const double> start, Seconds limit);

}  // namespace tessera
