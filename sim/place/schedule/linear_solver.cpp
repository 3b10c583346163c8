#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/base/isolate.hpp"
#include "sim/config/json.hpp"
#include "sim/place/schedule/linear_program.hpp"
#include "sim/place/schedule/linear_solvers.hpp"

namespace tessera {

namespace {

constexpr double kSolversShare = 0.9;  // of the limit, so that the solver itself can still hand back what it has

void end_process_after(Seconds limit) {
  const double whole = std::floor(limit.value());
  const itimerval timer{.it_interval = {},
                        .it_value = {.tv_sec = static_cast<time_t>(whole),
                                     .tv_usec = 1 + static_cast<suseconds_t>((limit.value() - whole) * 999'998.0)}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

/// Solvers write to standard output, even when told not to.
void silence() {
  const int nowhere = ::open("/dev/null", O_WRONLY);
  if (nowhere >= 0) ::dup2(nowhere, STDOUT_FILENO);
}

Json to_json(const LinearSolution& solution) {
  Json json = Json::object();
  json["optimal"] = solution.optimal;
  json["infeasible"] = solution.infeasible;
  json["bound"] = std::isfinite(solution.bound) ? solution.bound : 0.0;
  Json values = Json::array();
  for (const double value : solution.values) values.push(value);
  json["values"] = std::move(values);
  return json;
}

LinearSolution from_json(const Json& json) {
  LinearSolution solution{.optimal = json.at("optimal").boolean(),
                          .infeasible = json.at("infeasible").boolean(),
                          .values = {},
                          .bound = json.at("bound").number()};
  for (const Json& value : json.at("values").items()) solution.values.push_back(value.number());
  return solution;
}

constexpr LinearSolver kSolvers[] = {
#ifdef TESSERA_CBC
    {"cbc", solve_with_cbc},
#endif
#ifdef TESSERA_GLPK
    {"glpk", solve_with_glpk},
#endif
    {"", nullptr},  // an array must not be empty
};

}  // namespace

std::span<const LinearSolver> linear_solvers() {
  return std::span(kSolvers).first(std::size(kSolvers) - 1);
}

std::optional<LinearSolution> solve_within(const LinearSolver& solver, const LinearProgram& program,
                                           std::span<const double> start, Seconds limit) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    const std::string answer = run_isolated([&] {
      end_process_after(limit);
      silence();
      return to_json(solver.solve(program, start, limit * kSolversShare)).dump(-1);
    });
    return from_json(parse_json(answer, "the solver's answer"));
  } catch (const RunError&) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (took.count() < limit.value() * 0.99) throw;
    return std::nullopt;
  }
}

}  // namespace tessera
