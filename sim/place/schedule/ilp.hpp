// The same scheduling problem as an integer linear programme: a cross-check that shares no bound with the search.
#pragma once

#include <span>
#include <string>

#include "sim/place/schedule/linear_program.hpp"
#include "sim/place/schedule/schedule.hpp"

namespace tessera {

enum class IlpSolver : std::uint8_t { cbc, glpk };
constexpr std::array<std::string_view, 2> enum_names(IlpSolver) {
  return {"cbc", "glpk"};
}

struct IlpOptions {
  IlpSolver solver = IlpSolver::cbc;
  Seconds limit{60.0};  // never overrun; a limit that was reached gives the best schedule known by then
};

struct IlpSchedule {
  Schedule schedule;
  std::string solved_by;  // "cbc", "glpk", or "search"
  std::string note;       // which solver is not built in and what was used instead; empty: the one asked for
};

/// Falls back on the other solver, then on optimal_schedule. `installed` is a parameter for tests.
IlpSchedule ilp_schedule(const ScheduleProblem& problem, const IlpOptions& options = {},
                         std::span<const LinearSolver> installed = linear_solvers());

}  // namespace tessera
